"""Arguments of reward modules, checked: numbers that are numbers, words that are known."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

from coevo.envs.core.errors import ConfigError

Names = str | Sequence[str]
"""A list of names; in one text, as records and the command line have them, joined by `+`."""


def check_number(name: str, value: Any, low: float = -inf, high: float = inf) -> float:
    """Give a finite number from low to high; raise ConfigError for anything else.

    >>> check_number("cost", 0.5, 0.0)
    0.5
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = inf
    if isinstance(value, str) or not isfinite(number) or not low <= number <= high:
        limits = "" if (low, high) == (-inf, inf) else f" from {low:g} to {high:g}"
        raise ConfigError(f"{name}={value!r} must be a finite number{limits}")
    return number


def check_whole(name: str, value: Any, low: int, high: int = sys.maxsize) -> int:
    """Give a whole number from low to high; raise ConfigError for anything else.

    >>> check_whole("least", 2, 1, 10)
    2
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        to = "" if high == sys.maxsize else f" to {high}"
        raise ConfigError(f"{name}={value!r} must be a whole number from {low}{to}")
    return value


def check_word(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise ConfigError unless the value is one of the known words."""
    if value not in known:
        raise ConfigError(f"{name}={value!r} must be one of {', '.join(known)}")


def names_of(name: str, value: Any) -> tuple[str, ...]:
    """Read a list of names; one text may hold several, joined by `+`.

    >>> names_of("roles", "solver+router"), names_of("roles", ["solver"]), names_of("roles", ())
    (('solver', 'router'), ('solver',), ())
    """
    parts = value.split("+") if isinstance(value, str) and value else value
    if not isinstance(parts, Sequence) or not all(isinstance(p, str) for p in parts):
        raise ConfigError(f"{name}={value!r} must be names: a list, or a text such as 'a+b'")
    return tuple(part.strip() for part in parts)
