"""Modifiers that choose trajectories of a group: sets, pairs, the best one, those left out.

What they judge by is the outcome: the sum of a trajectory's composed rewards, without KL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.groups import combined, extremes, group_stats, wide
from coevo.trainers.estimators.normalise import unit_interval
from coevo.trainers.estimators.order import rank_in_group
from coevo.trainers.estimators.table import AdvantageTable


@config
class ShareSet:
    """Judge sets, not rows: A = f(S) - mean f over the group's sets, for every member of S.

    f(S) = mean_{i in S} R_i d(S), with R mapped from [low, high] to [0, 1] and d the share of
    different labels in S, so a good set is successful and diverse. What the advantage was before
    does not count. Sets are the key `set` within `by`; with `size` > 0 every group is cut into
    sets of so many rows instead, in a fixed order that does not depend on the order of rows
    and changes from batch to batch (what is left over is a smaller set).
    Source: polychromic objectives, n = 4.

    Raises:
        UnknownNameError: The batch has no such label, or neither `set` nor a size is given.
        ConfigError: A reward lies outside [low, high].

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [1.0], [1.0]], set=[0, 0, 1, 1], answer=[0, 0, 1, 2])
    >>> ShareSet()(advantage_table(AdvantageConfig(), batch)).a.tolist()
    [-0.375, -0.375, 0.375, 0.375]
    """

    name: Literal["share_set"] = "share_set"
    label: Literal["answer", "opening"] = "answer"
    size: Annotated[int, whole(0)] = 0
    low: Annotated[float, real()] = 0.0
    high: Annotated[float, real()] = 1.0
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        batch = table.batch
        if self.size:
            table, seed = table.counted("share_set")
            rank_B = rank_in_group(batch.keys["trajectory"], batch.key_B(self.by), seed)
            set_B = combined(batch.key_B(self.by), rank_B // self.size)
        else:
            set_B = batch.key_B(f"{self.by}+set")
        real_B = batch.turn_mask_BT.any(1)
        reward_B = unit_interval(table.outcome_B, real_B, self.low, self.high, "modify 'share_set'")
        in_set = group_stats(reward_B, set_B, wide(real_B))
        twins_B = group_stats(
            reward_B, combined(set_B, batch.key_B(self.label)), wide(real_B)
        ).total
        different_B = group_stats(1.0 / twins_B.clamp(min=1.0), set_B, wide(real_B)).mean
        value_B = in_set.mean * different_B
        once_B = wide(real_B) / in_set.total.clamp(min=1.0)
        over_sets = group_stats(value_B, batch.key_B(self.by), once_B)
        return table.shared(torch.where(over_sets.constant, 0.0, value_B - over_sets.mean))


@config
class DropNegatives:
    """Leave out bad trajectories until a group has as many as good ones (RED-Drop).

    Good is R >= the mean of the group. Which bad ones stay is drawn by a scrambled order of the
    `trajectory` keys, from `seed` and the number of batches seen (state `drop_negatives/batches`):
    not by the order of rows. A is then centred again on what is kept, as if the others had never
    been played; those get 0. Source: REC (Trinity-RFT), `drop="balance"`.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[0.0], [0.0], [0.0], [1.0]])
    >>> made = advantage_table(AdvantageConfig(normalise=NoNormalisation()), batch)
    >>> sorted(DropNegatives()(made).a.tolist())
    [-0.5, 0.0, 0.0, 0.5]
    """

    name: Literal["drop_negatives"] = "drop_negatives"
    seed: Annotated[int, whole(0)] = 0
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        batch, real_B = table.batch, table.batch.turn_mask_BT.any(1)
        key_B = batch.key_B(self.by)
        table, seen = table.counted("drop_negatives")
        group = group_stats(table.outcome_B, key_B, wide(real_B))
        bad_B = real_B & ~group.constant & (table.outcome_B < group.mean)
        bad = group_stats(wide(bad_B), key_B, wide(real_B))
        excess_B = bad.mean * bad.total - (1.0 - bad.mean) * bad.total
        kind_B = combined(key_B, bad_B.to(torch.int64))
        rank_B = rank_in_group(batch.keys["trajectory"], kind_B, self.seed + seen)
        kept = table.aligned("row", wide(~bad_B | (wide(rank_B) >= excess_B - 0.5)))
        stats = group_stats(table.a, key_B, table.frame.weight() * kept)
        centred = torch.where(stats.constant | (kept == 0), 0.0, table.a - stats.mean)
        return replace(table, a=table.frame.hide(centred))


@config
class PairGate:
    """Keep a trajectory only where one of the other kind differs enough: A = 0 elsewhere (DaGRPO).

    Good is an outcome above the mean of the group, bad one below; a pair of a good and a bad one
    counts where |s_i - s_j| >= delta, and a trajectory in no such pair is left out. s is what the
    reward component `score` (with weight 0, if it is not to be paid) adds up to.
    Source: DaGRPO (abstract); the rule, and delta, are ours.

    Raises:
        UnknownNameError: The batch has no such component.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.9], [0.0]])
    >>> made = advantage_table(AdvantageConfig(normalise=NoNormalisation()), batch)
    >>> PairGate(score="reward", delta=0.95)(made).a.round(decimals=4).tolist()
    [0.3667, 0.0, -0.6333]
    """

    name: Literal["pair_gate"] = "pair_gate"
    score: str = "score"
    delta: Annotated[float, real(0)] = 0.1
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        batch, real_B = table.batch, table.batch.turn_mask_BT.any(1)
        if self.score not in batch.components:
            raise unknown("reward component", self.score, batch.components)
        score_BT = wide(batch.reward_BTK[..., batch.components.index(self.score)])
        score_B = torch.where(batch.turn_mask_BT, score_BT, 0.0).sum(1)
        key_B = batch.key_B(self.by)
        mean_B = group_stats(table.outcome_B, key_B, wide(real_B)).mean
        good_B, bad_B = real_B & (table.outcome_B > mean_B), real_B & (table.outcome_B < mean_B)
        paired_B = torch.zeros_like(real_B)
        for mine_B, other_B in ((good_B, bad_B), (bad_B, good_B)):
            low_B, high_B = extremes(score_B, key_B, other_B)
            far_B = (score_B - low_B >= self.delta) | (high_B - score_B >= self.delta)
            paired_B |= mine_B & far_B
        paired = table.aligned("row", wide(paired_B)) > 0
        return replace(table, a=torch.where(paired, table.a, 0.0))


@config
class BestOfGroup:
    """Pay the single best trajectory by its lead: A = (max R - second R) / (std + eps), others 0.

    What it adds to the best of the group, which is what pass@k rewards. A tie at the top gives
    everyone 0, as does a group of one. Source: GRPO-pass@k; `std=False` leaves the unit.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> made = advantage_table(AdvantageConfig(), from_lists([[1.0], [0.0], [0.5], [0.2]]))
    >>> BestOfGroup()(made).a.round(decimals=4).tolist()
    [1.1496, 0.0, 0.0, 0.0]
    """

    name: Literal["best_of_group"] = "best_of_group"
    std: bool = True
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        real_B, reward_B = table.batch.turn_mask_BT.any(1), table.outcome_B
        key_B = table.batch.key_B(self.by)
        stats = group_stats(reward_B, key_B, wide(real_B), table.frame.ddof)
        _, first_B = extremes(reward_B, key_B, real_B)
        top_B = real_B & (reward_B == first_B)
        alone_B = group_stats(wide(top_B), key_B, wide(top_B)).total == 1.0
        _, second_B = extremes(reward_B, key_B, real_B & ~top_B)
        lead_B = torch.where(top_B & alone_B & second_B.isfinite(), first_B - second_B, 0.0)
        if self.std:
            lead_B = torch.where(stats.std > 0, lead_B / (stats.std + table.frame.eps), 0.0)
        return table.shared(lead_B)
