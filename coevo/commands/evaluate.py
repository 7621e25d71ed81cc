"""`coevo evaluate`: measure an agent against one opponent, or on a whole set of environments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent, NoReplyError
from coevo.agents.models.folders import fingerprint
from coevo.benchmarks.evaluate import evaluate, oracle_of
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.references import HARMLESS
from coevo.benchmarks.repeats import repeat
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites import names, scenarios, search
from coevo.benchmarks.suites.cost import foresee
from coevo.benchmarks.suites.focal import play_scenario
from coevo.benchmarks.suites.generations import run_generations
from coevo.benchmarks.suites.probes import probe, run_probe
from coevo.benchmarks.suites.suite import KIND, Settings, kept, run_suite
from coevo.benchmarks.suites.sweeps import run_sweep, sweep
from coevo.benchmarks.suites.table import (
    Evaluated,
    read_evaluated,
    side_by_side,
)
from coevo.benchmarks.usage import Usage
from coevo.commands import players
from coevo.commands.arguments import Evaluate
from coevo.commands.evaluated import (
    show_generations,
    show_probe,
    show_repeats,
    show_scenarios,
    show_search,
    show_seats,
    show_suite,
    show_sweep,
    show_totals,
    usage_line,
)
from coevo.commands.screen import Screen, print_json
from coevo.commands.time_left import TimeLeft
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint
from coevo.trainers.run_folder import RunFolder

GAMES = {"env": 400, "suite": 320, "axis": 200, "probe": 200, "generations": 200}
"""Episodes where --games is not given: against one opponent, per environment, per level, per
generation and per pair of generations."""
SETS = ("suite", "scenario", "axis", "probe", "generations")
"""Options that measure more than one environment or agent; at most one is given."""
TRAINING_ONLY = ("openings",)
"""Arguments of a run's environment that widen its training and are not part of the task."""
Show = Callable[[Screen], None]
"""Prints a result for a person."""


def run(args: Evaluate) -> int:
    _check(args)
    players.quiet()
    chosen = next((name for name in SETS if getattr(args, name)), "env")
    measure = {
        "env": _one_opponent,
        "suite": _search if args.suite == "search" else _suite,
        "scenario": _scenarios,
        "axis": _sweep,
        "probe": _probe,
        "generations": _generations,
    }
    found, show = measure[chosen](args)
    if args.json:
        print_json(found)
    else:
        show(Screen())
    rows = found.get("environments", {}).values()
    if rows and all(row["failed"] for row in rows):
        raise NoReplyError(f"nothing could be measured: {next(iter(rows))['failed']}")
    return 0


def _check(args: Evaluate) -> None:
    sets = [name for name in SETS if getattr(args, name) is not None]
    if len(sets) > 1:
        raise ConfigError(f"--{sets[0]} and --{sets[1]} contradict each other")
    if args.agent is None and args.generations is None:
        raise ConfigError("coevo evaluate: needs --agent NAME|PATH; see `coevo evaluate --help`")
    if args.agent is not None and args.generations is not None:
        raise ConfigError("--generations RUN measures the run's own checkpoints, not --agent")
    if args.env is not None and sets and sets[0] != "axis":
        raise ConfigError(f"--{sets[0]} and --env contradict each other")
    if args.env is None and not sets:
        raise ConfigError(
            "coevo evaluate: needs one of --env ID, --suite NAME, --scenario NAME, --axis NAME, "
            "--probe NAME; "
            "see `coevo evaluate --help`"
        )
    if args.opponent is not None and sets:
        raise ConfigError(f"--opponent goes with --env; --{sets[0]} says who plays")
    if args.samples is not None and (args.samples < 1 or (sets and sets[0] != "suite")):
        raise ConfigError(
            f"--samples {args.samples} must be at least 1, and goes with --env or --suite"
        )
    if args.beside and args.suite is None:
        raise ConfigError("--beside goes with --suite: it shows agents side by side on one")
    if args.games is not None and args.games < 1:
        raise ConfigError(f"games={args.games} must be at least 1")


@contextlib.contextmanager
def _evaluation(
    args: Evaluate,
    agent: Agent,
    what: Mapping[str, Any],
    options: Mapping[str, Any],
    weights: Mapping[str, str] | None = None,
) -> Iterator[tuple[ResultsFolder, Callable[[Mapping[str, Any]], dict[str, Any]]]]:
    """Begin or continue an evaluation; yield its folder, and what writes the whole of it."""
    if weights is None:
        weights = {str(args.agent): fingerprint(str(args.agent)) if args.out else ""}
    settings = {
        "agent": args.agent,
        **what,
        "games": args.games,
        "samples": args.samples,
        "seed": args.seed,
        "env_options": dict(options),
        "sampling": dict(agent.sampling_settings),
    }
    folder = ResultsFolder(Path(args.out).expanduser() if args.out else None, KIND)
    folder.begin(settings, weights)

    def finish(table: Mapping[str, Any]) -> dict[str, Any]:
        whole = {"kind": KIND, **settings, "weights": dict(weights), **table}
        folder.write("evaluation.json", whole)
        return whole

    with folder.alone():
        yield folder, finish


