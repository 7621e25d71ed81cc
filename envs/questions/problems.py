"""Problems whose solutions are verified exactly, outside of the program that gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""By which circles may overlap or leave the square."""
SORTERS = (0, 0, 1, 3, 5, 9, 12, 16, 19, 25, 29)
"""Fewest comparators that sort so many wires (Codish et al. 2014, arXiv 1405.5754)."""
RULERS = (0, 0, 1, 3, 6, 11, 17, 25, 34, 44, 55, 72, 85)
"""Least length of a Golomb ruler with so many marks (OEIS A003022)."""
GAINS = {"conv": 0.5, "down": 0.4, "sep": 0.35, "point": 0.2}
"""Kind of a layer -> what a wide one adds to a network. They are 3 x 3, 3 x 3 with stride 2, 3 x 3
channel by channel and then 1 x 1, and 1 x 1."""
WIDEST, SIDE, COLOURS, CLASSES = 256, 32, 3, 10
"""Channels of a layer at most; pixels of a side, colours and classes of the pictures."""


@dataclass(frozen=True)
class Verified:
    """What a solution is worth."""

    worth: float = 0.0
    """From 0 to 1, relative to the best there is, or to a bound; 0 for no solution."""
    figure: float | None = None
    """Its size, as the problem measures it; None for no solution."""
    why: str = ""
    """Why it is no solution."""
    thrift: float | None = None
    """From 0 to 1, how little it costs, where a problem asks for that as well."""


@dataclass(frozen=True)
class Problem:
    """A family of problems, one for each size."""

    sizes: tuple[int, int]
    """Smallest and largest size."""
    statement: str
    """What `solve()` returns; `%d` stands for the size."""
    verify: Callable[[Any, int], Verified]
    """Judges what was returned, which may be any plain value."""
    start: str
    """A program that gives a poor solution of size `%d`."""
    expert: str
    """A program that gives a good one; long rulers are greedy (Mian and Chowla 1944)."""
    vary: Callable[[np.random.Generator, int, Sequence[Any]], Any] | None = None
    """Draws a solution of a size: a new one, a change of one that is given, or a mix of two; None
    where a random change moves one number of the program."""


def circles(value: Any, count: int) -> Verified:
    """Judge circles (x, y, radius) in the unit square by the sum of their radii.

    Their areas are disjoint, so that the sum is at most sqrt(n / pi), by Cauchy and Schwarz.

    >>> circles([[0.5, 0.5, 0.5]], 1).figure, circles([[0.5, 0.5, 0.6]], 1).why
    (0.5, 'circle 0 leaves the square')
    """
    rows = _rows(value, 3, (int, float))
    if rows is None or len(rows) != count:
        return Verified(why=f"not a list of {count} circles [x, y, radius]")
    for i, (x, y, r) in enumerate(rows):
        if not all(map(math.isfinite, (x, y, r))) or r < 0:
            return Verified(why=f"circle {i} has no size")
        if min(x, y, 1 - x, 1 - y) < r - TOLERANCE:
            return Verified(why=f"circle {i} leaves the square")
    for (i, a), (j, b) in combinations(enumerate(rows), 2):
        if math.hypot(a[0] - b[0], a[1] - b[1]) < a[2] + b[2] - TOLERANCE:
            return Verified(why=f"circles {i} and {j} overlap")
    total = math.fsum(r for _, _, r in rows)
    return Verified(min(1.0, total / math.sqrt(count / math.pi)), total)


def sorter(value: Any, wires: int) -> Verified:
    """Judge comparators [i, j], i < j, by whether they sort, and how few they are.

    They sort everything if they sort all zeros and ones (Knuth, volume 3, section 5.3.4).

    >>> sorter([[0, 1]], 2).worth, sorter([], 2).why
    (1.0, 'it does not sort 1 0')
    """
    rows = _rows(value, 2, (int,))
    if rows is None or not all(0 <= i < j < wires for i, j in rows) or len(rows) > wires**2:
        return Verified(why=f"not a list of at most {wires**2} pairs [i, j], 0 <= i < j < {wires}")
    for word in range(2**wires):
        bits = [word >> k & 1 for k in range(wires)]
        for i, j in rows:
            bits[i], bits[j] = min(bits[i], bits[j]), max(bits[i], bits[j])
        if bits != sorted(bits):
            given = " ".join(str(word >> k & 1) for k in range(wires))
            return Verified(why=f"it does not sort {given}")
    return Verified(SORTERS[wires] / max(1, len(rows)), float(len(rows)))


