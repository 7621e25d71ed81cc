"""Bradley-Terry fit of a reward head to pairs (Bradley & Terry 1952; Ouyang et al. 2022, eq. 1)."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import ItemLoss


@config
class BradleyTerry(ItemLoss):
    """-log sigmoid(f(better) - f(worse)), over the number of pairs.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2))
    >>> round(float(BradleyTerry()(x)), 4)
    0.6931
    """

    kind: ClassVar[str] = "reward_pairs"
    reads_rewards: ClassVar[bool] = True
    name: Literal["bradley_terry"] = "bradley_terry"

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        return -logsigmoid(x.reward_NK[:, 0] - x.reward_NK[:, 1])

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return how far the better reply is ahead, and how often."""
        gap_N = x.reward_NK[:, 0] - x.reward_NK[:, 1]
        return {"gap": gap_N, "accuracy": (gap_N > 0).to(gap_N)}
