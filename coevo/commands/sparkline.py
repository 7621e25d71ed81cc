"""Curves in one line of text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coevo.commands.screen import share

LEVELS = "▁▂▃▄▅▆▇█"
PLAIN_LEVELS = "_.-=+*#@"
"""For terminals that show nothing but ASCII."""
MEASURED = (
    "exploitability",
    "return_vs_oracle",
    "return_vs_random",
    "return_self_play",
    "accuracy_self_play",
)
"""What probes measure."""
DISTANCES = ("kl", "adaptive_kl", "kl_convex", "kl_cov", "magnet")
"""Names of distances between policies."""


def sparkline(values: Sequence[float], width: int, levels: str = LEVELS) -> str:
    """Draw values from their lowest to their highest; more than `width` are averaged in groups.

    Values that are no numbers are left out; values that do not differ are drawn low.

    >>> sparkline([0, 1, 2, 3], 8), sparkline([1, 1, 3, 3], 2), sparkline([5, 5], 4)
    ('▁▃▆█', '▁█', '▁▁')
    """
    points = grouped([v for v in values if math.isfinite(v)], width)
    if not points:
        return ""
    low, span = min(points), max(points) - min(points)
    scale = (len(levels) - 1) / span if span > 0 else 0.0
    return "".join(levels[round((v - low) * scale)] for v in points)


def grouped(values: Sequence[float], width: int) -> list[float]:
    """Average neighbours so that at most `width` values are left.

    >>> grouped([1.0, 3.0, 5.0], 2)
    [1.0, 4.0]
    """
    count = min(len(values), max(width, 1))
    edges = [len(values) * k // count for k in range(count + 1)] if count else []
    parts = [values[a:b] for a, b in itertools.pairwise(edges)]
    return [sum(part) / len(part) for part in parts]


def curves(lines: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Choose the metrics that are drawn, in their order, and collect their values.

    >>> lines = [{"return/a": 1.0, "lr": 0.1}, {"return/a": 2.0, "forfeit_rate": 0.5}]
    >>> curves(lines)
    {'return/a': [1.0, 2.0], 'forfeit_rate': [0.5]}
    """
    found: dict[str, list[float]] = {}
    for line in lines:
        for name, value in line.items():
            if isinstance(value, int | float) and math.isfinite(value):
                found.setdefault(name, []).append(float(value))
    last = {name: name.rpartition("/")[2] for name in found}
    chosen = [n for n in found if n.startswith("return/")]
    chosen += [n for n in found if n in MEASURED]
    chosen += [n for n in found if last[n] == "entropy"]
    distances = [n for n in found if last[n] in DISTANCES]
    chosen += distances or [n for n in found if last[n] == "approx_kl"]
    chosen += [n for n in ("forfeit_rate", "tokens_per_second") if n in found]
    return {name: found[name] for name in chosen}


def number(name: str, value: float) -> str:
    """Write a metric the way its name asks for.

    >>> number("forfeit_rate", 0.5), number("tokens_per_second", 1234.5), number("entropy", 0.1)
    ('50.0 %', '1,234', '0.100')
    """
    if "rate" in name:
        return share(value)
    return f"{value:,.0f}" if name == "tokens_per_second" else f"{value:.3f}"
