"""The findings of a tournament in words: only the corrected test makes one better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.tournament.cycles import cycles
from coevo.benchmarks.tournament.results import PairResult


def percent(share: Interval) -> str:
    low, point, high = (f"{100 * x:.0f}" for x in (share.low, share.point, share.high))
    return f"{point} % [{low}, {high}]"


def signed(value: Interval) -> str:
    if value.low != value.low:
        return f"{value.point:+.3f}"
    return f"{value.point:+.3f} [{value.low:+.3f}, {value.high:+.3f}]"


def turned(found: Interval, about: float) -> Interval:
    """Return the same from the other side."""
    low, point, high = about - found.high, about - found.point, about - found.low
    return Interval(low, point, high, found.runs)


def result_sentence(found: PairResult, family: int, only_points: bool) -> str:
    """Say what a pair has shown.

    `family` pairs were corrected for; `only_points`: the score says nothing beyond won, drawn and
    lost.
    """
    names, points, margin = (found.first, found.second), found.points, found.margin
    if margin.point < 0:
        names, margin = names[::-1], turned(margin, 0.0)
        points = None if points is None else turned(points, 1.0)
    scores = [] if points is None else [f"{percent(points)} of points"]
    scores += [] if only_points else [f"{signed(margin)} an episode"]
    if points is None and not any((margin.low, margin.point, margin.high)):
        return f"{names[0]} and {names[1]} are paid alike: {signed(found.returns[0])} an episode"
    test = f"n = {found.tasks} tasks, p = {found.p_adjusted:.2g} after Holm over {family}"
    if not found.separated:
        return f"{names[0]} and {names[1]} are not separated: {', '.join(scores)} ({test})"
    verb = "earns more than" if points is None else "beats"
    against = points is not None and points.high < 0.5
    but = f", though {names[1]} wins more episodes" if against else ""
    return f"{names[0]} {verb} {names[1]}: {', '.join(scores)}{but} ({test})"


def beats(agents: Sequence[str], found: Sequence[PairResult]) -> dict[str, list[str]]:
    """Return agent -> those it is shown to be better than."""
    return {
        name: [r.second if r.first == name else r.first for r in found if r.better == name]
        for name in agents
    }


def leader(agents: Sequence[str], found: Sequence[PairResult]) -> str:
    won = beats(agents, found)
    top = [name for name in agents if not any(name in others for others in won.values())]
    if len(top) == 1 and len(won[top[0]]) == len(agents) - 1:
        return f"{top[0]} beats every other agent."
    if not top:
        return "Every agent is beaten by another one."
    if len(top) == len(agents):
        return "No agent is shown to be better than another."
    several = ", ".join(top)
    return f"No agent is shown to beat {several}." if len(top) > 1 else f"No agent beats {several}."


def cycle_sentences(agents: Sequence[str], found: Sequence[PairResult]) -> list[str]:
    """Name cycles among shown results, else among the means as what may be one."""
    shown = cycles(beats(agents, found))
    if shown:
        return [f"A cycle: {_chain(c)}. One number per agent cannot express it." for c in shown]
    means: dict[str, list[str]] = {name: [] for name in agents}
    for r in found:
        if r.margin.point:
            first, second = (r.first, r.second)[:: 1 if r.margin.point > 0 else -1]
            means[first].append(second)
    return [f"Perhaps a cycle, not shown: {_chain(c)} on average." for c in cycles(means)]


def _chain(cycle: Sequence[str]) -> str:
    return ", ".join(f"{a} beats {b}" for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def rating_sentence(elo: Mapping[str, Any], only_points: bool) -> str:
    ordered = sorted(elo["agents"].items(), key=lambda item: (-item[1]["rating"], item[0]))
    listed = ", ".join(
        f"{name} {r['rating']:.0f} [{r['interval'][0]:.0f}, {r['interval'][1]:.0f}]"
        for name, r in ordered
    )
    said = [
        f"Bradley-Terry ratings: {listed}; they miss the results by "
        f"{100 * elo['residual']:.1f} points of 100 on average."
    ]
    if not only_points:
        said.append("They count episodes won, whatever was at stake.")
    if elo["apart"]:
        parts = "; ".join(", ".join(part) for part in elo["apart"])
        said.append(
            f"Without a chain of wins both ways between ({parts}) their distance is set by the "
            f"smoothing of {elo['smoothing']:g} wins."
        )
    return " ".join(said)


def share_sentence(limit: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the shares of alpha-Rank in the limit, the largest first."""
    ordered = sorted(limit.items(), key=lambda item: (-item[1]["share"], item[0]))
    listed = ", ".join(f"{name} {own['share']:.3f}" for name, own in ordered)
    return f"alpha-Rank for infinite alpha: {listed}."


def partner_sentence(alone: float, together: float) -> str:
    """Compare play with oneself and with others."""
    return f"With itself an agent earns {alone:.3f} on average, with others {together:.3f}."


def saved_sentence(found: Mapping[str, Any]) -> str:
    return (
        f"Adaptive: {found['episodes']} episodes instead of {found['uniform']}; "
        f"{found['resolved']} of {found['questions']} directions are known, all of them right with "
        f"{100 * (1 - found['delta']):g} % confidence. A pair stops when its direction is known, "
        "so the other intervals are less sure than they say."
    )
