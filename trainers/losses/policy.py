"""The policy loss: what advantages teach."""

from __future__ import annotations

from typing import ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers.losses.item_loss import ItemLoss


@config
class Policy(ItemLoss):
    """The policy-gradient loss of the setting `loss`, on sequences with advantages."""

    kind: ClassVar[str] = "advantages"
    name: Literal["policy"] = "policy"
