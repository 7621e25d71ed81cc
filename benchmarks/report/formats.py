"""Numbers as the page writes them; a missing one is a dash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isclose
from typing import Any

MINUS = "\N{MINUS SIGN}"


def number(value: object, digits: int = 3) -> str:
    """Write a number; whole numbers have no digits after the point."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{round(value, digits) + 0.0:,.{digits}f}"
    return text.replace("-", MINUS)


def whole(value: float | None) -> str:
    return "–" if value is None else f"{round(value):,}"


def interval(bounds: object, digits: int = 3) -> str:
    if not isinstance(bounds, list | tuple) or len(bounds) != 2 or None in bounds:
        return "–"
    return f"[{number(bounds[0], digits)}, {number(bounds[1], digits)}]"


def estimate(value: Any, digits: int = 3) -> str:
    """Write [low, estimate, high], [low, high] or a bare number."""
    if isinstance(value, list) and len(value) == 2:
        return interval(value, digits)
    if isinstance(value, list) and len(value) == 3:
        return with_interval(value[1], [value[0], value[2]], digits)
    return number(value, digits)


def with_interval(value: object, bounds: object, digits: int = 3) -> str:
    inner = interval(bounds, digits)
    return number(value, digits) + ("" if inner == "–" else f" {inner}")


def plus_minus(value: object, bounds: object, digits: int = 3) -> str:
    """Write a value with half of its interval, or with both ends where it is not in the middle.

    >>> plus_minus(0.5, [0.25, 0.75]), plus_minus(0.5, [0.25, 0.5]), plus_minus(0.5, None)
    ('0.500 ± 0.250', '0.500 [0.250, 0.500]', '0.500')
    """
    if isinstance(bounds, list | tuple) and len(bounds) == 2 and None not in bounds:
        low, high = bounds
        if isinstance(value, float) and isclose(value - low, high - value, abs_tol=1e-9):
            return f"{number(value, digits)} ± {number((high - low) / 2, digits)}"
    return with_interval(value, bounds, digits)


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def counts(found: Mapping[str, int]) -> str:
    """Write how many there are of each kind.

    >>> counts({"server": 3, "request": 1}), counts({})
    ('server 3, request 1', '–')
    """
    return ", ".join(f"{kind} {number}" for kind, number in found.items()) or "–"


def probability(value: float | None) -> str:
    """Write the p-value of a test."""
    return "<0.001" if value is not None and value < 0.001 else number(value)


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def listed(names: Sequence[str]) -> str:
    """Put names into a title."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def tile(
    text: str, value: float | None, centre: float, reach: float, small: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a cell of a table whose colour says how far its value is from the centre.

    Above the centre it is the first colour, below the second; it is full at a distance of `reach`,
    and there is none without a value or a reach. `small` are lines under the text.
    """
    tint = None if value is None or not reach else (value - centre) / reach
    clipped = None if tint is None else max(-1.0, min(1.0, tint))
    return {"text": text, "tint": clipped, "small": [line for line in small if line]}


FILTERS: dict[str, Callable[..., str]] = {
    f.__name__: f
    for f in (number, whole, interval, estimate, with_interval, percent, probability, duration)
}
"""Name in the templates -> function."""
