"""Selectors: which artifacts are kept, by weight, cell, novelty, front or island."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact


class Selector:
    """Base of what decides which artifacts are kept; subclasses are components with a name."""

    name: str

    @property
    def described(self) -> bool:
        """Whether it compares descriptors."""
        return False

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        """Return those that are kept, the best first.

        Args:
            artifacts: to choose from, oldest first.
            past: artifacts that were kept once, with their descriptors.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract


@config
class Truncation(Selector):
    """Keeps those of the highest weights; of equal ones the younger."""

    name: Literal["truncation"] = "truncation"
    keep: Annotated[int, whole(1)] = 4
    """How many."""

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        """Return those that are kept, the best first.

        >>> one, two = (Artifact(str(i), "program", "", weight=i) for i in range(2))
        >>> [a.id for a in Truncation(keep=1)([one, two])]
        ['1']
        """
        return _best(artifacts, [a.weight for a in artifacts])[: self.keep]


@config
class Grid(Selector):
    """Keeps the best of every cell of a grid over descriptors (Mouret and Clune 2015).

    MAP-Elites (arXiv 1504.04909). A newcomer takes a cell only if it is strictly better than the
    owner: the weight of a cell never falls, and no cell that is taken becomes empty.
    """

    name: Literal["grid"] = "grid"
    edges: tuple[Annotated[tuple[Annotated[float, real()], ...], Field(min_length=1)], ...]
    """Inner edges of the bins, rising, axis by axis; the outer bins have no end."""

    @property
    def described(self) -> bool:
        return True

    def __post_init__(self) -> None:
        for axis in self.edges:
            if list(axis) != sorted(set(axis)):
                raise ConfigError(f"grid.edges={axis}: the edges of an axis must rise")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(len(axis) + 1 for axis in self.edges)

    def cell(self, descriptor: Sequence[float]) -> tuple[int, ...]:
        """Return the bin on every axis.

        >>> Grid(edges=((1, 10), (0,))).cell([10, -3])
        (2, 0)
        """
        if len(descriptor) != len(self.edges):
            raise ConfigError(
                f"grid: a descriptor of {len(descriptor)} numbers, but {len(self.edges)} axes in "
                "edges; name as many outcomes in `descriptor` as the grid has axes"
            )
        return tuple(bisect_right(e, x) for e, x in zip(self.edges, descriptor, strict=True))

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        owners: dict[tuple[int, ...], Artifact] = {}
        for one in artifacts:
            cell = self.cell(one.descriptor)
            if cell not in owners or one.weight > owners[cell].weight:
                owners[cell] = one
        return sorted(owners.values(), key=lambda a: -a.weight)


