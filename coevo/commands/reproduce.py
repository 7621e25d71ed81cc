"""`coevo reproduce`: what algorithms claim, at a small scale, beside the reference figures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coevo.benchmarks.reproductions import NAMES, Claim, claim
from coevo.benchmarks.reproductions.claim import ON, TEXTS, Figure, Outcome
from coevo.benchmarks.results_folder import plain
from coevo.commands.arguments import Reproduce as Arguments
from coevo.commands.screen import Screen, cell, print_json
from coevo.envs.core.errors import ConfigError, unknown

ALL = "all"
FIGURE = ("label", "measured", "mean", "reference", "low", "high", "holds")
COLUMNS = ("figure", "ours", "over seeds ±", "reference", "accepted", "")


@dataclass(frozen=True)
class ClaimReport:
    """One claim that was run."""

    one: Claim
    seeds: Sequence[int]
    outcome: Outcome
    seconds: float


def run(args: Arguments) -> int:
    """List the claims, or run one or all; exit status 1 when one does not hold."""
    chosen = _chosen(args)
    if args.list:
        return _list(as_json=args.json)
    screen, reports = Screen(), []
    for one in chosen:
        reports.append(_measure(one, args.seeds))
        if not args.json:
            _show(screen, reports[-1])
    if args.json:
        plain = [_plain(report) for report in reports]
        print_json(plain if args.name == ALL else plain[0])
    elif args.name == ALL:
        _summary(screen, reports)
    return 0 if all(report.outcome.holds for report in reports) else 1


def _chosen(args: Arguments) -> list[Claim]:
    if args.list:
        if args.name is not None:
            raise ConfigError(f"{args.name!r} and --list contradict each other: give one of them")
        return []
    if args.seeds < 1:
        raise ConfigError(f"--seeds {args.seeds} must be at least 1")
    if args.name is None:
        raise ConfigError(
            "coevo reproduce needs a NAME, or all; `coevo reproduce --list` shows the names"
        )
    if args.name == ALL:
        return [claim(name) for name in NAMES]
    if args.name not in NAMES:
        raise unknown("reproduction", args.name, [*NAMES, ALL])
    return [claim(args.name)]


def _measure(one: Claim, seeds: int) -> ClaimReport:
    began = time.monotonic()
    outcome = one.run(range(seeds))
    return ClaimReport(one, range(seeds), outcome, time.monotonic() - began)


def _list(*, as_json: bool) -> int:
    known = [claim(name) for name in NAMES]
    if as_json:
        print_json([_described(one) for one in known])
        return 0
    rows = [(r.name, r.on, _minutes(r.minutes), r.property, r.source) for r in known]
    total = _minutes(sum(r.minutes for r in known))
    columns = ("reproduction", "on", "minutes", "what must hold", "source")
    Screen().table(f"{len(rows)} reproductions, {total} minutes in all on one core", columns, rows)
    return 0


def _minutes(minutes: float) -> str:
    """Write expected minutes, which are not known to better than a tenth."""
    return f"{minutes:.1f}" if minutes >= 0.1 else "< 0.1"


def _show(screen: Screen, report: ClaimReport) -> None:
    one, outcome = report.one, report.outcome
    screen.say(f"{one.name}: {one.property}")
    screen.say(f"on: {ON[one.on]}; source: {one.source}")
    number = len(report.seeds)
    seeds = f"{number} seed" if number == 1 else f"{number} seeds"
    screen.table(f"{seeds}, {report.seconds:.1f} s", COLUMNS, map(_cells, outcome.figures))
    for text in ("note", "chosen"):
        if getattr(one, text):
            screen.say(f"{text}: {getattr(one, text)}")
    failed = sum(not figure.holds for figure in outcome.figures)
    screen.say("holds" if outcome.holds else f"DOES NOT HOLD: {failed} of the figures above")
    screen.say()


def _cells(one: Figure) -> tuple[object, ...]:
    word = ("ok" if one.holds else "FAIL") if one.bounded else ""
    return (one.label, one.mean, one.spread, one.reference, one.bound or None, word)


def _summary(screen: Screen, reports: Sequence[ClaimReport]) -> None:
    failed = [r.one.name for r in reports if not r.outcome.holds]
    seconds = cell(float(sum(r.seconds for r in reports)))
    word = f"{', '.join(failed)} of {len(reports)} do not hold" if failed else "all hold"
    screen.say(f"{word} ({seconds} s)")


def _described(one: Claim) -> dict[str, Any]:
    fields = ("name", "property", "source", "on", "minutes", *TEXTS)
    return {name: getattr(one, name) for name in fields}


def _plain(report: ClaimReport) -> dict[str, Any]:
    """Return a report as JSON values; JSON has no infinity, so an open bound is None."""
    found: dict[str, Any] = plain(
        {
            **_described(report.one),
            "holds": report.outcome.holds,
            "seeds": list(report.seeds),
            "seconds": round(report.seconds, 2),
            "figures": [{k: getattr(f, k) for k in FIGURE} for f in report.outcome.figures],
        }
    )
    return found