def ruler(value: Any, marks: int) -> Verified:
    """Judge marks between which no distance occurs twice, by the length of the ruler.

    >>> ruler([0, 1, 3], 3).worth, ruler([0, 1, 2], 3).why
    (1.0, 'the distance 1 occurs twice')
    """
    if type(value) not in (list, tuple) or len(value) != marks:
        return Verified(why=f"not a list of {marks} whole numbers")
    if any(type(x) is not int or abs(x) > 10**9 for x in value):
        return Verified(why=f"not a list of {marks} whole numbers up to a billion")
    seen = set[int]()
    for a, b in combinations(sorted(value), 2):
        if b - a in seen or a == b:
            return Verified(
                why=f"the distance {b - a} occurs twice" if b > a else "a mark is twice"
            )
        seen.add(b - a)
    length = max(value) - min(value)
    return Verified(RULERS[marks] / length, float(length))


def layers(value: Any, most: int) -> Verified:
    """Judge layers [kind, width] of a picture network by a formula of its accuracy.

    accuracy = 1 - 0.9 exp(-seen detail power): `power` is the sum of the gains of the layers, each
    times log2(1 + the narrower of its ends) / 8; `seen` is the share of the side that one unit of
    the last layer sees, and `detail` falls where its map has less than 4 units a side. The figure
    is the number of parameters without biases; thrift is 1 for one, 0 for the most there can be.

    >>> layers([["conv", 8]], 3).figure
    296.0
    >>> layers([["conv", 8]], 3).worth < layers([["down", 8], ["conv", 8]], 3).worth
    True
    """
    rows = value if type(value) in (list, tuple) else ()
    if not (0 < len(rows) <= most and all(map(_is_layer, rows))):
        kinds = ", ".join(GAINS)
        return Verified(why=f"not 1 to {most} layers [kind, width]: {kinds}; 1 to {WIDEST}")
    channels, jump, sees, power, count = COLOURS, 1, 1, 0.0, 0
    for kind, width in rows:
        count += _parameters(kind, channels, width)
        sees += 2 * jump * (kind != "point")
        jump *= 1 + (kind == "down")
        power += GAINS[kind] * math.log2(1 + min(channels, width)) / 8
        channels = width
    count += channels * CLASSES
    clear = min(1.0, sees / SIDE) * min(1.0, SIDE / (4 * jump))
    largest = 9 * (COLOURS + (most - 1) * WIDEST) * WIDEST + WIDEST * CLASSES
    thrift = 1 - math.log(count) / math.log(largest)
    return Verified(1 - 0.9 * math.exp(-clear * power), float(count), thrift=thrift)


def _is_layer(row: Any) -> bool:
    if type(row) not in (list, tuple) or len(row) != 2:
        return False
    kind, width = row
    return type(kind) is str and kind in GAINS and type(width) is int and 1 <= width <= WIDEST


def _parameters(kind: str, channels: int, width: int) -> int:
    if kind == "sep":
        return 9 * channels + channels * width
    return (1 if kind == "point" else 9) * channels * width


def vary_layers(rng: np.random.Generator, most: int, like: Sequence[Any]) -> Any:
    """Draw a network; or change a layer of the one given; or join two, each cut at random.

    A change adds a layer, removes one, or draws the kind or the width of one anew.
    """
    if not like:
        return [_layer(rng) for _ in range(int(rng.integers(1, most + 1)))]
    first = [list(row) for row in like[0]]
    if len(like) > 1:
        second = [list(row) for row in like[-1]]
        joined = first[: int(rng.integers(len(first) + 1))]
        return (joined + second[int(rng.integers(len(second))) :])[:most]
    at, new = int(rng.integers(len(first))), _layer(rng)
    ways = ["kind", "width", *["add"] * (len(first) < most), *["remove"] * (len(first) > 1)]
    way = str(rng.choice(ways))
    if way == "add":
        return [*first[:at], new, *first[at:]]
    if way == "remove":
        return first[:at] + first[at + 1 :]
    first[at][way == "width"] = new[way == "width"]
    return first


