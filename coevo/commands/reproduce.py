"""`coevo reproduce`: what algorithms claim, at a small scale, beside the reference figures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from coevo.benchmarks.reproductions import REPRODUCTIONS, Outcome, Reproduction, Row
from coevo.commands.arguments import Reproduce as Arguments
from coevo.commands.screen import Screen, cell, print_json
from coevo.envs.core.errors import ConfigError, unknown

ALL = "all"
COLUMNS = ("figure", "ours", "over seeds ±", "reference", "accepted", "")


@dataclass(frozen=True)
class Report:
    """One reproduction that was run."""

    one: Reproduction
    seeds: Sequence[int]
    outcome: Outcome
    seconds: float


WHERE = {
    "model": "a language model, by the shipped loop",
    "table": "a tabular policy, by the shipped loop",
    "formula": "estimators and losses, on given numbers; nothing plays",
}
"""What a reproduction trains."""


def run(args: Arguments) -> int:
    """List the reproductions, or run one or all; exit status 1 when one does not hold."""
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


def _chosen(args: Arguments) -> list[Reproduction]:
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
        return list(REPRODUCTIONS.values())
    if args.name not in REPRODUCTIONS:
        raise unknown("reproduction", args.name, [*REPRODUCTIONS, ALL])
    return [REPRODUCTIONS[args.name]]


def _measure(one: Reproduction, seeds: int) -> Report:
    began = time.monotonic()
    outcome = one.run(range(seeds))
    return Report(one, range(seeds), outcome, time.monotonic() - began)


def _list(*, as_json: bool) -> int:
    if as_json:
        print_json([_described(one) for one in REPRODUCTIONS.values()])
        return 0
    known = REPRODUCTIONS.values()
    rows = [(r.name, r.on, _minutes(r.minutes), r.property, r.source) for r in known]
    total = _minutes(sum(r.minutes for r in known))
    columns = ("reproduction", "on", "minutes", "what must hold", "source")
    Screen().table(f"{len(rows)} reproductions, {total} minutes in all on one core", columns, rows)
    return 0


def _minutes(minutes: float) -> str:
    """Write expected minutes, which are not known to better than a tenth.

    >>> _minutes(0.04), _minutes(1.25)
    ('< 0.1', '1.2')
    """
    return f"{minutes:.1f}" if minutes >= 0.1 else "< 0.1"


def _show(screen: Screen, report: Report) -> None:
    one, outcome = report.one, report.outcome
    screen.say(f"{one.name}: {one.property}")
    screen.say(f"on: {WHERE[one.on]}; source: {one.source}")
    number = len(report.seeds)
    seeds = f"{number} seed" if number == 1 else f"{number} seeds"
    screen.table(f"{seeds}, {report.seconds:.1f} s", COLUMNS, map(_cells, outcome.rows))
    if outcome.note:
        screen.say(f"note: {outcome.note}")
    failed = sum(not row.holds for row in outcome.rows)
    screen.say("holds" if outcome.holds else f"DOES NOT HOLD: {failed} of the figures above")
    screen.say()


def _cells(row: Row) -> tuple[object, ...]:
    word = ("ok" if row.holds else "FAIL") if row.bounded else ""
    return (row.label, row.mean, row.spread, row.reference, row.bound or None, word)


def _summary(screen: Screen, reports: Sequence[Report]) -> None:
    failed = [r.one.name for r in reports if not r.outcome.holds]
    seconds = cell(float(sum(r.seconds for r in reports)))
    word = f"{', '.join(failed)} of {len(reports)} do not hold" if failed else "all hold"
    screen.say(f"{word} ({seconds} s)")


def _described(one: Reproduction) -> dict[str, Any]:
    return {
        "name": one.name,
        "property": one.property,
        "source": one.source,
        "on": one.on,
        "minutes": one.minutes,
    }


def _plain(report: Report) -> dict[str, Any]:
    return {
        **_described(report.one),
        "holds": report.outcome.holds,
        "seeds": list(report.seeds),
        "seconds": round(report.seconds, 2),
        "rows": [_plain_row(row) for row in report.outcome.rows],
        "note": report.outcome.note,
    }


def _plain_row(row: Row) -> dict[str, Any]:
    """Return a figure as JSON values; JSON has no infinity, so an open bound is None."""
    return {
        "label": row.label,
        "measured": [_number(value) for value in row.measured],
        "mean": _number(row.mean),
        "reference": row.reference,
        "low": _number(row.low),
        "high": _number(row.high),
        "holds": row.holds,
    }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None
