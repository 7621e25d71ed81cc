"""Pairs of algorithms: how likely one beats the other, and the verdict in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coevo.benchmarks.report.markup import Html, interval, joined, number, table, tag
from coevo.benchmarks.report.tables_part import ranked


def improvement_table(part: Mapping[str, Any], where: str) -> Html:
    """Write how likely a run of the row beats one of the column, and what is separated."""
    found = part.get("comparisons") or []
    names = [name for name, _ in ranked(part)]
    if not found or len(names) < 2:
        return Html("")
    cells = {}
    for pair in found:
        chance, better = pair.get("improvement"), pair["difference"] > 0
        bounds = pair.get("improvement_interval") or [None, None]
        cells[pair["a"], pair["b"]] = _chance(chance, bounds, pair, better)
        turned = [None if b is None else 1 - b for b in bounds[::-1]]
        back = None if chance is None else 1 - chance
        cells[pair["b"], pair["a"]] = _chance(back, turned, pair, not better)
    rows = [[a, *(cells.get((a, b), tag("td", "·")) for b in names)] for a in names]
    caption = (
        f"Probability that a run of the row beats a run of the column, {where}. ▲ and ▼: the mean "
        "score is higher or lower by the corrected test; all others, pale, are not separated"
    )
    return tag("div", table(caption, ["", *names], rows), class_="matrix")


def _chance(
    chance: float | None, bounds: Sequence[float | None], pair: Mapping[str, Any], better: bool
) -> Html:
    separated = bool(pair.get("separated"))
    mark = (" ▲" if better else " ▼") if separated else ""
    small = (
        tag("small", interval(list(bounds), 2)),
        tag("small", f"n = {pair.get('n', '?')}"),
    )
    # Where nothing is shown, the colour must not look as if something were.
    reach = 0.5 if separated else 1.5
    return heat_cell(chance, 0.5, reach, joined(number(chance, 2), mark, *small))


def heat_cell(value: float | None, centre: float, reach: float, inside: object) -> Html:
    """Write a cell whose colour says how far it is above or below the centre."""
    if value is None:
        return tag("td", inside)
    share = min(abs(value - centre) / reach, 1.0) if reach else 0.0
    hue = "--series-0" if value > centre else "--series-1"
    return tag("td", inside, class_="heat", style=f"--hue: var({hue}); --share: {share:.3f}")


def pair_table(part: Mapping[str, Any], only: str | None, where: str) -> Html:
    """Write pairs with the verdict in words, the effect and its interval.

    Args:
        part: of `comparison.json`.
        only: an algorithm that has to be in the pair; None writes all.
        where: for the caption.
    """
    found = [p for p in part.get("comparisons") or [] if only in (None, p["a"], p["b"])]
    columns = ("Verdict", "Difference", "95 % interval", "n", "p (Holm)", "P(improvement)")
    rows = []
    for pair in map(as_said, found):
        chance = number(pair.get("improvement"), 2)
        rows.append(
            [
                pair.get("verdict") or f"{pair['a']} – {pair['b']}",
                number(pair.get("difference")),
                interval(pair.get("interval")),
                pair.get("n", _count(part, pair)),
                _p(pair.get("p_adjusted")),
                f"{chance} {interval(pair.get('improvement_interval'), 2)}",
            ]
        )
    if not rows:
        return Html("")
    who = f"{only} against the others" if only else "Every pair"
    what = "differences of normalised scores paired by seed, the first named minus the second"
    return tag("div", table(f"{who}, {where}; {what}", columns, rows), class_="pairs")


def as_said(pair: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn a separated pair round so that the better one, which its verdict names first, is first.

    >>> pair = {"a": "x", "b": "y", "difference": -1, "interval": [-2, None], "separated": True}
    >>> turned = as_said(pair | {"improvement": 0.25})
    >>> turned["a"], turned["difference"], turned["interval"], turned["improvement"]
    ('y', 1, [None, 2], 0.75)
    """
    if not pair.get("separated") or (pair.get("difference") or 0) >= 0:
        return pair

    def flipped(bounds: Any, whole: float) -> Any:
        return bounds and [None if b is None else whole - b for b in bounds[::-1]]

    chance = pair.get("improvement")
    return {
        **pair,
        "a": pair["b"],
        "b": pair["a"],
        "difference": -pair["difference"],
        "interval": flipped(pair.get("interval"), 0),
        "improvement": None if chance is None else 1 - chance,
        "improvement_interval": flipped(pair.get("improvement_interval"), 1),
    }


def _count(part: Mapping[str, Any], pair: Mapping[str, Any]) -> object:
    return ((part.get("algorithms") or {}).get(pair["a"]) or {}).get("n")


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
