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
from coevo.benchmarks.measurement import RATES, Measurement
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.references import HARMLESS
from coevo.benchmarks.repeats import repeat
from coevo.benchmarks.report.formats import counts
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.statistics.adaptability import SeverityCurve
from coevo.benchmarks.statistics.social import OUTCOMES
from coevo.benchmarks.suites import names, scenarios, search
from coevo.benchmarks.suites.cost import foresee
from coevo.benchmarks.suites.focal import play_scenario
from coevo.benchmarks.suites.generations import GenerationSeries, run_generations
from coevo.benchmarks.suites.probes import Probe, probe, run_probe
from coevo.benchmarks.suites.suite import KIND, Settings, kept, run_suite
from coevo.benchmarks.suites.sweeps import run_sweep, sweep
from coevo.benchmarks.suites.table import (
    Evaluated,
    payoffs,
    read_evaluated,
    replies,
    side_by_side,
)
from coevo.benchmarks.suites.totals import Totals
from coevo.benchmarks.usage import Usage
from coevo.commands import players
from coevo.commands.arguments import Evaluate
from coevo.commands.plot import draw_generations, save
from coevo.commands.screen import Screen, cell, print_json, share
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
            f"{args.generations} was trained on {config.env_names}; a series of checkpoints is "
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


# ---- What a person sees ------------------------------------------------------------------------


def show_seats(screen: Screen, found: Measurement) -> None:
    rows = [
        (
            seat,
            s.episodes,
            f"{s.value:+.3f}",
            span(s.interval),
            *(share(rate) for rate in (s.win_rate, s.draw_rate, s.loss_rate)),
            *(share(getattr(s, rate)) for rate in RATES),
        )
        for seat, s in {"all seats": found, **found.seats}.items()
    ]
    against = f"against {found.opponent}" if found.opponent else "in self-play"
    columns = ("seat", "episodes", "mean payoff", "95 % interval", "won", "drawn", "lost")
    title = f"{found.agent} {against} in {found.env}"
    screen.table(title, (*columns, *RATES.values()), rows)
    show_social(screen, [found])


def show_social(screen: Screen, rows: Sequence[Measurement]) -> None:
    """Print the social outcomes, a line per environment that has any; undefined ones are a dash."""
    lines = [
        (row.env, *(row.details["social"][name]["mean"] for name in OUTCOMES))
        for row in rows
        if "social" in row.details
    ]
    if lines:
        title = "social outcomes, means over the episodes that define them"
        screen.table(title, ("environment", *OUTCOMES), lines)


def show_suite(screen: Screen, found: Evaluated, beside: Sequence[Evaluated]) -> None:
    """Print payoffs and how replies were read, then the payoffs of other agents beside them."""
    rows, suite = list(found.rows.values()), found.settings["suite"]
    screen.table(f"{found.agent} on the suite {suite}", *payoffs([found], found.rows, str))
    least = sorted({row.metric for row in rows if not row.higher_is_better})
    if least:
        screen.say(f"less is better: {', '.join(least)} (0 is best)")
    screen.table(f"replies; {drawn(found.settings['sampling'])}", *replies(found, found.rows, str))
    if beside:
        screen.table("side by side", *payoffs([found, *beside], found.rows, str))
    show_social(screen, rows)


def show_search(screen: Screen, agent: str, found: search.SearchTable) -> None:
    """Print how questions were answered from memory, from one search, and with searches."""
    columns = [
        *("way", "hops", "exact match", "95 % interval", "F1", "answer shown"),
        *("documents found, hop by hop", "searches", "before evidence", "unread"),
    ]
    rows = [
        (
            *(row.way, row.hops, share(row.exact_match), span(row.interval), f"{row.f1:.3f}"),
            *(share(row.shown), " ".join(map(share, row.support)), f"{row.searches:.1f}"),
            *(share(row.before), share(row.unread)),
        )
        for row in found.rows
    ]
    screen.table(f"{agent}: questions over a corpus", columns, rows)
    screen.say(found.leaks)


def show_totals(screen: Screen, found: Totals) -> None:
    number = found.iqm.runs
    if number:
        screen.say(
            f"normalised (0 random, 1 oracle) over {number} environments: IQM "
            f"{between(found.iqm.point, found.iqm.low, found.iqm.high)}, mean "
            f"{between(found.mean.point, found.mean.low, found.mean.high)}; "
            "intervals over starts and samples, not over training seeds"
        )
    for env, reason in found.left_out.items():
        screen.say(f"not in the mean: {env}: {reason}")
    screen.say(usage_line(found.usage))


def show_repeats(
    screen: Screen, found: Mapping[str, Mapping[str, Any]], sampling: Mapping[str, Any]
) -> None:
    rows = []
    for env, repeats in found.items():
        for k, passed in repeats["pass_at"].items():
            rows.append(
                (
                    env,
                    repeats["opponent"] or "self",
                    repeats["questions"],
                    int(k),
                    *_estimate(passed),
                    *_estimate(repeats["pass_hat"][k]),
                    *_estimate(repeats["avg"])[:1],
                    *_estimate(repeats["maj_at"].get(k, {}))[:1],
                )
            )
    first = next(iter(found.values()))
    columns = (
        *("environment", "others", "starts", "k", "pass@k", "95 % interval", "pass^k"),
        *("95 % interval", f"avg@{first['samples']}", "maj@k"),
    )
    title = f"{first['samples']} episodes of each start; {drawn(sampling)}"
    screen.table(title, columns, rows)


