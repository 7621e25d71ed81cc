"""`coevo tournament`: let agents play each other, and rate them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.files import short
from coevo.benchmarks.results_folder import MANIFEST, ResultsFolder
from coevo.benchmarks.tournament.best_responses import exploit_all
from coevo.benchmarks.tournament.exploiter import ExploiterPlan
from coevo.benchmarks.tournament.plan import KIND, Plan
from coevo.benchmarks.tournament.runner import Tournament
from coevo.benchmarks.tournament.summary import summarise, write
from coevo.commands import players
from coevo.commands import tournament_tables as tables
from coevo.commands.arguments import Tournament as Arguments
from coevo.commands.progress import Bar, Interrupted
from coevo.commands.run_setup import seconds
from coevo.commands.screen import Screen, print_json
from coevo.envs import spec
from coevo.envs.core.config import plain, read
from coevo.envs.core.errors import ConfigError, DataError

GAMES = 400
"""Episodes per pair where nothing is said."""


def run(args: Arguments) -> int:
    """Play what is not played yet, compute everything, print it."""
    players.quiet()
    folder, old = _folder(args)
    plan = _plan(args, old)
    trained = _exploiter(plan, args.device)
    agents = _agents(plan, args.device)
    screen = Screen()
    try:
        with Bar(screen, quiet=args.json) as bar:

            def played(done: int, most: int, words: str) -> None:
                said = f"{done:,} of at most {most:,} episodes; {words}"
                bar.show(done / max(most, 1), said)

            held = Tournament(plan, agents, folder, played)
            held.play()
            values = exploit_all(
                plan, agents, folder, trained, lambda words, done: bar.show(done, words)
            )
            bar.show(1.0, "computing ratings ...")
            found = summarise(held, values)
            write(folder, found)
    except KeyboardInterrupt:
        raise Interrupted(_where_saved(folder)) from None
    if args.json:
        print_json(found)
    else:
        tables.show(found, screen)
        screen.say(f"\nWritten: {folder / 'tournament.json'}, {folder / 'records.jsonl'}")
    return 0


# ---- From arguments to a plan ----------------------------------------------------------------


def _folder(args: Arguments) -> tuple[Path, Mapping[str, Any]]:
    """Return the folder, and the settings of the tournament that it holds already."""
    if args.out is None and args.env is None:
        raise ConfigError("coevo tournament needs --env ID, or --out DIR of one to be continued")
    if args.out is not None:
        folder = Path(args.out)
    else:
        folder = Path("runs") / f"tournament-{short(spec(str(args.env)).id)}"
    if not (folder / MANIFEST).exists():
        return folder, {}
    old = ResultsFolder(folder, KIND).manifest()
    known = {f.name: old[f.name] for f in fields(Plan) if f.name in old}
    try:
        return folder, plain(read(Plan, known))
    except ConfigError as error:
        raise DataError(f"{folder / MANIFEST} cannot be continued: {error}") from None


def _plan(args: Arguments, old: Mapping[str, Any]) -> Plan:
    """Read the plan; what is left open is as in the tournament that is continued."""
    env = args.env or old.get("env")
    if env is None:
        raise ConfigError("coevo tournament needs --env ID; `coevo envs` lists them")
    spec(env)
    if args.agents is None and not old:
        raise ConfigError("coevo tournament needs --agents NAMES, such as starter,random,oracle")
    names = old["agents"] if args.agents is None else players.names(args.agents)
    exploiter = old.get("exploiter") if args.exploiter is None else budget(args.exploiter)
    plan = Plan(
        agents=tuple(names),
        env=env,
        games=_given(args.games, old, "games", GAMES),
        seed=_given(args.seed, old, "seed", 0),
        adaptive=args.adaptive or old.get("adaptive", False),
        exploiter=exploiter,
        env_options=_options(args, old, env, names, exploiter),
        sampling=_given(_sampling(args), old, "sampling", {}),
    )
    plan.environment()
    return plan


def _given(value: Any, old: Mapping[str, Any], name: str, usual: Any) -> Any:
    return old.get(name, usual) if value is None else value


def _options(
    args: Arguments, old: Mapping[str, Any], env: str, names: Sequence[str], exploiter: Any
) -> dict[str, Any]:
    if not args.env_option and old:
        players.check_env(env, old["env_options"])
        return dict(old["env_options"])
    readers = [*names, "starter"] if exploiter else names
    return players.env_options(env, args.env_option, readers)


def _sampling(args: Arguments) -> dict[str, Any] | None:
    return players.sampling_changes(players.settings(args.set, "--set")) if args.set else None


def budget(text: str) -> dict[str, float]:
    """Read the budget of an exploiter: a number of tokens, or a time.

    >>> budget("2e5"), budget("90s"), budget("5m")
    ({'tokens': 200000}, {'seconds': 90.0}, {'seconds': 300.0})
    """
    try:
        tokens = float(text)
    except ValueError:
        return {"seconds": _seconds(text)}
    if not math.isfinite(tokens):
        raise ConfigError(f"--exploiter {text} must be a number of tokens such as 2e5")
    return {"tokens": int(tokens)}


def _seconds(text: str) -> float:
    try:
        return seconds(text)
    except ConfigError:
        raise ConfigError(
            f"--exploiter {text!r} is neither a number of tokens such as 2e5 nor a time such as 90s"
        ) from None


def _exploiter(plan: Plan, device: str | None) -> ExploiterPlan | None:
    if plan.exploiter is None:
        return None
    return ExploiterPlan(budget=plan.exploiter, seed=plan.seed, device=device or "auto")


def _agents(plan: Plan, device: str | None) -> dict[str, Agent]:
    """Load all agents before anything is played; the first that cannot be loaded is one line."""
    given: dict[str, Any] = {"changes": plan.sampling, "seed": plan.seed, "device": device}
    return {name: players.agent(name, **given) for name in plan.agents}


def _where_saved(folder: Path) -> str:
    if not (folder / "manifest.json").exists():
        return "interrupted before anything was played"
    return f"interrupted; continue with: coevo tournament --out {folder}"
