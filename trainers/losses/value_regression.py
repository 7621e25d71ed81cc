"""Regression of a reward head on what replies were worth."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor

from coevo.envs.core.config import config
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import ItemLoss


@config
class ValueRegression(ItemLoss):
    """(f(y) - r)^2 / 2, over the number of replies; its minimum is the mean of r.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[3.0]]), torch.ones(1, 1), torch.tensor([[1.0]]))
    >>> float(ValueRegression()(x))
    2.0
    """

    kind: ClassVar[str] = "reward_targets"
    reads_rewards: ClassVar[bool] = True
    name: Literal["value_regression"] = "value_regression"

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every reply."""
        return ((x.reward_NK[:, 0] - x.worth_NK[:, 0]) ** 2) / 2

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return what the head gives and what it should."""
        return {"predicted": x.reward_NK[:, 0], "target": x.worth_NK[:, 0]}
