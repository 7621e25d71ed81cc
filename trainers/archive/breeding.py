"""A population of genomes in the archive: children of those that live, and which of them stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from coevo.trainers.archive.archive import Archive, Artifact, Kind
from coevo.trainers.archive.selectors import Islands, Selecting, Truncation

Among = Literal["all", "children"]


def children(
    archive: Archive,
    count: int,
    rng: np.random.Generator,
    *,
    of: str = "",
    step: int = 0,
    sigma: float,
    first: float,
    elites: int = 0,
) -> list[Artifact]:
    """Return a generation: the elites as they are, then children of parents drawn uniformly.

    A genome is a list of (seed, sigma), one more than its parent has. Without parents all begin.
    """
    living = archive.living("genome", of)
    made = Truncation(keep=elites)(living)[:count] if elites else []
    while len(made) < count:
        parent = living[int(rng.integers(len(living)))] if living else None
        drawn = [int(rng.integers(2**32)), sigma if parent else first]
        child = Artifact("", "genome", {"seeds": [drawn]}, of=of, born_at=step)
        if parent:
            child.payload["seeds"] = [*parent.payload["seeds"], drawn]
            child.parents, child.island = (parent.id,), parent.island
        made.append(child)
    return made


def keep(
    archive: Archive,
    born: Sequence[Artifact],
    by: Selecting,
    *,
    of: str = "",
    step: int = 0,
    among: Among = "all",
    kind: Kind = "genome",
) -> list[Artifact]:
    """Select from a generation that was measured, prune the others, and return those that stay.

    Children get an id if they stay; elites have theirs. `among` says whether those that were kept
    before compete with the generation or make way for it.
    """
    living = archive.living(kind, of)
    if not born:
        return living
    made = [a for a in born if not a.id]
    older = living if among == "all" else [a for a in born if a.id]
    if isinstance(by, Islands) and not living:
        for number, child in enumerate(made):
            child.island = number % by.count
    kept = by([*older, *made], archive.record(kind, of))
    stay = {id(a) for a in kept}
    archive.prune([a.id for a in living if id(a) not in stay], step)
    for child in made:
        if id(child) in stay:
            archive.add(child)
    if isinstance(by, Islands):
        kept += [archive.add(a) for a in by.migrants(kept, step + 1)]
    return kept
