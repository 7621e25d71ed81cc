"""Recycle: from scored episodes to pairs, demonstrations and failures.

Trajectories are compared with those of the same task, seat and parameter set. What one is worth is
the sum of its rewards, each component with its weight (`advantage.reward_weights`); what a turn is
worth are those that it was paid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import torch

from coevo.envs.core.config import choice, config, real
from coevo.trainers.cycle import Page, Step
from coevo.trainers.items.items import Items
from coevo.trainers.items.sequences import Batch, Sequences

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Pairs:
    """Pairs of two trajectories of a group, the one that is worth more first."""

    kind: ClassVar[str] = "pairs"
    name: Literal["pairs"] = "pairs"
    take: Literal["extremes", "all"] = "extremes"
    """The best and the worst of a group, or every two of it."""
    margin: Annotated[float, real(0)] = 0.0
    """By how much one must be worth more than the other; at 0 ties are left out unless `ties`."""
    ties: bool = False
    """Whether two of equal worth make a pair, for losses that read how much each is worth."""
    keep: Annotated[float, real(above=0, high=1)] = 1.0
    """Share of the pairs that is kept, those first whose preferred trajectory is worth most."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        """Return places in a group that belong together."""
        ranked = sorted(group, key=lambda b: -worth[b])
        if self.take == "extremes":
            ranked = [ranked[0], *ranked[1:][-1:]]
        pairs = itertools.combinations(ranked, 2)
        return [(w, x) for w, x in pairs if self._differ(worth[w] - worth[x])]

    def _differ(self, gap: float) -> bool:
        return gap >= self.margin and (gap > 0 or self.ties)


@config
class Best:
    """The best trajectory of every group, to be imitated."""

    kind: ClassVar[str] = "demonstrations"
    name: Literal["best"] = "best"
    above: Annotated[float, real()] | None = None
    """What it must be worth more than; None takes any."""
    keep: Annotated[float, real(above=0, high=1)] = 1.0
    """Share of them that is kept, the best first."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the best of a group, if it is good enough; the first of several."""
        best = max(group, key=lambda b: worth[b])
        return [(best,)] if self.above is None or worth[best] > self.above else []


@config
class Worst:
    """Trajectories that were worth too little, or single turns: not to be done again."""

    kind: ClassVar[str] = "failures"
    name: Literal["worst"] = "worst"
    below: Annotated[float, real()] = 0.0
    """What they are worth less than."""
    of: Literal["episode", "turn"] = "episode"
    """Whether all that a seat did in an episode is judged together, or each turn by itself."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        """Return what was not good enough."""
        return [(b,) for b in group if worth[b] < self.below]


Recycler = Annotated[Pairs | Best | Worst, choice()]
"""What is made of episodes."""


@config
class Recycle(Step):
    """Makes items of another kind of the episodes of an update."""

    needs: ClassVar = ("batch",)
    name: Literal["recycle"] = "recycle"
    to: Recycler

    @property
    def gives(self) -> tuple[str, ...]:
        """The kind of its items."""
        return (self.to.kind,)

    @property
    def parts(self) -> tuple[str, ...]:
        """What is made."""
        return (self.to.name,)

    def __call__(self, run: Run, page: Page) -> None:
        """Write the items, and log how many there are."""
        if page.batch is None:
            return
        weights = run.config.algorithm.advantage.reward_weights
        by_turn = isinstance(self.to, Worst) and self.to.of == "turn"
        sequences, worth, alike = (_turns if by_turn else _trajectories)(page.batch, weights)
        found = [x for group in alike for x in self.to(worth, group)]
        if not isinstance(self.to, Worst):
            found.sort(key=lambda places: -worth[places[0]])
            found = found[: max(1, round(self.to.keep * len(found)))] if found else found
        page.metrics[f"items/{self.to.kind}"] = float(len(found))
        if found:
            at_NK = torch.tensor(found)
            worth_U = torch.tensor(worth, dtype=torch.float64)
            page.items[self.to.kind] = Items(sequences, at_NK, worth_U[at_NK])


Units = tuple[Sequences, list[float], list[list[int]]]
"""What items are made of: sequences, the worth of each trajectory, and which may be compared."""


def _trajectories(batch: Batch, weights: Mapping[str, float]) -> Units:
    return batch.sequences, worths(batch, weights), list(groups(batch))


def _turns(batch: Batch, weights: Mapping[str, float]) -> Units:
    sequences, of_U2 = batch.sequences.by_turn()
    worth_U = _paid(batch, weights).sum(2)[of_U2[:, 0], of_U2[:, 1]]
    return sequences, worth_U.tolist(), [[u] for u in range(len(of_U2))]


def worths(batch: Batch, weights: Mapping[str, float]) -> list[float]:
    """Return the sum of the rewards of every trajectory, components weighted."""
    worth: list[float] = _paid(batch, weights).sum((1, 2)).tolist()
    return worth


def _paid(batch: Batch, weights: Mapping[str, float]) -> torch.Tensor:
    """Return what every turn was paid, [B, T, K]."""
    found = batch.trajectories
    weight_K = found.reward_BTK.new_tensor([weights.get(c, 1.0) for c in found.components])
    return found.reward_BTK * weight_K


def groups(batch: Batch) -> Iterator[list[int]]:
    """Return the trajectories with tokens that may be compared, task by task."""
    keys = batch.trajectories.keys
    learns = set(batch.sequences.trajectory_C.tolist())
    found: dict[tuple[int, ...], list[int]] = {}
    names = [keys[k].tolist() for k in ("group", "seat", "policy")]
    for b, key in enumerate(zip(*names, strict=True)):
        if b in learns:
            found.setdefault(key, []).append(b)
    yield from found.values()
