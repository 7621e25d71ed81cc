"""`coevo evaluate` on sets: --suite, --scenario, --axis, --generations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.fingerprint import fingerprint
from coevo.agents.oracle import solve
from coevo.benchmarks.references import HARMLESS
from coevo.benchmarks.suites import names, scenarios
from coevo.benchmarks.suites.axes import axis, run_axis
from coevo.benchmarks.suites.focal import FocalResult, play_scenario
from coevo.benchmarks.suites.generations import run_generations
from coevo.benchmarks.suites.measure import Settings, sampling_of
from coevo.benchmarks.suites.players import is_scripted, scripted
from coevo.benchmarks.suites.results import Results
from coevo.benchmarks.suites.suite import run_suite
from coevo.commands import players
from coevo.commands.arguments import Evaluate
from coevo.commands.evaluate_plot import save_generations
from coevo.commands.evaluate_tables import (
    show_axis,
    show_generations,
    show_repeats,
    show_scenarios,
    show_suite,
    show_totals,
)
from coevo.commands.screen import Screen, print_json
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielEnv
from coevo.trainers.run_folder import RunFolder

SUITE_GAMES = 320
"""Plays per environment of a suite."""
SET_GAMES = 200
"""Plays per level of an axis, per generation, and per pair of generations."""
TRAINING_ONLY = ("openings",)
"""Arguments of a run's environment that widen its training and are not part of the task."""


def measured_agent(args: Evaluate) -> Agent:
    """Load the agent that is measured, with the settings of sampling that were given."""
    return _agent(args, str(args.agent))


def facts(
    args: Evaluate, agent: Agent, what: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Give everything that the results depend on; a folder takes only one set of these."""
    return {
        "agent": args.agent,
        "weights": fingerprint(str(args.agent)) if args.out else "",
        **what,
        "games": args.games,
        "samples": args.samples,
        "seed": args.seed,
        "env_options": dict(options),
        "sampling": sampling_of(agent),
    }


def run_a_suite(args: Evaluate) -> int:
    """Measure an agent on all environments of a suite."""
    env_ids, screen = names.environments(str(args.suite)), Screen()
    options = _options(args, env_ids)
    agent = measured_agent(args)
    results = _results(args, facts(args, agent, {"suite": args.suite}, options))
    settings = _settings(args, SUITE_GAMES, options)
    rows, whole = run_suite(agent, env_ids, settings, results, _progress(args, lambda r: r.env))
    if args.json:
        print_json(results.whole)
        return 0
    show_suite(screen, str(args.agent), str(args.suite), rows)
    repeats = {r.env: r.repeats for r in rows if r.repeats is not None}
    if repeats:
        show_repeats(screen, repeats, sampling_of(agent))
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
    results = _results(args, facts(args, agent, {"scenario": args.scenario}, options))
    told, rows = _progress(args, lambda name: name), []
    for where in chosen:
        rows.append(FocalResult(**results.part(where.name, _play(args, agent, where, options))))
        told(where.name)
    whole = results.finish({"scenarios": {r.scenario: asdict(r) for r in rows}})
    if args.json:
        print_json(whole)
    else:
        show_scenarios(Screen(), str(args.agent), rows)
    return 0


def run_an_axis(args: Evaluate) -> int:
    """Measure an agent along an axis of change."""
    levels = axis(str(args.axis), args.env)
    options = _texts_only(args, [level.env_id for level in levels])
    agent = measured_agent(args)
    what = {"axis": args.axis, "env": args.env, "levels": [asdict(level) for level in levels]}
    results = _results(args, facts(args, agent, what, options))
    settings = _settings(args, SET_GAMES, options)
    rows, curve = run_axis(agent, levels, settings, results, _progress(args, lambda r: r.label))
    if args.json:
        print_json(results.whole)
    else:
        show_axis(Screen(), str(args.agent), str(args.axis), rows, curve)
    return 0


def run_a_series(args: Evaluate) -> int:
    """Score the checkpoints of a run against fixed opponents and each other."""
    folder = RunFolder(Path(str(args.generations)).expanduser())
    config, steps = folder.config(), _checkpoints(folder)
    options = {k: v for k, v in config.env_options.items() if k not in TRAINING_ONLY}
    options |= players.settings(args.env_option, "--env-option")
    players.check_env(config.env, options)
    agents = {path.name: _agent(args, str(path)) for path in steps}
    prints = {name: fingerprint(str(path)) for name, path in zip(agents, steps, strict=True)}
    opponents = _opponents(args, config.model, config.env, options)
    what = {
        "generations": args.generations,
        "env": config.env,
        "checkpoints": prints,
        "opponents": list(opponents),
    }
    first = next(iter(agents.values()))
    results = _results(args, facts(args, first, what, options) | {"agent": None, "weights": ""})
    settings = _settings(args, SET_GAMES, options)
    told = _progress(args, lambda name: name)
    found = run_generations(agents, config.env, settings, results, opponents, told)
    paths = [] if args.out is None else save_generations(found, Path(args.out))
    if args.json:
        print_json(results.whole)
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


def _results(args: Evaluate, settings: Mapping[str, Any]) -> Results:
    return Results(Path(args.out).expanduser() if args.out else None, settings)


def _progress(args: Evaluate, name: Callable[[Any], str]) -> Callable[[Any], None]:
    """Tell each finished part, unless only JSON is wanted."""
    if args.json:
        return lambda part: None
    screen = Screen()
    return lambda part: screen.say(f"done: {name(part)}")


def _play(
    args: Evaluate, agent: Agent, where: scenarios.Scenario, options: Mapping[str, Any]
) -> Callable[[], dict[str, Any]]:
    def load(name: str) -> Agent:
        if is_scripted(name):
            return scripted(name)
        return players.agent(name, seed=args.seed, device=args.device)

    def played() -> dict[str, Any]:
        found = play_scenario(
            agent, where, episodes=args.games, seed=args.seed, load=load, env_options=options
        )
        return asdict(found)

    return played


def _checkpoints(folder: RunFolder) -> list[Path]:
    """Give the complete checkpoints of a run, oldest first."""
    found = sorted(m.parent for m in folder.checkpoints.glob("step_*/manifest.json"))
    if len(found) < 2:
        raise ConfigError(
            f"{folder.path} has {len(found)} complete checkpoints; a series needs two or more: "
            "train with --set keep_checkpoints=100 checkpoint_every=20"
        )
    return found


def _opponents(
    args: Evaluate, start: str, env_id: str, options: Mapping[str, Any]
) -> dict[str, Agent | str]:
    """Give the fixed opponents: random play, the oracle if there is one, the start model."""
    found: dict[str, Agent | str] = {"random": "random"}
    env = make(env_id, **options)
    if isinstance(env, OpenSpielEnv):
        try:
            solve(str(env.game))
            found["oracle"] = "oracle"
        except ConfigError:
            pass
    found["start"] = _agent(args, start)
    return found


RUN: dict[str, Callable[[Evaluate], int]] = {
    "suite": run_a_suite,
    "scenario": run_scenarios,
    "axis": run_an_axis,
    "generations": run_a_series,
}
"""Option -> what carries it out."""
