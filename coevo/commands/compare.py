"""`coevo compare`: algorithms side by side, with the verdict in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.compare.comparison import check_on, compare, prepare, share_of_budget
from coevo.benchmarks.compare.manifest import BASELINES, Manifest, per_environment
from coevo.benchmarks.compare.runs import PlannedRun, RunResult
from coevo.benchmarks.files import short
from coevo.benchmarks.measurement import RATES
from coevo.commands import players
from coevo.commands.arguments import Compare, as_typed, flag, given
from coevo.commands.progress import Interrupted
from coevo.commands.run_setup import seconds
from coevo.commands.screen import Screen, print_json, share
from coevo.envs import spec
from coevo.envs.core.config import plain
from coevo.envs.core.errors import ConfigError

HOW = ("out", "workers", "on", "retry", "json")
"""Arguments that say how, not what, and so may change when a comparison is continued."""
OVERSHOT = 0.05
"""Share of a budget beyond it from which a table says what to do about that."""
BUDGET = "2e5"
"""Sampled tokens of a run that is given no budget."""


def run(args: Compare) -> int:
    """Plan, run what is left, print the tables; exit status 1 where runs failed."""
    players.quiet()
    check_on(args.on, args.workers)
    manifest = plan(args)
    root = Path(args.out) if args.out else _folder(manifest)
    screen = Screen()
    known, facts = prepare(root, manifest)
    if not args.json:
        screen.say(f"{_described(known)}; everything is written to {root}")
        if facts["commit"] is None:
            screen.say("not in a git checkout: the manifest names the version alone")

    def ended(run: PlannedRun, result: RunResult, count: int, total: int) -> None:
        if not args.json:
            value = result.reason if result.value is None else f"{result.value:.4g}"
            screen.say(f"{count}/{total} {run}: {value} ({result.seconds:.0f} s)")

    try:
        summary = compare(
            root, known, workers=args.workers, on=args.on, retry=args.retry, ended=ended
        )
    except KeyboardInterrupt:
        again = as_typed(Compare(out=str(root)))
        raise Interrupted(f"interrupted; continue with: {again}") from None
    if args.json:
        print_json(summary)
    else:
        show(screen, known, summary, root)
    return 1 if any(t["failed"] for t in summary["overall"]["algorithms"].values()) else 0


def plan(args: Compare) -> Manifest | None:
    """Return what the arguments ask for; None where they only name a comparison to continue."""
    named = [flag(name) for name, _ in given(args) if name not in HOW]
    if not named and args.out:
        return None
    if not args.algos or not args.env:
        raise ConfigError(
            "coevo compare needs --algos NAMES and --env IDS, or --out DIR alone to continue"
        )
    algorithms, environments = players.names(args.algos), players.names(args.env)
    for env in environments:
        spec(env)
    model = args.model or "starter"
    options = players.env_options(environments[0], args.env_option, [model])
    for env in environments[1:]:
        players.check_env(env, options)
    changes = players.settings(args.set, "--set")
    own = {key: changes.pop(key) for key in list(changes) if key.partition(".")[0] == "sampling"}
    how = players.sampling_changes(own)
    drawn = players.sampling(model, args.temperature, args.max_new_tokens, changes=how)
    return Manifest(
        algorithms=algorithms,
        environments=environments,
        seeds=tuple(range(10 if args.seeds is None else args.seeds)),
        budgets=per_environment(environments, limits(args, environments)),
        baseline=args.baseline or algorithms[0],
        model=model,
        points=20 if args.points is None else args.points,
        games=32 if args.games is None else args.games,
        env_options=options,
        sampling=plain(drawn),
        changes=changes,
        threads=1 if args.threads is None else args.threads,
        device=args.device or "auto",
    )


def limits(args: Compare, environments: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tokens": _amount(args.budget_tokens, "--budget-tokens", environments),
        "turns": _amount(args.budget_turns, "--budget-turns", environments),
        "seconds": None if args.budget is None else seconds(args.budget),
    }
    if all(value is None for value in found.values()):
        found["tokens"] = int(float(BUDGET))
    return found


def _amount(text: str | None, option: str, environments: Sequence[str]) -> Any:
    """Read a number, or one per environment."""
    if text is None:
        return None
    if "=" not in text:
        return _whole(text, option)
    found = {}
    for pair in players.names(text):
        env, _, number = pair.partition("=")
        if env not in {*environments, *map(short, environments)}:
            raise ConfigError(f"{option} {pair}: {env} is not one of the environments compared")
        found[env] = _whole(number, option)
    return found


def _whole(text: str, option: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 1:
        raise ConfigError(f"{option} {text!r} must be a number such as 2e5")
    return int(number)


def _folder(manifest: Manifest | None) -> Path:
    assert manifest is not None  # without --out the arguments name algorithms
    algos = "-".join(a.replace(BASELINES, "sb3_").replace(":", "_") for a in manifest.algorithms)
    games = "-".join(map(short, manifest.environments))
    return Path("runs") / f"compare-{algos}-{games}"[:120]


def _described(manifest: Manifest) -> str:
    number = len(manifest.algorithms) * len(manifest.environments) * len(manifest.seeds)
    return (
        f"{number} runs: {', '.join(manifest.algorithms)} on "
        f"{', '.join(map(short, manifest.environments))}, {len(manifest.seeds)} seeds"
    )


def show(screen: Screen, manifest: Manifest, summary: Mapping[str, Any], root: Path) -> None:
    over = share_of_budget(manifest, summary)
    for env in manifest.environments:
        part = summary["environments"][env]
        title = f"{short(env)}: {part['metric']}, normalised (0 random, 1 oracle)"
        if env in over:
            title += f"; budgets overshot by {max(over[env], 0):.1%} at most"
        rows = [_row(marked(n, manifest), t) for n, t in part["algorithms"].items()]
        screen.table(title, COLUMNS, rows)
        if over.get(env, 0.0) > OVERSHOT:
            screen.say(
                "  a run ends after a whole update: for less overshoot lower collect.episodes"
            )
        _failures(screen, part)
    if len(manifest.environments) > 1:
        whole = summary["overall"]["algorithms"].items()
        rows = [_row(marked(n, manifest), t)[:5] for n, t in whole]
        screen.table("all environments, normalised", COLUMNS[:5], rows)
    for name in manifest.algorithms:
        if changes := own_changes(name, manifest):
            screen.say(f"  {name}* is not {name} as it is registered: --set {' '.join(changes)}")
    if any(t["failed"] for t in summary["overall"]["algorithms"].values()):
        again = as_typed(Compare(out=str(root), retry=True))
        screen.say(f"  failed runs go on from what they saved with: {again}")
    for test in summary["overall"]["comparisons"]:
        screen.say(f"  {test['verdict']}")
    for sentence in summary["headline"]:
        screen.say(sentence)
    screen.say(f"Tables: {root}/comparison.json, rows: {root}/records.jsonl")
    screen.say(f"A page with everything: coevo report {root}")


def own_changes(name: str, manifest: Manifest) -> list[str]:
    """Return the settings that were changed for one algorithm alone, as they are typed."""
    base = name.partition(":")[0]
    return [f"{k}={v}" for k, v in manifest.changes.items() if k.startswith(f"{base}.")]


def marked(name: str, manifest: Manifest) -> str:
    """Return the name of an algorithm, with a star where it has settings of its own."""
    return f"{name}*" if own_changes(name, manifest) else name


COLUMNS = (
    *("algorithm", "n", "IQM", "95 % interval", "mean", "raw mean", "AUC", *RATES.values()),
    *("tokens", "seconds"),
)


def _row(name: str, t: Mapping[str, Any]) -> tuple[object, ...]:
    if not t["n"]:
        return (name, 0, *(None for _ in COLUMNS[4:]), t["tokens"], t["seconds"])
    values = t.get("values") or [math.nan]
    return (
        name,
        t["n"],
        f"{t['iqm']:.3f}",
        None if t["interval"][0] is None else "{:.3f} .. {:.3f}".format(*t["interval"]),
        f"{t['mean']:.3f}",
        f"{sum(values) / len(values):.4g}",
        f"{t['auc']:.3f}" if "auc" in t else None,
        *(share(t[rate]) for rate in RATES),
        f"{t['tokens']:,.0f}",
        f"{t['seconds']:.0f}",
    )


def _failures(screen: Screen, part: Mapping[str, Any]) -> None:
    for name, table in part["algorithms"].items():
        for failed in table["failed"]:
            screen.say(f"  failed: {name}, seed {failed['seed']}: {failed['reason']}")
    if part["dropped_seeds"]:
        seeds = ", ".join(map(str, part["dropped_seeds"]))
        screen.say(f"  left out for every algorithm, because some run has no result: seed {seeds}")
