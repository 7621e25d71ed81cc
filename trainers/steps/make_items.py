"""Make items of other kinds from scored episodes: pairs, demonstrations, failures and more.

Trajectories are compared with those of the same task, seat and parameter set. What one is worth is
the sum of its rewards, each component with its weight (`advantage.reward_weights`); a turn is worth
its own rewards.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch

from coevo.envs.core.config import choice, config, real, whole
from coevo.trainers.batch import Batch
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items import Items, Units, groups, turns, worths
from coevo.trainers.steps.judge_items import Certified, Questions, Verdicts


class _FromGroups(ABC):
    """Items made from the trajectories of a group, given by their places in it."""

    kind: ClassVar[str]
    keep: Annotated[float, real(above=0, high=1)] | None = None
    """Share of the items that is kept, the best first; None keeps all as they come."""
    roles_asked: ClassVar[tuple[str, ...]] = ()
    heads_asked: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        """Return places in a group that belong together."""

    def units(self, batch: Batch, weights: Mapping[str, float]) -> Units:
        """Return what the items are made of."""
        return batch, worths(batch, weights), list(groups(batch))

    def made(self, ctx: UpdateContext) -> Items | None:
        """Return the items of all groups, or None; a share of them is that of the best."""
        assert ctx.batch is not None  # the step looked
        weights = ctx.algorithm.advantage.reward_weights
        batch, worth, alike = self.units(ctx.batch, weights)
        found = [x for group in alike for x in self(worth, group)]
        if self.keep is not None:
            found.sort(key=lambda places: -worth[places[0]])
            found = found[: max(1, round(self.keep * len(found)))] if found else found
        if not found:
            return None
        at_NK, worth_U = torch.tensor(found), torch.tensor(worth, dtype=torch.float64)
        return Items(batch, at_NK, worth_U[at_NK])


@config
class Pairs(_FromGroups):
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
        ranked = sorted(group, key=lambda b: -worth[b])
        if self.take == "extremes":
            ranked = [ranked[0], *ranked[1:][-1:]]
        pairs = itertools.combinations(ranked, 2)
        return [(w, x) for w, x in pairs if self._differ(worth[w] - worth[x])]

    def _differ(self, gap: float) -> bool:
        return gap >= self.margin and (gap > 0 or self.ties)


@config
class Best(_FromGroups):
    """The best trajectory of every group, the first of several, to be imitated."""

    kind: ClassVar[str] = "demonstrations"
    name: Literal["best"] = "best"
    above: Annotated[float, real()] | None = None
    """What it must be worth more than; None takes any."""
    keep: Annotated[float, real(above=0, high=1)] = 1.0
    """Share of them that is kept, the best first."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        best = max(group, key=lambda b: worth[b])
        return [(best,)] if self.above is None or worth[best] > self.above else []


@config
class Replies(_FromGroups):
    """Single replies, all or some drawn at random, to be imitated."""

    kind: ClassVar[str] = "demonstrations"
    name: Literal["replies"] = "replies"
    most: Annotated[int, whole(1)] | None = 8
    """Replies of an update; the others of its episodes are left out. None takes all."""
    above: Annotated[float, real()] | None = None
    """What all that the seat did in the episode must be worth more than; None takes any."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        return [(u,) for u in group if self.above is None or worth[u] > self.above]

    def units(self, batch: Batch, weights: Mapping[str, float]) -> Units:
        alone, of_U2 = batch.by_turn()
        worth_B = worths(batch, weights)
        return alone, [worth_B[b] for b, _ in of_U2.tolist()], [[u] for u in range(len(of_U2))]

    def made(self, ctx: UpdateContext) -> Items | None:
        items = super().made(ctx)
        if items is None or self.most is None or len(items) <= self.most:
            return items
        rng = np.random.default_rng([ctx.seed, ctx.step, 14])
        return items.chosen(rng.permutation(len(items))[: self.most].tolist())


@config
class Worst(_FromGroups):
    """Trajectories that were worth too little, or single turns: not to be done again."""

    kind: ClassVar[str] = "failures"
    name: Literal["worst"] = "worst"
    below: Annotated[float, real()] = 0.0
    """What they are worth less than."""
    of: Literal["episode", "turn"] = "episode"
    """Whether all that a seat did in an episode is judged together, or each turn by itself."""

    def __call__(self, worth: Sequence[float], group: Sequence[int]) -> list[tuple[int, ...]]:
        return [(b,) for b in group if worth[b] < self.below]

    def units(self, batch: Batch, weights: Mapping[str, float]) -> Units:
        return turns(batch, weights) if self.of == "turn" else super().units(batch, weights)


ItemMaker = Annotated[Pairs | Best | Replies | Worst | Certified | Verdicts | Questions, choice()]


@config
class MakeItems(Step):
    """Makes items of another kind of the episodes of an update."""

    needs: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["make_items"] = "make_items"
    to: ItemMaker

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.to.kind,)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return self.to.roles_asked

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return self.to.heads_asked

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.to.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        ctx.items.pop(self.to.kind, None)  # those of an earlier batch have been learnt
        if ctx.batch is None:
            return
        items = self.to.made(ctx)
        if isinstance(items, list):
            ctx.judges.cache += items
        ctx.metrics[f"items/{self.to.kind}"] = float(0 if items is None else len(items))
        if isinstance(items, Items):
            ctx.items[self.to.kind] = items


@config
class UpdateReference(Step):
    """Makes the current policy the reference, as iterated preference optimisation does."""

    moves_reference: ClassVar = True
    name: Literal["update_reference"] = "update_reference"

    def __call__(self, ctx: UpdateContext) -> None:
        for learner in ctx.learners.values():
            learner.move_reference()


@config
class RestoreStart(Step):
    """Makes every policy what it was at the start, with a new optimiser, to learn from there."""

    moves: ClassVar = True
    in_ranks: ClassVar = True
    needs_reference: ClassVar = True
    name: Literal["restore_start"] = "restore_start"

    def __call__(self, ctx: UpdateContext) -> None:
        for learner in ctx.learners.values():
            learner.restore_reference()
