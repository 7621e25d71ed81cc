"""Arguments of repeated dilemmas, read as Python values or as the command line gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coevo.envs.core.errors import ConfigError


def listed(name: str, given: object) -> list[str]:
    """Read a list option: a sequence, or text with commas as the command line gives it.

    >>> listed("claims", "0, 5,10"), listed("labels", ["A", "B"])
    (['0', '5', '10'], ['A', 'B'])
    """
    if isinstance(given, str):
        given = given.strip("[]() ").split(",")
    if not isinstance(given, Sequence):
        raise ConfigError(f"{name}={given!r} must be a list, for example [0, 5, 10]")
    return [str(entry).strip().strip("'\"") for entry in given]


def rising(name: str, given: Sequence[int] | str | None, most: int) -> list[str]:
    """Read rising whole numbers from 0 to `most`; None gives all of them.

    >>> rising("claims", "0,5,10", 10), rising("claims", None, 2)
    (['0', '5', '10'], ['0', '1', '2'])
    """
    if given is None:
        return [str(c) for c in range(most + 1)]
    try:
        numbers = [int(c) for c in listed(name, given)]
    except ValueError:
        numbers = []
    fit = len(numbers) > 1 and numbers[0] >= 0 and numbers[-1] <= most
    if not fit or numbers != sorted(set(numbers)):
        raise ConfigError(
            f"{name}={given!r} must be two or more rising whole numbers from 0 to {most}"
        )
    return [str(c) for c in numbers]


def hand_values(given: Sequence[float] | str) -> tuple[float, float]:
    """Read what a coin is worth to the upper and to the lower hand.

    >>> hand_values("10,1")
    (10.0, 1.0)
    """
    try:
        high, low = (float(v) for v in listed("values", given))
        if not (np.isfinite(high) and high >= low >= 0 < high):
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"values={given!r} must be two numbers, upper hand first, such as [10, 1]"
        ) from None
    return high, low


def flag(name: str, given: object) -> bool:
    """Check a yes-or-no option."""
    if not isinstance(given, bool):
        raise ConfigError(f"{name}={given!r} must be true or false")
    return given