def even(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Return the inner edges of bins of equal width.

    >>> even(0, 1, 4)
    (0.25, 0.5, 0.75)
    """
    return tuple(low + (high - low) * k / bins for k in range(1, bins))


@config
class Novelty(Selector):
    """Keeps those that behave unlike others (Lehman and Stanley 2011).

    Novelty is the mean distance of a descriptor to the nearest others, among all candidates and
    all that were ever kept.
    """

    name: Literal["novelty"] = "novelty"
    keep: Annotated[int, whole(1)] = 20
    """How many."""
    nearest: Annotated[int, whole(1)] = 10
    """Neighbours that count."""
    share: Annotated[float, real(0, 1)] = 1.0
    """Share of the rank by novelty, beside the rank by weight: 0.5 takes the mean of the two."""
    components: Annotated[int, whole(0)] = 0
    """Principal components of all descriptors in which distances are measured, a behaviour space
    that is learnt (Cully 2019, arXiv 1905.11874); 0 takes the descriptors themselves."""

    @property
    def described(self) -> bool:
        return True

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        from scipy.stats import rankdata  # takes seconds to import, and few runs select by novelty

        known = {a.id for a in artifacts if a.id}
        others = [a for a in past if a.id not in known]
        place_ND = np.array([a.descriptor for a in [*artifacts, *others]], dtype=float)
        novelty_N = self.novelty(self._coded(place_ND), len(artifacts))
        weight_N = np.array([a.weight for a in artifacts])
        rank_N = self.share * rankdata(novelty_N) + (1 - self.share) * rankdata(weight_N)
        return _best(artifacts, rank_N)[: self.keep]

    def novelty(self, place_ND: np.ndarray, count: int) -> np.ndarray:
        """Return the mean distance of the first `count` places to their nearest others.

        >>> Novelty(nearest=1).novelty(np.array([[0.0], [1.0], [5.0]]), 3).tolist()
        [1.0, 1.0, 4.0]
        """
        from scipy.spatial.distance import cdist

        distance_CN = cdist(place_ND[:count], place_ND)
        distance_CN[np.arange(count), np.arange(count)] = np.inf
        near = min(self.nearest, len(place_ND) - 1)
        found: np.ndarray = np.sort(distance_CN, axis=1)[:, :near].mean(axis=1)
        return found if near else np.zeros(count)

    def _coded(self, place_ND: np.ndarray) -> np.ndarray:
        if not self.components:
            return place_ND
        centred_ND = place_ND - place_ND.mean(axis=0)
        axes_DD = np.linalg.svd(centred_ND, full_matrices=False)[2]
        coded: np.ndarray = centred_ND @ axes_DD[: self.components].T
        return coded


@config
class Pareto(Selector):
    """Keeps the fronts that nothing dominates, and of a front that is cut the least crowded.

    NSGA-II (Deb et al. 2002). All objectives are to be high.
    """

    name: Literal["pareto"] = "pareto"
    keep: Annotated[int, whole(1)] = 20
    """How many."""

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        value_NK = np.array([a.objectives for a in artifacts], dtype=float)
        left, kept = np.arange(len(artifacts)), list[int]()
        while len(left) and len(kept) < self.keep:
            front = left[undominated(value_NK[left])]
            order = np.argsort(-crowding(value_NK[front]), kind="stable")
            kept += front[order].tolist()
            left = np.setdiff1d(left, front)
        return [artifacts[i] for i in kept[: self.keep]]


def undominated(value_NK: np.ndarray) -> np.ndarray:
    """Return which rows no other row dominates: at least as high everywhere, and higher once.

    >>> undominated(np.array([[1, 0], [0, 1], [0, 0], [1, 0]])).tolist()
    [True, True, False, True]
    """
    least_NN = (value_NK[:, None] >= value_NK[None]).all(-1)
    more_NN = (value_NK[:, None] > value_NK[None]).any(-1)
    return np.logical_not(np.asarray(least_NN & more_NN).any(0))


def crowding(value_NK: np.ndarray) -> np.ndarray:
    """Return the crowding distance of every row of a front; the ends of an objective are infinite.

    >>> crowding(np.array([[0.0, 4.0], [1.0, 3.0], [4.0, 0.0]])).tolist()
    [inf, 2.0, inf]
    """
    distance_N = np.zeros(len(value_NK))
    for value_N in value_NK.T:
        order = np.argsort(value_N, kind="stable")
        low, high = value_N[order[0]], value_N[order[-1]]
        distance_N[order[[0, -1]]] = np.inf
        if high > low:
            distance_N[order[1:-1]] += (value_N[order[2:]] - value_N[order[:-2]]) / (high - low)
    return distance_N


def area(points: Sequence[Sequence[float]], origin: Sequence[float]) -> float:
    """Return the area that points of two objectives dominate beyond the origin: their hypervolume.

    >>> area([(0.5, -0.5), (1.0, -1.0)], (0.0, -1.0))
    0.25
    """
    found, least = 0.0, origin[1]
    for x, y in sorted(points, key=lambda point: (-point[0], -point[1])):
        found += max(x - origin[0], 0.0) * max(y - least, 0.0)
        least = max(least, y)
    return found


Isolated = Annotated[Truncation | Grid | Novelty | Pareto, choice()]


@config
class Islands(Selector):
    """Selects on every island by itself; now and then the best are copied to the next one.

    Children stay where their parents live. The first generation is dealt to the islands.
    """

    name: Literal["islands"] = "islands"
    by: Isolated = Truncation()
    count: Annotated[int, whole(1)] = 5
    """How many islands there are, in a ring."""
    every: Annotated[int, whole(1)] = 50
    """Generations from one migration to the next."""
    share: Annotated[float, real(0, 1)] = 0.1
    """Share of an island that is copied; at least one."""

    @property
    def described(self) -> bool:
        return self.by.described

    def __call__(
        self, artifacts: Sequence[Artifact], past: Sequence[Artifact] = ()
    ) -> list[Artifact]:
        kept = []
        for island in range(self.count):
            native = [a for a in artifacts if a.island == island]
            kept += self.by(native, [a for a in past if a.island == island]) if native else []
        return sorted(kept, key=lambda a: -a.weight)

    def migrants(self, kept: Sequence[Artifact], generation: int) -> list[Artifact]:
        """Return copies of the best for the next islands, with their parents; none in most turns.

        >>> one = Artifact("genome-0", "genome", {"seeds": [7]}, weight=1.0)
        >>> [(a.island, a.payload) for a in Islands(count=2, every=1).migrants([one], 1)]
        [(1, {'seeds': [7]})]
        """
        if generation % self.every or self.count == 1:
            return []
        found = []
        for island in range(self.count):
            native = [a for a in kept if a.island == island]
            some = native[: max(1, round(self.share * len(native)))]
            found += [replace(a, id="", stats={}, island=(island + 1) % self.count) for a in some]
        return found


Selecting = Annotated[Truncation | Grid | Novelty | Pareto | Islands, choice()]
"""Which artifacts are kept."""


def _best(artifacts: Sequence[Artifact], worth: Sequence[float] | np.ndarray) -> list[Artifact]:
    """Return artifacts by worth, the best first; of equal ones the younger."""
    ranked = sorted(enumerate(artifacts), key=lambda pair: (-worth[pair[0]], -pair[0]))
    return [artifact for _, artifact in ranked]
