"""Adversarial imitation of failures (Sun et al. 2025, SEAgent, arXiv 2508.04700)."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor
from torch.nn.functional import softplus

from coevo.envs.core.config import config
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import FailureLoss


@config
class Adversarial(FailureLoss):
    """-log sigmoid(-D) = log(1 + pi / pi_ref) of a failure, D = log pi / pi_ref.

    Unlike the log-likelihood it is bounded below: its slope, sigmoid(D), fades where a reply has
    become unlikely, and so does the harm to others. `per="reply"` is the formula, D that of the
    whole reply; `per="token"` is the mean over tokens of the released code (SunzeY/SEAgent at
    c8887f1, trainer/grpo_trainer.py, which by an index loses the first token). Published weight of
    the loss beside GRPO on what was good: 0.2.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 1), torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(1, 1))
    >>> round(float(Adversarial()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["adversarial"] = "adversarial"
    per: Literal["reply", "token"] = "reply"
    """What is compared with the reference: the reply as a whole, or each token."""

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor | None:
        """Return the loss of every token."""
        if self.per == "reply":
            return None
        assert logp_ref_CL is not None  # the loss declares that it needs a reference
        return softplus(logp_CL - logp_ref_CL)

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every failure."""
        if self.per == "token":
            return x.token_cost_NK[:, 0]
        return softplus(x.log_ratio_NK[:, 0])

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every failure, or 1."""
        return x.tokens_NK[:, 0] if self.per == "token" else super().size(x)
