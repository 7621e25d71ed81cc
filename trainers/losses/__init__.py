"""Losses of what an update learns from: one file for each, mixed at will in the step `update`.

`policy` reads the algorithm's setting `loss`, whose components are in `coevo.trainers.components`.
The others read items: pairs, demonstrations and failures; what a reward head is fitted to.
"""

from typing import Annotated

from coevo.envs.core.config import choice
from coevo.trainers.losses.adversarial import Adversarial
from coevo.trainers.losses.bradley_terry import BradleyTerry
from coevo.trainers.losses.dno import Dno
from coevo.trainers.losses.dpo import Dpo
from coevo.trainers.losses.ipo import Ipo
from coevo.trainers.losses.item_loss import ItemLoss
from coevo.trainers.losses.policy import Policy
from coevo.trainers.losses.rpo import Rpo
from coevo.trainers.losses.sft import Sft
from coevo.trainers.losses.simpo import Simpo
from coevo.trainers.losses.sppo import Sppo
from coevo.trainers.losses.unlikelihood import Unlikelihood
from coevo.trainers.losses.value_regression import ValueRegression

Loss = Annotated[
    Policy
    | Dpo
    | Ipo
    | Rpo
    | Simpo
    | Sppo
    | Dno
    | Sft
    | Adversarial
    | Unlikelihood
    | BradleyTerry
    | ValueRegression,
    choice(),
]
"""What an update minimises, one for each kind of items that it learns from."""

__all__ = [
    "Adversarial",
    "BradleyTerry",
    "Dno",
    "Dpo",
    "Ipo",
    "ItemLoss",
    "Loss",
    "Policy",
    "Rpo",
    "Sft",
    "Simpo",
    "Sppo",
    "Unlikelihood",
    "ValueRegression",
]
