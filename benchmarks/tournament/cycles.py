"""Circles: A beats B, B beats C, C beats A. No single number per agent can tell them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

Beats = Mapping[str, Collection[str]]
"""Agent -> those it beats."""


def groups(beats: Beats) -> list[list[str]]:
    """Return the largest sets in which a chain of wins margins from everybody to everybody.

    Sorted by name inside; agents that are in no cycle are groups of one.

    >>> groups({"r": ["s", "x"], "s": ["p"], "p": ["r"], "x": []})
    [['p', 'r', 's'], ['x']]
    """
    reach = {name: set(_paths(beats, name)) for name in beats}
    found: list[list[str]] = []
    for name in sorted(beats):
        if not any(name in group for group in found):
            found.append([n for n in sorted(beats) if n in reach[name] and name in reach[n]])
    return found


def cycles(beats: Beats) -> list[list[str]]:
    """Return a shortest cycle of every group of three or more, in the order of winning.

    >>> cycles({"r": ["s"], "s": ["p"], "p": ["r"], "x": ["r", "s", "p"]})
    [['p', 'r', 's']]
    """
    return [
        _shortest({n: [m for m in beats[n] if m in g] for n in g})
        for g in groups(beats)
        if len(g) > 2
    ]


def _shortest(beats: Beats) -> list[str]:
    """Return the shortest way from an agent back to itself, the first by length and name."""
    found = []
    for start in sorted(beats):
        paths = [_paths(beats, after).get(start) for after in sorted(beats[start])]
        found += [[start, *path[:-1]] for path in paths if path]
    return min(found, key=lambda path: (len(path), path))


def _paths(beats: Beats, start: str) -> dict[str, list[str]]:
    """Return a shortest chain of wins from an agent to everybody it reaches, both ends included."""
    paths, waiting = {start: [start]}, deque([start])
    while waiting:
        name = waiting.popleft()
        for other in sorted(beats[name]):
            if other not in paths:
                paths[other] = [*paths[name], other]
                waiting.append(other)
    return paths
