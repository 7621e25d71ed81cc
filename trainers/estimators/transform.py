"""Modify: what happens to an advantage after it is normalised, left to right, in its own level.

Every modifier has the form `(table, *, options) -> table`; it may refine the level of the table.
Here are those that look at one entry at a time or at the whole batch. `modify_rows` chooses
trajectories of a group, `modify_groups` reads statistics of groups, `modify_turns` finds turns
that belong together.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Annotated, Literal

import torch

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.baseline import BatchMean
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.normalise import BatchStd, TokenStd
from coevo.trainers.estimators.table import AdvantageTable
from coevo.trainers.estimators.transform_groups import (
    ActiveShare,
    AddTree,
    BlendGlobal,
    CompareEpisodes,
    GrpoFallback,
    Sharpen,
    WeighPrompts,
)
from coevo.trainers.estimators.transform_rows import BestOfGroup, DropNegatives, PairGate, ShareSet
from coevo.trainers.estimators.transform_turns import AddStateGroup, Align, MergeEdges, SumOthers

_MOST = 20.0
"""Largest exponent: exp(20) is 5e8, beyond what any weight should be."""


@config
class ClipAdvantage:
    """Limit the advantage to [-bound, bound].

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> made = advantage_table(config, from_lists([[8.0], [-8.0]]))
    >>> ClipAdvantage()(made).a.tolist()
    [5.0, -5.0]
    """

    name: Literal["clip_advantage"] = "clip_advantage"
    bound: Annotated[float, real(0)] = 5.0

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        return replace(table, a=torch.clamp(table.a, -self.bound, self.bound))


@config
class BatchWhiten:
    """Centre and divide by the deviation over the batch, counting entries as the frame says.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoBaseline, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> made = advantage_table(AdvantageConfig(baseline=NoBaseline()), from_lists([[3.0], [1.0]]))
    >>> BatchWhiten()(made).a.round(decimals=4).tolist()
    [0.7071, -0.7071]
    """

    name: Literal["batch_whiten"] = "batch_whiten"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        centred, _ = BatchMean()(table.a, table.frame, {})
        return replace(table, a=BatchStd()(centred, table.a, table.frame))


@config
class TokenWhiten:
    """Centre and divide by the deviation over all policy tokens of the batch.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> made = advantage_table(AdvantageConfig(), from_lists([[1.0], [0.0]], tokens=[[3], [1]]))
    >>> TokenWhiten()(made).a.round(decimals=4).tolist()
    [0.5, -1.5]
    """

    name: Literal["token_whiten"] = "token_whiten"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        return replace(table, a=TokenStd()(table.a, table.a, table.frame))


@config
class ExpWeight:
    """Weigh by the exponential of the advantage: A exp(A / T) (RED-Weight).

    Good rows gain and bad rows fade. The exponent is held in [-20, 20].
    Source: REC (Trinity-RFT), T = 1, on `outcome | group | none`.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> made = advantage_table(config, from_lists([[1.0], [0.0]]))
    >>> ExpWeight()(made).a.round(decimals=4).tolist()
    [0.8244, -0.3033]
    """

    name: Literal["exp_weight"] = "exp_weight"
    temperature: Annotated[float, real(above=0)] = 1.0

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        a = wide(table.a)
        return replace(table, a=a * (a / self.temperature).clamp(-_MOST, _MOST).exp())


@config
class Shift:
    """Lower the baseline by beta: A + beta (AsymRE, baseline mean - beta).

    A positive beta leans on good rows, which is what off-policy data needs. Also groups of one
    and of equal rewards then get beta. Source: REC (Trinity-RFT), beta 0.1.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> made = advantage_table(config, from_lists([[1.0], [0.0]]))
    >>> Shift()(made).a.tolist()
    [0.6, -0.4]
    """

    name: Literal["shift"] = "shift"
    beta: Annotated[float, real()] = 0.1

    def __post_init__(self) -> None:
        if not isfinite(self.beta):
            raise ConfigError(f"beta={self.beta} must be finite")

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        return replace(table, a=table.frame.hide(wide(table.a) + self.beta))


@config
class FilterSigma:
    """Drop outliers: A = 0 where |A| > sigma (StableReinforce).

    The unit is that of the advantage, so scale by a deviation first. The released code compares
    the standardised value with the mean of the raw ones +- 3; this is the filter of the paper.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> rewards = [[0.0]] * 11 + [[10.0]]
    >>> made = advantage_table(AdvantageConfig(normalise=BatchStd(), ddof=0), from_lists(rewards))
    >>> FilterSigma()(made).a[-2:].round(decimals=4).tolist()
    [-0.3015, 0.0]
    """

    name: Literal["filter_sigma"] = "filter_sigma"
    sigma: Annotated[float, real(0)] = 3.0

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        return replace(table, a=torch.where(table.a.abs() <= self.sigma, table.a, 0.0))


Transform = Annotated[
    ClipAdvantage
    | BatchWhiten
    | TokenWhiten
    | ExpWeight
    | Shift
    | FilterSigma
    | DropNegatives
    | BestOfGroup
    | ShareSet
    | PairGate
    | Sharpen
    | BlendGlobal
    | AddTree
    | GrpoFallback
    | CompareEpisodes
    | WeighPrompts
    | ActiveShare
    | AddStateGroup
    | MergeEdges
    | Align
    | SumOthers,
    choice(),
]