def _one_opponent(args: Evaluate) -> tuple[dict[str, Any], Show]:
    env_id = str(args.env)
    named = args.opponent or ("self" if spec(env_id).kind == "cooperative" else "random")
    others = [] if named == "self" else [named]
    options = players.env_options(env_id, args.env_option, [str(args.agent), *others])
    agent = _agent(args, str(args.agent))
    opponent = players.agent(named, seed=args.seed + 1, device=args.device) if others else None
    games = GAMES["env"] if args.games is None else args.games
    with _evaluation(args, agent, {"env": env_id, "opponent": named}, options) as (_, finish):
        found = evaluate(agent, env_id, opponent, games, args.seed, options)
        repeats = None
        if args.samples is not None:
            repeats = repeat(
                agent.reseeded(args.seed),
                env_id,
                opponent,
                samples=args.samples,
                games=games,
                seed=args.seed,
                env_options=options,
            )
        table = {k: v for k, v in found.to_dict().items() if k != "task_scores"}
        more = {} if repeats is None else {"repeats": repeats.to_dict()}
        finish({"result": table, **more})

    def show(screen: Screen) -> None:
        show_seats(screen, found)
        left_out = f", {found.errors} episodes left out" if found.errors else ""
        settings = " ".join(f"{k}={v}" for k, v in options.items())
        screen.say(f"{found.mean_turns:.1f} replies per episode{left_out}; {settings}")
        if "rewards" in options:
            screen.say("scores are payoffs of the rules alone: rewards=... moves none of them")
        if repeats is not None:
            show_repeats(screen, {found.env: repeats.to_dict()}, found.sampling)
        whole = found.usage + (repeats.usage if repeats else Usage())
        if whole.sampled_tokens or whole.requests:
            screen.say(usage_line(whole))

    return table | {"env_options": options, "seed": args.seed} | more, show


def _suite(args: Evaluate) -> tuple[dict[str, Any], Show]:
    env_ids = names.environments(str(args.suite))
    options = _options(args, env_ids)
    agent = _agent(args, str(args.agent))
    settings = _settings(args, "suite", options)
    beside = [read_evaluated(Path(other).expanduser()) for other in args.beside]
    with _evaluation(args, agent, {"suite": args.suite}, options) as (folder, finish):
        left = [e for e in env_ids if not folder.has(e)]
        costs = foresee(agent, left, settings)
        report = TimeLeft(agent, costs, settings, _say(args)).report
        order = sorted(env_ids, key=lambda e: costs[e].work if e in costs else 0)
        rows, total = run_suite(agent, env_ids, settings, folder, report, order)
        by_env = {r.env: r.to_dict() for r in rows}
        whole = finish({"environments": by_env, "total": total.to_dict()})
        if folder.path is not None:
            every = [read_evaluated(folder.path), *beside]
            folder.write_text("evaluation.md", side_by_side(every, env_ids))

    found = Evaluated(whole, {row.env: row for row in rows})

    def show(screen: Screen) -> None:
        show_suite(screen, found, beside)
        repeats = {r.env: r.details["repeats"] for r in rows if "repeats" in r.details}
        if repeats:
            show_repeats(screen, repeats, agent.sampling_settings)
        show_totals(screen, total)

    return whole, show


def _search(args: Evaluate) -> tuple[dict[str, Any], Show]:
    for name in ("samples", "beside"):
        if getattr(args, name):
            raise ConfigError(f"--{name} goes with other suites; search has a table of its own")
    options = _options(args, [search.ENV])
    agent = _agent(args, str(args.agent))
    games, say = args.games or GAMES["suite"], _say(args)
    with _evaluation(args, agent, {"suite": args.suite}, options) as (folder, finish):
        found = search.search_table(
            agent, games, args.seed, options, folder, lambda name: say(f"done: {name}")
        )
        whole = finish({"search": found.to_dict()})
    return whole, lambda screen: show_search(screen, agent.name, found)


