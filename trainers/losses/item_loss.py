"""What a loss of items is: one number per item, and what those numbers are divided by."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs


@config
class ItemLoss:
    """Base of the losses of items; subclasses give `kind`, a name and the formula."""

    kind: ClassVar[str] = ""
    """Which items it learns from."""
    needs_reference: ClassVar[bool] = False
    """Whether it reads log-probabilities of the reference policy."""
    reads_rewards: ClassVar[bool] = False
    """Whether it reads what the reward head says of a reply, not how likely the reply is."""
    weight: Annotated[float, real(above=0)] = 1.0
    """Factor on the loss, where an update mixes several."""

    @property
    def tag(self) -> str:
        """Begins its names in the log."""
        return str(getattr(self, "name", ""))

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every item, [N]."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor | None:
        """Return what every token costs by itself, for losses that read `x.token_cost_NK`."""
        return None

    def size(self, x: ItemInputs) -> Tensor:
        """Return what every item counts in the denominator of the update, [N]: 1 each."""
        return torch.ones_like(x.logp_NK[:, 0])

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return what to log beside the loss: a value per item, averaged over the update."""
        return {"chosen": x.logp_NK[:, 0]}


@config
class FailureLoss(ItemLoss):
    """Base of the losses of what must not be done again."""

    kind: ClassVar[str] = "failures"

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return the log-probability of every failure."""
        return {"rejected": x.logp_NK[:, 0]}


@config
class PairLoss(ItemLoss):
    """Base of the losses of pairs: column 0 is preferred to column 1."""

    kind: ClassVar[str] = "pairs"

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return log-probabilities of both, and whether the preferred one has gained."""
        found = {"chosen": x.logp_NK[:, 0], "rejected": x.logp_NK[:, 1]}
        if x.logp_ref_NK is not None:
            gain_NK = x.log_ratio_NK
            found["accuracy"] = (gain_NK[:, 0] > gain_NK[:, 1]).to(gain_NK)
        return found
