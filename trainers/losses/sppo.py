"""Self-play preference optimisation (Wu et al. 2024, arXiv 2405.00675)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Sppo(PairLoss):
    """1/2 sum over both replies of (D - (P - 1/2) / beta)^2, D = log pi / pi_t, P the win rate.

    pi_t is the reference: the policy that the replies were drawn from. The exponential-weights step
    pi ~ pi_t exp(P / beta) has loss 0 up to its normaliser, which is taken for exp(1 / (2 beta)).

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2))
    >>> float(Sppo(beta=0.5)(x))
    1.0
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["sppo"] = "sppo"
    beta: Annotated[float, real(above=0)] = 0.01
    """1 / step size of exponential weights."""
    hard: bool = False
    """Whether the preferred reply counts as winning always (P = 1), the other as never (P = 0)."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        p_NK = torch.tensor([1.0, 0.0]).to(x.worth_NK) if self.hard else x.worth_NK
        return ((x.log_ratio_NK - (p_NK - 0.5) / self.beta) ** 2).sum(1) / 2
