"""Advantages and losses as pure functions; an algorithm names one option per slot.

Read `trajectories` (what comes in), `advantage` (credit, normalise, modify) and `loss`
(surrogate, correct, regularise, aggregate). The tables list the options of every slot.
"""

from coevo.trainers.estimators.advantage import Advantages, AdvantageSpec, advantages, draft
from coevo.trainers.estimators.aggregate import AGGREGATE, Denominators, count
from coevo.trainers.estimators.broadcast import expand_rows, expand_turns
from coevo.trainers.estimators.compose import COMPOSE, Parts
from coevo.trainers.estimators.correct import CORRECT, Correction
from coevo.trainers.estimators.credit import (
    CREDIT,
    Credit,
    Rewards,
    gae_recursion,
    kl_in_reward,
)
from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.frame import WEIGHTS, Frame
from coevo.trainers.estimators.groups import GroupStats, group_stats
from coevo.trainers.estimators.inputs import LossInputs, from_tokens
from coevo.trainers.estimators.loss import (
    LossOut,
    LossSpec,
    control,
    kept_mask,
    merge_stats,
    policy_loss,
    survey,
)
from coevo.trainers.estimators.modify import MODIFY
from coevo.trainers.estimators.normalise import CENTER, SCALE
from coevo.trainers.estimators.option import Option, check, defaults, option
from coevo.trainers.estimators.regularise import (
    CONTROL,
    REGULARISE,
    Term,
    exact_entropy,
    exact_kl,
    kl_term,
)
from coevo.trainers.estimators.surrogate import KIND, RATIO_LEVEL, Surrogate
from coevo.trainers.estimators.survey import GATE, SURVEY
from coevo.trainers.estimators.trajectories import Trajectories, from_lists
from coevo.trainers.estimators.value import value_loss

__all__ = [
    "AGGREGATE",
    "CENTER",
    "COMPOSE",
    "CONTROL",
    "CORRECT",
    "CREDIT",
    "GATE",
    "KIND",
    "MODIFY",
    "RATIO_LEVEL",
    "REGULARISE",
    "SCALE",
    "SURVEY",
    "WEIGHTS",
    "AdvantageSpec",
    "Advantages",
    "Correction",
    "Credit",
    "Denominators",
    "Draft",
    "Frame",
    "GroupStats",
    "LossInputs",
    "LossOut",
    "LossSpec",
    "Option",
    "Parts",
    "Rewards",
    "Surrogate",
    "Term",
    "Trajectories",
    "advantages",
    "check",
    "control",
    "count",
    "defaults",
    "draft",
    "exact_entropy",
    "exact_kl",
    "expand_rows",
    "expand_turns",
    "from_lists",
    "from_tokens",
    "gae_recursion",
    "group_stats",
    "kept_mask",
    "kl_in_reward",
    "kl_term",
    "merge_stats",
    "option",
    "policy_loss",
    "survey",
    "value_loss",
]
