"""Direct Nash optimisation (Rosset et al. 2024, arXiv 2404.03715, algorithm 1)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Dno(PairLoss):
    """-p log sigmoid(d) - (1 - p) log sigmoid(-d): regression on win rates, by cross entropy.

    d = eta (D_1 - D_2) with D = log pi / pi_t, and p = sigmoid(r_1 - r_2) of the expected win rates
    r against pi_t. Where it is lowest, pi ~ pi_t exp(r / eta).

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Dno()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["dno"] = "dno"
    eta: Annotated[float, real(above=0)] = 0.5
    """Regularisation of a step; large is slow."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK, r_NK = x.log_ratio_NK, x.worth_NK
        d_N = self.eta * (d_NK[:, 0] - d_NK[:, 1])
        p_N = (r_NK[:, 0] - r_NK[:, 1]).sigmoid()
        return -p_N * logsigmoid(d_N) - (1 - p_N) * logsigmoid(-d_N)