def show_scenarios(screen: Screen, agent: str, rows: Mapping[str, Measurement]) -> None:
    lines = [
        (
            *(name, r.details["mode"], r.episodes, r.value, span(r.interval), r.normalised),
            *(r.details[key] for key in ("background", "collective", "gap")),
            *(share(getattr(r, rate)) for rate in RATES),
        )
        for name, r in rows.items()
    ]
    columns = (
        *("scenario", "mode", "episodes", "focal return", "95 % interval", "normalised"),
        *("background", "collective", "gap", *RATES.values()),
    )
    title = f"{agent} in company, returns per head; {drawn(next(iter(rows.values())).sampling)}"
    screen.table(title, columns, lines)
    for name, r in rows.items():
        company = r.details["by_company"].items()
        each = "; ".join(f"{names} {value:+.3f}" for names, value in company)
        screen.say(f"{name}, focal return with: {each}")


def show_sweep(
    screen: Screen, agent: str, name: str, rows: Sequence[Measurement], curve: SeverityCurve
) -> None:
    lines = [
        (
            *(r.details["label"], r.details["severity"], r.value, span(r.interval)),
            *(r.normalised, span(r.normalised_interval)),
            *(share(getattr(r, rate)) for rate in RATES),
        )
        for r in rows
    ]
    columns = (
        *("level", "severity", "mean payoff", "95 % interval"),
        *("normalised", "95 % interval", *RATES.values()),
    )
    title = f"{agent} along {name} (0 random, 1 best response)"
    screen.table(f"{title}; {drawn(rows[0].sampling)}", columns, lines)
    screen.say(f"worst case {curve.worst:.3f}, area under the severity curve {curve.area:.3f}")


def show_probe(screen: Screen, agent: str, chosen: Probe, rows: Sequence[Measurement]) -> None:
    lines = [
        (
            *(r.details["label"], r.value, span(r.interval), r.details["harm"]),
            *(r.details["payoff"], *(share(getattr(r, rate)) for rate in RATES)),
        )
        for r in rows
    ]
    columns = ("case", chosen.outcome, "95 % interval", "harm", "mean payoff", *RATES.values())
    screen.table(f"{agent} in {chosen.env_id}; {drawn(rows[0].sampling)}", columns, lines)
    screen.say(f"harm: change of {chosen.outcome} for the worse, against the first case")


def show_generations(
    screen: Screen, run: str, found: GenerationSeries, options: Mapping[str, Any]
) -> None:
    env = found.scores[0].env
    contest = is_contest(make(env, **options))
    mean_GO = found.returns_GC.reshape(len(found.names), len(found.opponents), -1).mean(-1)
    lines = []
    for g, (name, score) in enumerate(zip(found.names, found.scores, strict=True)):
        line: list[object] = [name, score.value, score.normalised, *mean_GO[g].tolist()]
        if found.table is not None:
            line.append(float(found.table.percentiles[g, 2]))
            line.append(found.table.dominates[g] if g else None)
        if found.ancestry is not None:
            parts = (found.ancestry.previous, found.ancestry.mean, found.ancestry.worst)
            line += [float(part[g]) if g else None for part in parts]
            line.append(int(found.ancestry.lost_to[g]) if g else None)
        lines.append(line)
    columns = ["generation", found.scores[0].metric, "normalised"]
    columns += [f"vs {name}" for name in found.opponents]
    columns += ["median", "dominates"] * (found.table is not None)
    columns += ["previous", "earlier", "worst", "lost to"] * contest
    screen.table(f"generations of {run} in {env}", columns, lines)
    if found.ancestry is not None:
        screen.say(f"generation-over-generation score {found.ancestry.score:.3f} (0.5: no gain)")
        screen.say(
            "previous, earlier, worst: payoff against earlier generations from 0 (lowest) to 1 "
            "(highest); lost to: number of them with under 0.5, chance included"
        )
    screen.say(found.verdict)


def usage_line(found: Usage) -> str:
    """Say what was read and written."""
    said = (
        f"{found.sampled_tokens:,} tokens sampled and {found.prompt_tokens:,} read in "
        f"{found.replies:,} replies"
    )
    if found.requests or found.hits:
        said += f"; {found.requests:,} from the server, {found.hits:,} from the cache"
    if found.failures:
        said += f"; failed requests: {counts(found.failures)}"
    return f"{said}; cost {found.cost:.4g}" if found.cost else said


def drawn(sampling: Mapping[str, Any]) -> str:
    """Say how replies were drawn."""
    if not sampling:
        return "no sampling of tokens"
    words = {"temperature": "temperature", "max_new_tokens": "max tokens"}
    return ", ".join(f"{words.get(name, name)} {cell(x)}" for name, x in sampling.items())


def span(bounds: Sequence[float] | None) -> str:
    return "-" if bounds is None else f"{bounds[0]:+.3f} .. {bounds[1]:+.3f}"


def between(point: float, low: float, high: float) -> str:
    """Write a value with its interval, if it has one."""
    return f"{point:.3f}" if low != low else f"{point:.3f} [{low:.3f}, {high:.3f}]"


def _estimate(found: Mapping[str, Any]) -> tuple[object, str]:
    return found.get("value"), span(found.get("interval"))
