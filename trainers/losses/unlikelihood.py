"""Negative imitation, token by token (Welleck et al. 2020, arXiv 1908.04319, eq. 4)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import FailureLoss


@config
class Unlikelihood(FailureLoss):
    """-sum over tokens of log(1 - pi(y_t)), over the tokens of the whole update.

    It needs no reference, and vanishes where every token has become unlikely. A token that was the
    only one allowed costs nothing: there was no choice.

    >>> x = ItemInputs(
    ...     *(torch.ones(1, 1) for _ in range(3)), cost_NK=torch.tensor([[1.5]])
    ... )
    >>> float(Unlikelihood()(x))
    1.5
    >>> Unlikelihood().of_tokens(torch.tensor([[0.5, 1.0]]).log(), None).tolist()
    [[0.6931471824645996, 0.0]]
    """

    name: Literal["unlikelihood"] = "unlikelihood"

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor:
        """Return the loss of every token."""
        open_CL = logp_CL < 0
        safe_CL = torch.where(open_CL, logp_CL, -1.0)  # else the slope of what is closed is none
        return torch.where(open_CL, -(-safe_CL.expm1()).log(), 0.0)

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every failure."""
        return x.token_cost_NK[:, 0]

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every failure."""
        return x.tokens_NK[:, 0]
