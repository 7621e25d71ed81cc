"""Modifiers that compare whole trajectories with others of their group.

What they judge by is the outcome: the sum of a trajectory's composed rewards, without KL.
"""

from __future__ import annotations

from typing import Literal

import torch

from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.groups import combined, group_stats, wide
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.order import rank_in_group
from coevo.trainers.estimators.scale import unit_interval


def share_set(
    draft: Draft,
    *,
    label: Literal["answer", "opening"] = "answer",
    size: int = 0,
    low: float = 0.0,
    high: float = 1.0,
    by: str = "group",
) -> Draft:
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

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0], [1.0], [1.0]], set=[0, 0, 1, 1], answer=[0, 0, 1, 2])
    >>> share_set(estimate(AdvantageSpec(), batch)).a.tolist()
    [-0.375, -0.375, 0.375, 0.375]
    """
    batch = draft.batch
    if size:
        check_range("size", size, 1, float("inf"))
        draft, seed = draft.counted("share_set")
        rank_B = rank_in_group(batch.keys["trajectory"], batch.key_B(by), seed)
        set_B = combined(batch.key_B(by), rank_B // size)
    else:
        set_B = batch.key_B(f"{by}+set")
    real_B = batch.turn_mask_BT.any(1)
    reward_B = unit_interval(draft.outcome_B, real_B, low, high, "modify 'share_set'")
    in_set = group_stats(reward_B, set_B, wide(real_B))
    twins_B = group_stats(reward_B, combined(set_B, batch.key_B(label)), wide(real_B)).total
    different_B = group_stats(1.0 / twins_B.clamp(min=1.0), set_B, wide(real_B)).mean
    value_B = in_set.mean * different_B
    once_B = wide(real_B) / in_set.total.clamp(min=1.0)
    over_sets = group_stats(value_B, batch.key_B(by), once_B)
    return draft.shared(torch.where(over_sets.constant, 0.0, value_B - over_sets.mean))
