"""Simple preference optimisation, no reference (Meng et al. 2024, arXiv 2405.14734, eq. 6)."""

from __future__ import annotations

from typing import Annotated, Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Simpo(PairLoss):
    """-log sigmoid(beta (log pi(w) / |w| - log pi(l) / |l|) - margin), |y| tokens of y.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[-2.0, -4.0]]), torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2))
    >>> round(float(Simpo(margin=0.0)(x)), 4)
    0.6931
    """

    name: Literal["simpo"] = "simpo"
    beta: Annotated[float, real(above=0)] = 2.0
    """Scale of the difference of the means."""
    margin: Annotated[float, real(0)] = 1.0
    """By how much, after scaling, the preferred reply is to be ahead (published: 0.5 to 1.6)."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        mean_NK = x.logp_NK / x.tokens_NK
        return -logsigmoid(self.beta * (mean_NK[:, 0] - mean_NK[:, 1]) - self.margin)
