"""Cycles: A beats B, B beats C, C beats A. No single number per agent can show them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import networkx as nx

Beats = Mapping[str, Collection[str]]
"""Agent -> those it beats."""


def groups(beats: Beats) -> list[list[str]]:
    """Return the largest sets in which a chain of wins leads from every agent to every other.

    Sorted by name inside; agents that are in no cycle are groups of one.
    """
    return sorted(map(sorted, nx.strongly_connected_components(nx.DiGraph(beats))))


def cycles(beats: Beats) -> list[list[str]]:
    """Return a shortest cycle of every group of three or more, in the order of winning.

    Of several, the first by name.
    """
    return [_shortest(nx.DiGraph(beats).subgraph(g)) for g in groups(beats) if len(g) > 2]


def _shortest(graph: nx.DiGraph) -> list[str]:
    paths = (p for a, b in graph.edges for p in nx.all_shortest_paths(graph, b, a))
    return min(([p[-1], *p[:-1]] for p in paths), key=lambda cycle: (len(cycle), cycle))
