"""Modifiers that choose trajectories of a group: sets, pairs, the best one, those left out.

What they judge by is the outcome: the sum of a trajectory's composed rewards, without KL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch

from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.groups import combined, extremes, group_stats, wide
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


def drop_negatives(draft: Draft, *, seed: int = 0, by: str = "group") -> Draft:
    """Leave out bad trajectories until a group has as many as good ones (RED-Drop).

    Good is R >= the mean of the group. Which bad ones stay is drawn by a scrambled order of the
    `trajectory` keys, from `seed` and the number of batches seen (state `drop_negatives/batches`):
    not by the order of rows. A is then centred again on what is kept, as if the others had never
    been played; those get 0. Source: REC (Trinity-RFT), `drop="balance"`.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[0.0], [0.0], [0.0], [1.0]])
    >>> made = estimate(AdvantageSpec(scale=option("none")), batch)
    >>> sorted(drop_negatives(made).a.tolist())
    [-0.5, 0.0, 0.0, 0.5]
    """
    batch, real_B = draft.batch, draft.batch.turn_mask_BT.any(1)
    key_B = batch.key_B(by)
    draft, seen = draft.counted("drop_negatives")
    group = group_stats(draft.outcome_B, key_B, wide(real_B))
    bad_B = real_B & ~group.constant & (draft.outcome_B < group.mean)
    bad = group_stats(wide(bad_B), key_B, wide(real_B))
    excess_B = bad.mean * bad.total - (1.0 - bad.mean) * bad.total
    kind_B = combined(key_B, bad_B.to(torch.int64))
    rank_B = rank_in_group(batch.keys["trajectory"], kind_B, seed + seen)
    kept = draft.aligned("row", wide(~bad_B | (wide(rank_B) >= excess_B - 0.5)))
    stats = group_stats(draft.a, key_B, draft.frame.weight() * kept)
    centred = torch.where(stats.constant | (kept == 0), 0.0, draft.a - stats.mean)
    return replace(draft, a=draft.frame.hide(centred))


def pair_gate(
    draft: Draft, *, score: str = "score", delta: float = 0.1, by: str = "group"
) -> Draft:
    """Keep a trajectory only where one of the other kind differs enough: A = 0 elsewhere (DaGRPO).

    Good is an outcome above the mean of the group, bad one below; a pair of a good and a bad one
    counts where |s_i - s_j| >= delta, and a trajectory in no such pair is left out. s is what the
    reward component `score` (with weight 0, if it is not to be paid) adds up to.
    Source: DaGRPO (abstract); the rule, and delta, are ours.

    Raises:
        UnknownNameError: The batch has no such component.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.9], [0.0]])
    >>> made = estimate(AdvantageSpec(scale=option("none")), batch)
    >>> pair_gate(made, score="reward", delta=0.95).a.round(decimals=4).tolist()
    [0.3667, 0.0, -0.6333]
    """
    check_range("delta", delta, 0.0, float("inf"))
    batch, real_B = draft.batch, draft.batch.turn_mask_BT.any(1)
    if score not in batch.components:
        raise unknown("reward component", score, batch.components)
    score_BT = wide(batch.reward_BTK[..., batch.components.index(score)])
    score_B = torch.where(batch.turn_mask_BT, score_BT, 0.0).sum(1)
    key_B = batch.key_B(by)
    mean_B = group_stats(draft.outcome_B, key_B, wide(real_B)).mean
    good_B, bad_B = real_B & (draft.outcome_B > mean_B), real_B & (draft.outcome_B < mean_B)
    paired_B = torch.zeros_like(real_B)
    for mine_B, other_B in ((good_B, bad_B), (bad_B, good_B)):
        low_B, high_B = extremes(score_B, key_B, other_B)
        far_B = (score_B - low_B >= delta) | (high_B - score_B >= delta)
        paired_B |= mine_B & far_B
    paired = draft.aligned("row", wide(paired_B)) > 0
    return replace(draft, a=torch.where(paired, draft.a, 0.0))


def best_of_group(draft: Draft, *, std: bool = True, by: str = "group") -> Draft:
    """Pay the single best trajectory by its lead: A = (max R - second R) / (std + eps), others 0.

    What it adds to the best of the group, which is what pass@k rewards. A tie at the top gives
    everyone 0, as does a group of one. Source: GRPO-pass@k; `std=False` leaves the unit.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(), from_lists([[1.0], [0.0], [0.5], [0.2]]))
    >>> best_of_group(made).a.round(decimals=4).tolist()
    [1.1496, 0.0, 0.0, 0.0]
    """
    real_B, reward_B = draft.batch.turn_mask_BT.any(1), draft.outcome_B
    key_B = draft.batch.key_B(by)
    stats = group_stats(reward_B, key_B, wide(real_B), draft.frame.ddof)
    _, first_B = extremes(reward_B, key_B, real_B)
    top_B = real_B & (reward_B == first_B)
    alone_B = group_stats(wide(top_B), key_B, wide(top_B)).total == 1.0
    _, second_B = extremes(reward_B, key_B, real_B & ~top_B)
    lead_B = torch.where(top_B & alone_B & second_B.isfinite(), first_B - second_B, 0.0)
    if std:
        lead_B = torch.where(stats.std > 0, lead_B / (stats.std + draft.frame.eps), 0.0)
    return draft.shared(lead_B)
