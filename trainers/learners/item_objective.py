"""The loss of items, and its gradient: one pass to see how replies compare, one to move them.

The derivative of a loss of items with respect to the log-probability of every token is found first;
the pass with gradient is then linear in the tokens, so that it may be cut into micro-batches
anywhere, and a reply that is in many items is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from coevo.trainers import ranks
from coevo.trainers.items import Items
from coevo.trainers.learners.passes import Passes, last_tokens
from coevo.trainers.losses import ItemLoss


@dataclass(frozen=True)
class ItemObjective:
    """A loss over the items of an update."""

    passes: Passes
    items: Items
    loss: ItemLoss
    minibatches: int = 1

    @property
    def units(self) -> int:
        """Items."""
        return len(self.items)

    @property
    def prefix(self) -> str:
        """The tag of the loss."""
        return f"{self.loss.tag}/"

    def cut(self, minibatches: int) -> Self:
        """Return it with a share of the denominators for each of so many mini-batches."""
        return replace(self, minibatches=minibatches)

    def control(self, merged: Mapping[str, float]) -> dict[str, Any]:
        """Return what the loss keeps for the next update: nothing."""
        return {}

    @cached_property
    def share(self) -> float:
        """The part of the denominator of the whole update that a mini-batch is divided by."""
        nothing_CL = torch.zeros(self.items.batch.mask_CL.shape)
        return float(self.loss.size(self.items.inputs(nothing_CL)).sum()) / self.minibatches

    def add_gradients(
        self, units: Sequence[int], generator: torch.Generator | None = None
    ) -> list[dict[str, Tensor]]:
        """Add the gradients of some items, and return what to log of them."""
        if not len(units):
            return []
        items = self.items.chosen(units)
        batch = items.batch
        rewards = self.loss.reads_rewards
        read_CL = self.passes.rewards(batch) if rewards else self.passes.logp(batch)
        read_CL.requires_grad_()
        inputs = items.inputs(read_CL, self.loss.of_tokens)
        loss = self.loss.weight * self.loss(inputs).sum() / self.share
        (slope_CL,) = torch.autograd.grad(loss, read_CL)
        if rewards:
            slope_CL = slope_CL * last_tokens(batch)
        for part, counts in ranks.shared_out(list(self.passes.micro_batches(batch))):
            scored = self.passes.score(batch, part, rewards=rewards)
            read_N = self.passes.reward_N(scored) if rewards else scored.logp_N()
            now_CL = part.spread(read_N, batch)
            (slope_CL[part.at].to(now_CL) * now_CL * counts).sum().backward()
        seen = {name: value.detach().mean() for name, value in self.loss.stats(inputs).items()}
        return [{"tokens": torch.tensor(float(len(units))), "loss/item": loss.detach(), **seen}]
