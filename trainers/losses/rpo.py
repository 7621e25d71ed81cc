"""Regularised preference optimisation (Liu et al. 2024, arXiv 2405.16436)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Rpo(PairLoss):
    """-log sigmoid(beta (D_w - D_l)) - eta beta log pi(w): DPO and imitation of what is preferred.

    `per="reply"` sums the log-probability over the reply, as the released code for chats has it;
    `per="token"` takes its mean, without the factor beta, as OpenRLHF and Optima have it: one eta
    does not fit both, they differ by about beta times the length of a reply.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Rpo()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["rpo"] = "rpo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Strength of the pull to the reference."""
    eta: Annotated[float, real(0)] = 0.005
    """Weight of imitation; 0 is DPO."""
    per: Literal["reply", "token"] = "reply"
    """What is imitated: the reply as a whole, or its mean token."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK
        nll_N = -self.beta * x.logp_NK[:, 0]
        if self.per == "token":
            nll_N = -x.logp_NK[:, 0] / x.tokens_NK[:, 0]
        return -logsigmoid(self.beta * (d_NK[:, 0] - d_NK[:, 1])) + self.eta * nll_N
