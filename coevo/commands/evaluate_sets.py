"""`coevo evaluate` on sets: --suite, --scenario, --axis, --generations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.fingerprint import fingerprint
from coevo.benchmarks.evaluate import oracle_of
from coevo.benchmarks.references import HARMLESS
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites import names, scenarios
from coevo.benchmarks.suites.focal import play_scenario
from coevo.benchmarks.suites.generations import run_generations
from coevo.benchmarks.suites.suite import Settings, kept, run_suite
from coevo.benchmarks.suites.sweeps import run_sweep, sweep
from coevo.commands import players
from coevo.commands.arguments import Evaluate
from coevo.commands.evaluate_tables import (
    show_generations,
    show_repeats,
    show_scenarios,
    show_suite,
    show_sweep,
    show_totals,
)
from coevo.commands.plot import draw_generations, save
from coevo.commands.screen import Screen, print_json
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint
from coevo.trainers.run_folder import RunFolder

KIND = "evaluation"
SUITE_GAMES = 320
"""Episodes per environment of a suite."""
SET_GAMES = 200
"""Episodes per level of a sweep, per generation, and per pair of generations."""
TRAINING_ONLY = ("openings",)
"""Arguments of a run's environment that widen its training and are not part of the task."""


class Evaluation:
    """An evaluation in its folder, or nowhere.

    Args:
        folder: keeps finished parts.
        settings: everything that the results depend on.
    """

    def __init__(self, folder: ResultsFolder, settings: Mapping[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self.whole: dict[str, Any] = {}
        """What `finish` wrote."""

    def finish(self, table: Mapping[str, Any]) -> None:
        """Write the whole."""
        self.whole = {"kind": KIND, **self.settings, **table}
        self.folder.write("evaluation.json", self.whole)


@contextlib.contextmanager
def evaluation(
    args: Evaluate,
    agent: Agent | None,
    what: Mapping[str, Any],
    options: Mapping[str, Any],
    weights: Mapping[str, str] | None = None,
) -> Iterator[Evaluation]:
    """Begin an evaluation or continue it, alone in its folder.

    Args:
        args: of the command.
        agent: who is measured; its sampling is a setting.
        what: names what is measured.
        options: arguments of the environments.
        weights: fingerprints; None for that of `args.agent`.
    """
    if weights is None:
        weights = {str(args.agent): fingerprint(str(args.agent)) if args.out else ""}
    settings = {
        "agent": args.agent,
        **what,
        "games": args.games,
        "samples": args.samples,
        "seed": args.seed,
        "env_options": dict(options),
        "sampling": {} if agent is None else dict(agent.sampling_settings),
    }
    folder = ResultsFolder(Path(args.out).expanduser() if args.out else None, KIND)
    folder.begin(settings, weights)
    with folder.alone():
        yield Evaluation(folder, {**settings, "weights": dict(weights)})


def measured_agent(args: Evaluate) -> Agent:
    """Load the agent that is measured, with the settings of sampling that were given."""
    return _agent(args, str(args.agent))


def run_a_suite(args: Evaluate) -> int:
    """Measure an agent on all environments of a suite."""
    env_ids, screen = names.environments(str(args.suite)), Screen()
    options = _options(args, env_ids)
    agent = measured_agent(args)
    settings = _settings(args, SUITE_GAMES, options)
    with evaluation(args, agent, {"suite": args.suite}, options) as found:
        told = _progress(args, lambda row: row.env)
        rows, whole = run_suite(agent, env_ids, settings, found.folder, told)
        by_env = {r.env: r.to_dict() for r in rows}
        found.finish({"environments": by_env, "total": whole.to_dict()})
    if args.json:
        print_json(found.whole)
        return 0
    show_suite(screen, str(args.agent), str(args.suite), rows)
    repeats = {r.env: r.details["repeats"] for r in rows if "repeats" in r.details}
    if repeats:
        show_repeats(screen, repeats, agent.sampling_settings)
    show_totals(screen, whole)
    return 0


def run_scenarios(args: Evaluate) -> int:
    """Measure an agent in one scenario, or in all."""
    everything = args.scenario == "all"
    chosen = [
        scenarios.scenario(n) for n in (scenarios.SCENARIOS if everything else [str(args.scenario)])
    ]
    options = _texts_only(args, [where.env_id for where in chosen])
    agent = measured_agent(args)
    told, rows = _progress(args, lambda name: name), {}

    def load(name: str) -> Agent:
        return players.agent(name, seed=args.seed, device=args.device)

    with evaluation(args, agent, {"scenario": args.scenario}, options) as found:
        for where in chosen:
            rows[where.name] = kept(
                found.folder,
                where.name,
                lambda where=where: play_scenario(  # type: ignore[misc]
                    agent,
                    where,
                    episodes=args.games,
                    seed=args.seed,
                    load=load,
                    env_options=options,
                ),
            )
            told(where.name)
        found.finish({"scenarios": {name: r.to_dict() for name, r in rows.items()}})
    if args.json:
        print_json(found.whole)
    else:
        show_scenarios(Screen(), str(args.agent), rows)
    return 0


def run_a_sweep(args: Evaluate) -> int:
    """Measure an agent along an axis of change."""
    levels = sweep(str(args.axis), args.env)
    options = _texts_only(args, [level.env_id for level in levels])
    agent = measured_agent(args)
    what = {"axis": args.axis, "env": args.env, "levels": [asdict(level) for level in levels]}
    settings = _settings(args, SET_GAMES, options)
    with evaluation(args, agent, what, options) as found:
        told = _progress(args, lambda row: row.details["label"])
        rows, curve = run_sweep(agent, levels, settings, found.folder, told)
        found.finish({"levels": [r.to_dict() for r in rows], **curve._asdict()})
    if args.json:
        print_json(found.whole)
    else:
        show_sweep(Screen(), str(args.agent), str(args.axis), rows, curve)
    return 0


def run_a_series(args: Evaluate) -> int:
    """Score the checkpoints of a run against fixed opponents and each other."""
    folder = RunFolder(Path(str(args.generations)).expanduser())
    config, steps = folder.config(), _checkpoints(folder)
    options = {k: v for k, v in config.env_options.items() if k not in TRAINING_ONLY}
    options |= players.settings(args.env_option, "--env-option")
    env = config.env
    if not isinstance(env, str):
        raise ConfigError(
            f"{args.generations} was trained on {config.env_names}; a series of checkpoints is "
            "measured in runs of one environment; use `coevo evaluate --agent RUN --env ID`"
        )
    players.check_env(env, options)
    agents = {path.name: _agent(args, str(path)) for path in steps}
    weights = {path.name: fingerprint(str(path)) for path in steps}
    opponents = _opponents(args, config.model, env, options)
    what = {
        "generations_of": args.generations,
        "env": env,
        "opponents": list(opponents),
    }
    settings = _settings(args, SET_GAMES, options)
    told = _progress(args, lambda name: name)
    with evaluation(args, next(iter(agents.values())), what, options, weights) as evaluated:
        found = run_generations(agents, env, settings, evaluated.folder, opponents, told)
        evaluated.finish(found.to_dict())
        paths: list[Path] = []
        if args.out is not None:
            paths = save(draw_generations(found), Path(args.out), "generations")
    if args.json:
        print_json(evaluated.whole)
        return 0
    screen = Screen()
    show_generations(screen, str(args.generations), found, options)
    for path in paths:
        screen.say(f"wrote {path}")
    return 0


def _agent(args: Evaluate, source: str) -> Agent:
    return players.agent(
        source,
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        greedy=args.greedy,
        changes=players.sampling_changes(players.settings(args.set, "--set")),
        seed=args.seed,
        device=args.device,
    )


def _options(args: Evaluate, env_ids: Sequence[str]) -> dict[str, Any]:
    """Read the environments' arguments, prompt style spelled out; wrong ones raise here."""
    options = players.settings(args.env_option, "--env-option")
    options.setdefault("prompt_style", players.common_style([str(args.agent)]))
    for env_id in dict.fromkeys(env_ids):
        players.check_env(env_id, options)
    return options


def _texts_only(args: Evaluate, env_ids: Sequence[str]) -> dict[str, Any]:
    """Read the environments' arguments where the rules are fixed, and with them the references."""
    options = _options(args, env_ids)
    for name in options:
        if name not in HARMLESS:
            option = "--scenario" if args.scenario else "--axis"
            raise ConfigError(
                f"--env-option {name}={options[name]} would change the rules, which {option} "
                "fixes; prompt_style and illegal can be set"
            )
    return options


def _settings(args: Evaluate, games: int, options: Mapping[str, Any]) -> Settings:
    return Settings(
        games=games if args.games is None else args.games,
        seed=args.seed,
        samples=args.samples or 0,
        env_options=options,
    )


def _progress(args: Evaluate, name: Callable[[Any], str]) -> Callable[[Any], None]:
    """Return what says each finished part, unless only JSON is wanted."""
    if args.json:
        return lambda part: None
    screen = Screen()
    return lambda part: screen.say(f"done: {name(part)}")


def _checkpoints(folder: RunFolder) -> list[Path]:
    """Return the complete checkpoints of a run, oldest first."""
    found = checkpoint.complete(folder.checkpoints)
    if len(found) < 2:
        raise ConfigError(
            f"{folder.path} has {len(found)} complete checkpoints; a series needs two or more: "
            "train with --set keep_checkpoints=100 checkpoint_every=20"
        )
    return found


def _opponents(
    args: Evaluate, start: str, env_id: str, options: Mapping[str, Any]
) -> dict[str, Agent | str]:
    """Return the fixed opponents: random play, the oracle if there is one, the start model."""
    oracle = {} if oracle_of(make(env_id, **options)) is None else {"oracle": "oracle"}
    return {"random": "random", **oracle, "start": _agent(args, start)}


RUN: dict[str, Callable[[Evaluate], int]] = {
    "suite": run_a_suite,
    "scenario": run_scenarios,
    "axis": run_a_sweep,
    "generations": run_a_series,
}
"""Option -> what carries it out."""
