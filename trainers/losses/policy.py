"""The policy loss: what advantages teach."""

from __future__ import annotations

from typing import Literal

from coevo.envs.core.config import config
from coevo.trainers.losses.item_loss import AdvantageLoss


@config
class Policy(AdvantageLoss):
    """The policy-gradient loss of the setting `loss`, on sequences with advantages."""

    name: Literal["policy"] = "policy"

    @property
    def tag(self) -> str:
        """It has the plain names of the log."""
        return ""
