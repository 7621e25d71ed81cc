"""Supervised fine-tuning: imitation of demonstrations."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor

from coevo.envs.core.config import config
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import ItemLoss


@config
class Sft(ItemLoss):
    """-log pi(y), over the number of tokens (`per="token"`) or of replies of the whole update.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[-3.0]]), torch.tensor([[2.0]]), torch.zeros(1, 1))
    >>> float(Sft()(x)), float(Sft().size(x)), float(Sft(per="reply").size(x))
    (3.0, 2.0, 1.0)
    """

    kind: ClassVar[str] = "demonstrations"
    name: Literal["sft"] = "sft"
    per: Literal["token", "reply"] = "token"
    """What weighs alike."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the negative log-likelihood of every demonstration."""
        return -x.logp_NK[:, 0]

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every demonstration, or 1."""
        return x.tokens_NK[:, 0] if self.per == "token" else super().size(x)
