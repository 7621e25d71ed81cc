"""`coevo tournament`: let agents play each other, and rate them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent, NoReplyError
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.files import short
from coevo.benchmarks.measurement import RATES
from coevo.benchmarks.results_folder import MANIFEST, ResultsFolder
from coevo.benchmarks.tournament.best_responses import exploit_all
from coevo.benchmarks.tournament.exploiter import ExploiterPlan
from coevo.benchmarks.tournament.plan import KIND, Plan
from coevo.benchmarks.tournament.runner import Tournament
from coevo.benchmarks.tournament.summary import summarise, write
from coevo.commands import players
from coevo.commands.arguments import Tournament as Arguments
from coevo.commands.progress import Bar, Interrupted
from coevo.commands.run_setup import seconds
from coevo.commands.screen import Screen, print_json, share
from coevo.envs import spec
from coevo.envs.core.config import assign, plain, read
from coevo.envs.core.errors import ConfigError, DataError

GAMES = 400


def run(args: Arguments) -> int:
    players.quiet()
    folder, old = _folder(args)
    plan = _plan(args, old)
    trained = None
    if plan.exploiter is not None:
        device = args.device or "auto"
        guidance = assign(SamplingConfig(), plan.sampling).guidance
        trained = ExploiterPlan(
            budget=plan.exploiter,
            sampling=assign(SamplingConfig(), guidance),
            seed=plan.seed,
            device=device,
        )
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
        show(found, screen)
        screen.say(f"\nWritten: {folder / 'tournament.json'}, {folder / 'records.jsonl'}")
    _check_answered(found)
    return 0


def _check_answered(found: Mapping[str, Any]) -> None:
    """Raise NoReplyError where an agent finished no episode at all."""
    for name, own in found["table"].items():
        if own["errors"] and not own["episodes"]:
            reasons = found["left_out"]  # of two agents that could not play, one stands there
            why = reasons.get(name) or next(iter(reasons.values()), "no reason is known")
            raise NoReplyError(f"{name} finished no episode: {why}")


# ---- From arguments to a plan ----------------------------------------------------------------


def _folder(args: Arguments) -> tuple[Path, Mapping[str, Any]]:
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
    env = args.env or old.get("env")
    if env is None:
        raise ConfigError("coevo tournament needs --env ID; `coevo envs` lists them")
    spec(env)
    if args.agents is None and not old:
        raise ConfigError("coevo tournament needs --agents NAMES, such as starter,random,oracle")
    names = old["agents"] if args.agents is None else players.names(args.agents)
    exploiter = old.get("exploiter") if args.exploiter is None else budget(args.exploiter)
    changes = players.settings(args.set, "--set")
    sampling = players.sampling_changes(changes) if args.set else None
    plan = Plan(
        agents=tuple(names),
        env=env,
        games=_given(args.games, old, "games", GAMES),
        seed=_given(args.seed, old, "seed", 0),
        adaptive=args.adaptive or old.get("adaptive", False),
        exploiter=exploiter,
        env_options=_options(args, old, env, names, exploiter),
        sampling=_given(sampling, old, "sampling", {}),
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


def budget(text: str) -> dict[str, float]:
    """Read the budget of an exploiter: a number of tokens, or a time."""
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


def _agents(plan: Plan, device: str | None) -> dict[str, Agent]:
    """Load all agents before anything is played; the first that cannot be loaded is one line."""
    given: dict[str, Any] = {"changes": plan.sampling, "seed": plan.seed, "device": device}
    return {name: players.agent(name, **given) for name in plan.agents}


def _where_saved(folder: Path) -> str:
    if not (folder / "manifest.json").exists():
        return "interrupted before anything was played"
    return f"interrupted; continue with: coevo tournament --out {folder}"


# ---- Tables --------------------------------------------------------------------------------------


WIDE = 6
"""Most agents whose matrix has room for bounds."""


def show(found: Mapping[str, Any], screen: Screen) -> None:
    for sentence in found["headline"]:
        screen.say(sentence)
    screen.say()
    for result in found["results"]:
        screen.say(f"  {result['text']}")
    screen.say()
    if not found["only_points"]:
        screen.table("mean return of row against column", *matrix(found, "mean_return"))
    if found["contest"]:
        screen.table("% of points of row against column", *matrix(found, "points"))
    screen.table("agents, best first", *_results(found))
    screen.table("replies and ends", *_replies(found))
    if found["ratings"]:
        screen.table("ratings", *_ratings(found))
        screen.table(_sweep_title(found), *_sweep(found))


def matrix(found: Mapping[str, Any], key: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows of row against column: `points` in percent, or `mean_return`."""
    agents = found["matrix"]["agents"]
    pairs = zip(agents, found["matrix"][key], strict=True)
    return ("", *agents), [
        (name, *(_cell(x, key, len(agents)) for x in row)) for name, row in pairs
    ]


