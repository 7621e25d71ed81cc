"""Direct preference optimisation (Rafailov et al. 2023, arXiv 2305.18290, eq. 7)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Dpo(PairLoss):
    """-log sigmoid(beta (D_w - D_l)) with D = log pi / pi_ref of a whole reply.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Dpo()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["dpo"] = "dpo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Strength of the pull to the reference."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK
        return -logsigmoid(self.beta * (d_NK[:, 0] - d_NK[:, 1]))
