"""Filter pairs: keep those whose labels are reliable (Wang et al. 2024, UPO)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from coevo.envs.core.config import config, real, whole
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items import Items
from coevo.trainers.learners.preference_estimator import believe


@config
class FilterPairs(Step):
    """Keeps pairs whose label most passes of an estimator agree with, drawn by how sure it is."""

    needs: ClassVar = ("pairs",)
    in_ranks: ClassVar = True
    name: Literal["filter_pairs"] = "filter_pairs"
    dropout: Annotated[float, real(above=0, below=1)] = 0.1
    """Share of the estimator's units that a pass drops."""
    passes: Annotated[int, whole(2)] = 10
    """How often it is asked about each pair."""
    easy: Annotated[float, real(0, 1)] = 0.5
    """Share of the agreed pairs that is drawn by 1 - BALD."""
    hard: Annotated[float, real(0, 1)] = 0.5
    """Share of them that is drawn by BALD; a pair drawn twice counts once."""

    def __call__(self, ctx: UpdateContext) -> None:
        pairs = ctx.items.get("pairs")
        if not isinstance(pairs, Items) or not len(pairs):
            return
        entropy = np.random.SeedSequence([ctx.seed, ctx.step, 5])
        seed = int(entropy.generate_state(1, np.uint64)[0] >> 1)
        generator = torch.Generator().manual_seed(seed)
        belief = believe(pairs, self.dropout, self.passes, generator)
        agreed_M = (belief.votes_N > 0.5).nonzero().squeeze(-1)
        unsure_M = belief.unsure_N[agreed_M]
        taken = self._drawn(1 - unsure_M, self.easy, generator)
        taken |= self._drawn(unsure_M, self.hard, generator)
        kept = agreed_M[sorted(taken)] if taken else agreed_M[:0]
        ctx.metrics |= {
            "filter_pairs/agreed": len(agreed_M) / len(pairs),
            "filter_pairs/kept": len(kept) / len(pairs),
            "filter_pairs/bald": float(belief.unsure_N.mean()),
        }
        ctx.items["pairs"] = pairs.chosen(kept.tolist())

    @staticmethod
    def _drawn(weight_M: Tensor, share: float, generator: torch.Generator) -> set[int]:
        count = round(share * len(weight_M))
        if not count:
            return set()
        weight_M = weight_M.double() + 1e-9  # as many as are asked for can be drawn
        return set(torch.multinomial(weight_M, count, generator=generator).tolist())