def _scenarios(args: Evaluate) -> tuple[dict[str, Any], Show]:
    chosen = list(scenarios.SCENARIOS) if args.scenario == "all" else [str(args.scenario)]
    places = [scenarios.scenario(name) for name in chosen]
    options = _texts_only(args, [where.env_id for where in places])
    agent = _agent(args, str(args.agent))
    report, rows = _progress(args, str), dict[str, Measurement]()

    def load(name: str) -> Agent:
        return players.agent(name, seed=args.seed, device=args.device)

    def play(where: scenarios.Scenario) -> Measurement:
        return play_scenario(
            agent,
            where,
            episodes=args.games,
            seed=args.seed,
            load=load,
            env_options=options,
        )

    with _evaluation(args, agent, {"scenario": args.scenario}, options) as (folder, finish):
        for where in places:
            rows[where.name] = kept(folder, where.name, partial(play, where))
            report(where.name)
        whole = finish({"scenarios": {name: r.to_dict() for name, r in rows.items()}})
    return whole, lambda screen: show_scenarios(screen, str(args.agent), rows)


def _sweep(args: Evaluate) -> tuple[dict[str, Any], Show]:
    levels = sweep(str(args.axis), args.env)
    options = _texts_only(args, [level.env_id for level in levels])
    agent = _agent(args, str(args.agent))
    what = {"axis": args.axis, "env": args.env, "levels": [asdict(level) for level in levels]}
    settings = _settings(args, "axis", options)
    with _evaluation(args, agent, what, options) as (folder, finish):
        report = _progress(args, lambda row: row.details["label"])
        rows, curve = run_sweep(agent, levels, settings, folder, report)
        whole = finish({"levels": [r.to_dict() for r in rows], **curve._asdict()})
    return whole, lambda screen: show_sweep(screen, str(args.agent), str(args.axis), rows, curve)


def _probe(args: Evaluate) -> tuple[dict[str, Any], Show]:
    chosen = probe(str(args.probe))
    options = _options(args, [chosen.env_id])
    agent = _agent(args, str(args.agent))
    settings = _settings(args, "probe", options)
    with _evaluation(args, agent, {"probe": args.probe}, options) as (folder, finish):
        rows = run_probe(agent, chosen, settings, folder)
        whole = finish({"cases": [r.to_dict() for r in rows]})
    return whole, lambda screen: show_probe(screen, str(args.agent), chosen, rows)


def _generations(args: Evaluate) -> tuple[dict[str, Any], Show]:
    folder = RunFolder(Path(str(args.generations)).expanduser())
    config, steps = folder.config(), _checkpoints(folder)
    options = {k: v for k, v in config.env_options.items() if k not in TRAINING_ONLY}
    options |= players.settings(args.env_option, "--env-option")
    env = config.env
    if not isinstance(env, str):
        raise ConfigError(
            f"{args.generations} was trained on {config.env_title}; a series of checkpoints is "
            "measured in runs of one environment; use `coevo evaluate --agent RUN --env ID`"
        )
    players.check_env(env, options)
    agents = {path.name: _agent(args, str(path)) for path in steps}
    weights = {path.name: fingerprint(str(path)) for path in steps}
    oracle = {} if oracle_of(make(env, **options)) is None else {"oracle": "oracle"}
    start = _agent(args, config.model)
    opponents: dict[str, Agent | str] = {"random": "random", **oracle, "start": start}
    what = {"generations_of": args.generations, "env": env, "opponents": list(opponents)}
    settings, report = _settings(args, "generations", options), _progress(args, str)
    paths: list[Path] = []
    first = next(iter(agents.values()))
    with _evaluation(args, first, what, options, weights) as (results, finish):
        found = run_generations(agents, env, settings, results, opponents, report)
        whole = finish(found.to_dict())
        if args.out is not None:
            from coevo.commands.plot import draw_generations, save  # loads matplotlib

            paths += save(draw_generations(found), Path(args.out), "generations")

    def show(screen: Screen) -> None:
        show_generations(screen, str(args.generations), found, options)
        for path in paths:
            screen.say(f"wrote {path}")

    return whole, show


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


def _settings(args: Evaluate, what: str, options: Mapping[str, Any]) -> Settings:
    return Settings(
        games=GAMES[what] if args.games is None else args.games,
        seed=args.seed,
        played=args.suite == names.ALL,
        samples=args.samples or 0,
        env_options=options,
    )


def _progress(args: Evaluate, name: Callable[[Any], str]) -> Callable[[Any], None]:
    say = _say(args)
    return lambda part: say(f"done: {name(part)}")


def _say(args: Evaluate) -> Callable[[str], None]:
    """Return what prints a line on the way; nothing does where the output is JSON."""
    return (lambda line: None) if args.json else Screen().say


def _checkpoints(folder: RunFolder) -> list[Path]:
    found = checkpoint.complete(folder.checkpoints)
    if len(found) < 2:
        raise ConfigError(
            f"{folder.path} has {len(found)} complete checkpoints; a series needs two or more: "
            "train with --set keep_checkpoints=100 checkpoint_every=20"
        )
    return found
