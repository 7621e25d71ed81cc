"""Identity preference optimisation (Azar et al. 2023, arXiv 2310.12036, eq. 17)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.items import ItemInputs
from coevo.trainers.losses.item_loss import PairLoss


@config
class Ipo(PairLoss):
    """((D_w - D_l) - 1 / (2 beta))^2 with D = log pi / pi_ref.

    The paper sums over the tokens of a reply; TRL takes their mean, `per="token"`, since a gap of
    fixed size is soon reached by long replies.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> float(Ipo(beta=0.5)(x))
    1.0
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["ipo"] = "ipo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Regularisation; the gap aimed at is 1 / (2 beta)."""
    per: Literal["reply", "token"] = "reply"
    """Whether D is a sum over the reply or a mean over its tokens."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK if self.per == "reply" else x.log_ratio_NK / x.tokens_NK
        return (d_NK[:, 0] - d_NK[:, 1] - 1 / (2 * self.beta)) ** 2