def _layer(rng: np.random.Generator) -> list[Any]:
    """Draw a kind, and a width evenly on a logarithmic scale."""
    return [str(rng.choice(list(GAINS))), round(2 ** rng.uniform(0, math.log2(WIDEST)))]


def _rows(value: Any, width: int, kinds: tuple[type, ...]) -> list[Any] | None:
    """Return a list of rows of so many numbers; None for anything else."""
    if type(value) not in (list, tuple):
        return None
    for row in value:
        if type(row) not in (list, tuple) or len(row) != width:
            return None
        if any(type(x) not in kinds or abs(x) > 10**9 for x in row):
            return None
    return list(value)


PROBLEMS: dict[str, Problem] = {
    "circles": Problem(
        (1, 26),
        "solve() returns %d circles [x, y, radius] inside the unit square, which may touch and "
        "must not overlap. The larger the sum of the radii, the better.",
        circles,
        "N = %d\n\ndef solve():\n    r = 0.3 / N\n"
        "    return [[(i + 0.5) / N, 0.5, r] for i in range(N)]",
        "N = %d\n\ndef solve():\n    k = 1\n    while k * k < N:\n        k = k + 1\n"
        "    r = 0.5 / k\n"
        "    return [[r * (2 * (i %% k) + 1), r * (2 * (i // k) + 1), r] for i in range(N)]",
    ),
    "sorting": Problem(
        (2, 10),
        "solve() returns comparators [i, j], i < j, of a sorting network of %d wires: each puts "
        "the smaller value on wire i. The fewer comparators, the better.",
        sorter,
        "N = %d\n\ndef solve():\n    return [[i, i + 1] for _ in range(N) for i in range(N - 1)]",
        "N = %d\n\ndef solve():\n    found = []\n    p = 1\n    while p < N:\n        k = p\n"
        "        while k >= 1:\n            for j in range(k %% p, N - k, 2 * k):\n"
        "                for i in range(min(k, N - j - k)):\n"
        "                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):\n"
        "                        found.append([i + j, i + j + k])\n            k = k // 2\n"
        "        p = 2 * p\n    return found",
    ),
    "golomb": Problem(
        (2, 12),
        "solve() returns %d whole numbers, the marks of a ruler on which no distance between two "
        "marks occurs twice. The shorter the ruler, the better.",
        ruler,
        "N = %d\n\ndef solve():\n    return [2 ** i - 1 for i in range(N)]",
        "N = %d\n\ndef extend(marks, left, limit):\n    if left == 0:\n        return marks\n"
        "    known = [b - a for a in marks for b in marks if b > a]\n"
        "    for x in range(marks[-1] + 1, limit + 1):\n        new = [x - a for a in marks]\n"
        "        if not any(d in known for d in new):\n"
        "            found = extend(marks + [x], left - 1, limit)\n            if found:\n"
        "                return found\n    return None\n\ndef solve():\n    limit = N - 1\n"
        "    while True:\n        found = extend([0], N - 1, limit)\n        if found:\n"
        "            return found\n        limit = limit + 1\n\n"
        "if N > 7:\n\n    def solve():\n        marks = [0]\n        known = []\n        x = 0\n"
        "        while len(marks) < N:\n            x = x + 1\n"
        "            new = [x - a for a in marks]\n"
        "            if not any(d in known for d in new):\n                marks.append(x)\n"
        "                known = known + new\n        return marks",
    ),
    "layers": Problem(
        (1, 12),
        "solve() returns at most %d layers [kind, width] of a network for pictures of 32 x 32 "
        "pixels, three colours and ten classes, kind 'conv' (3 x 3), 'down' (3 x 3, stride 2), "
        "'sep' (3 x 3 channel by channel, then 1 x 1) or 'point' (1 x 1), width 1 to 256 channels. "
        "Accuracy, which grows with layers and with their narrower ends, needs a last layer that "
        "sees the whole picture, in a map of 4 x 4 at least; few parameters are good as well.",
        layers,
        "N = %d\n\ndef solve():\n    return [['conv', 8]]",
        "N = %d\n\ndef solve():\n    small = min(3, N - 1)\n"
        "    return [['down', 256]] * small + [['conv', 256]] * (N - small)",
        vary_layers,
    ),
}
"""Name -> problem."""