def _cell(value: Sequence[float | None] | None, key: str, agents: int) -> str:
    low, point, high = value or (None, None, None)
    if point is None:
        return "-"
    if agents > WIDE or low is None or high is None:
        return _number(point, key)
    return f"{_number(point, key)} [{_number(low, key)}, {_number(high, key)}]"


def _number(value: float, key: str) -> str:
    return f"{100 * value:.0f}" if key == "points" else f"{value:+.2f}"


def _results(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    contest, values = found["contest"], (found["exploitability"] or {}).get("agents", {})
    columns = ["agent", "episodes", "errors", "mean return"]
    columns += ["points", "won", "drawn", "lost"] if contest else []
    columns += ["exploitability"] if values else []
    rows = []
    for name in found["agents"]:
        own = found["table"][name]
        row = [name, own["episodes"], own["errors"], between(own["mean_return"])]
        if contest:
            row += [between(own["points"]), *(share(own[k]) for k in ("won", "drawn", "lost"))]
        row += [exploited(values[name])] if values else []
        rows.append(tuple(row))
    return tuple(columns), rows


def _replies(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    keys = {**RATES, "truncated_rate": "cut off"}
    rows = [(name, *(share(found["table"][name][key]) for key in keys)) for name in found["agents"]]
    return ("agent", *keys.values()), rows


def between(value: Sequence[float | None] | None) -> str:
    """Write an estimate with its bounds."""
    if value is None or value[1] is None:
        return "-"
    bounds = "" if value[0] is None else f" [{value[0]:.2f}, {value[2]:.2f}]"
    return f"{value[1]:.2f}{bounds}"


def exploited(value: Mapping[str, Any]) -> str:
    """Write what a best response gains, with what kind of number it is."""
    exact, trained = value["exact"], value["exploiter"]
    if exact is not None:
        if exact["exploitability"] is None:
            return f"{exact['nash_conv']:.4f} (NashConv)"
        return f"{exact['exploitability']:.4f} exact"
    if trained is None or trained["score"] is None:
        return "-"
    return f"at least {trained['gain']:.4f}"


def _ratings(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rated = found["ratings"]
    shares = rated["alpha_rank"]["limit"]
    elo = rated.get("bradley_terry", {}).get("agents", {})
    belief = rated.get("plackett_luce", {}).get("agents", {})
    nash = rated.get("nash_averaging", {}).get("margin", {})
    columns = ["agent"] + (["Elo (Bradley-Terry)", "OpenSkill mu - 3 sigma"] if elo else [])
    columns += ["alpha-Rank, infinite alpha"] + (["Nash weight", "Nash skill"] if nash else [])
    rows = []
    for name in (n for n in found["agents"] if n in shares):
        row: list[object] = [name]
        if elo:
            low, high = elo[name]["interval"]
            row += [
                f"{elo[name]['rating']:.0f} [{low:.0f}, {high:.0f}]",
                f"{belief[name]['ordinal']:.2f} ({belief[name]['mu']:.2f} ± "
                f"{belief[name]['sigma']:.2f})",
            ]
        low, high = shares[name]["interval"]
        row.append(f"{shares[name]['share']:.3f} [{low:.3f}, {high:.3f}]")
        if nash:
            own = nash[name]
            low, high = own["interval"] or (None, None)
            row += [f"{own['weight']:.3f}", between([low, own["skill"], high])]
        rows.append(tuple(row))
    return tuple(columns), rows


def _sweep_title(found: Mapping[str, Any]) -> str:
    ranked = found["ratings"]["alpha_rank"]
    last = f"the last stable is {ranked['last']['alpha']:.3g}"
    return f"alpha-Rank over alpha; {last if ranked['settled'] else 'not settled'}"


def _sweep(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    swept = found["ratings"]["alpha_rank"]["sweep"]
    columns = ("agent", *(f"{step['alpha']:.2g}" for step in swept))
    names = [n for n in found["agents"] if n in swept[0]["shares"]]
    return columns, [(n, *(f"{step['shares'][n]:.3f}" for step in swept)) for n in names]
