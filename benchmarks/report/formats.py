"""Numbers as the page writes them; a missing one is a dash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MINUS = "\N{MINUS SIGN}"


def number(value: object, digits: int = 3) -> str:
    """Write a number; whole numbers have no digits after the point.

    >>> number(0.12345), number(-2.0), number(-0.0001), number(None), number(123456)
    ('0.123', '−2.000', '0.000', '–', '123,456')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{round(value, digits) + 0.0:,.{digits}f}"
    return text.replace("-", MINUS)


def whole(value: float | None) -> str:
    """Write a number without digits after its point.

    >>> whole(1234.5)
    '1,234'
    """
    return "–" if value is None else f"{round(value):,}"


def interval(bounds: object, digits: int = 3) -> str:
    """Write an interval.

    >>> interval([0.1, 0.25]), interval([None, None]), interval(None)
    ('[0.100, 0.250]', '–', '–')
    """
    if not isinstance(bounds, list | tuple) or len(bounds) != 2 or None in bounds:
        return "–"
    return f"[{number(bounds[0], digits)}, {number(bounds[1], digits)}]"


def estimate(value: Any, digits: int = 3) -> str:
    """Write [low, estimate, high], [low, high] or a bare number.

    >>> estimate([0.1, 0.2, 0.4], 1), estimate([0.1, 0.4], 1), estimate(None)
    ('0.2 [0.1, 0.4]', '[0.1, 0.4]', '–')
    """
    if isinstance(value, list) and len(value) == 2:
        return interval(value, digits)
    if isinstance(value, list) and len(value) == 3:
        return with_interval(value[1], [value[0], value[2]], digits)
    return number(value, digits)


def with_interval(value: object, bounds: object, digits: int = 3) -> str:
    """Write a number and, where it has one, its interval.

    >>> with_interval(0.2, [0.1, 0.4], 1), with_interval(0.2, None, 1)
    ('0.2 [0.1, 0.4]', '0.2')
    """
    inner = interval(bounds, digits)
    return number(value, digits) + ("" if inner == "–" else f" {inner}")


def percent(value: float | None) -> str:
    """Write a share.

    >>> percent(0.125), percent(None)
    ('12.5 %', '–')
    """
    return "–" if value is None else f"{100 * value:.1f} %"


def probability(value: float | None) -> str:
    """Write the p-value of a test.

    >>> probability(0.0002), probability(0.05)
    ('<0.001', '0.050')
    """
    return "<0.001" if value is not None and value < 0.001 else number(value)


def duration(seconds: float | None) -> str:
    """Write a time.

    >>> duration(42.4), duration(1805), duration(7300), duration(None)
    ('42 s', '30 min', '2 h 2 min', '–')
    """
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def listed(names: Sequence[str]) -> str:
    """Put names into a title.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def tile(
    text: str, value: float | None, centre: float, reach: float, small: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a cell of a table whose colour says how far its value is from the centre.

    Above the centre it is the first colour, below the second; it is full at a distance of `reach`,
    and there is none without a value or a reach. `small` are lines under the text.

    >>> tile("0.75", 0.75, 0.5, 0.5, ["n = 3", ""])
    {'text': '0.75', 'tint': 0.5, 'small': ['n = 3']}
    """
    tint = None if value is None or not reach else (value - centre) / reach
    clipped = None if tint is None else max(-1.0, min(1.0, tint))
    return {"text": text, "tint": clipped, "small": [line for line in small if line]}


FILTERS: dict[str, Callable[..., str]] = {
    f.__name__: f
    for f in (number, whole, interval, estimate, with_interval, percent, probability, duration)
}
"""Name in the templates -> function."""
