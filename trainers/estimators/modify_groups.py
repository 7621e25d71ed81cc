"""Modifiers that set a trajectory against the statistics of its group, or a group against others.

What they judge by is the outcome: the sum of a trajectory's composed rewards, without KL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch

from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.groups import combined, extremes, group_stats, wide
from coevo.trainers.estimators.option import check_range

_MOST = 20.0
"""Largest exponent, so that a single token cannot overflow a weight."""


def sharpen(draft: Draft, *, lam: float = 2.5, kap: float = 0.5, by: str = "group") -> Draft:
    """Pay good trajectories more where they are unlikely: A + min(max(lam (1 - eta), 0), kap A).

    eta = exp(s - mean s of the group), s the mean log-probability of the trajectory's tokens.
    Only where A > 0: without that guard the cap would be negative for bad rows and make them
    worse; a cap of kap |A| would reward novel wrong answers. Source: XRPO (reviews and
    third-party code).

    Raises:
        ConfigError: The batch has no logp_old_BS.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0], [0.0], [1.0]])
    >>> logp_BS = torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]])
    >>> made = estimate(AdvantageSpec(), replace(batch, logp_old_BS=logp_BS))
    >>> sharpen(made).a.round(decimals=4).tolist()
    [0.866, -0.866, -0.866, 1.299]
    """
    check_range("lam", lam, 0.0, float("inf"))
    check_range("kap", kap, 0.0, float("inf"))
    mask_BS = draft.batch.token_mask_BS
    logp_BS = torch.where(mask_BS, wide(draft.batch.needed("logp_old_BS", "sharpen")), 0.0)
    tokens_B = wide(mask_BS).sum(1)
    s_B = logp_BS.sum(1) / tokens_B.clamp(min=1.0)
    mean_B = group_stats(s_B, draft.batch.key_B(by), wide(tokens_B > 0)).mean
    novel_B = (lam * (1.0 - (s_B - mean_B).clamp(-_MOST, _MOST).exp())).clamp(min=0.0)
    bonus = torch.minimum(draft.aligned("row", novel_B), kap * draft.a)
    return replace(draft, a=torch.where(draft.a > 0, draft.a + bonus, draft.a))


def blend_global(
    draft: Draft,
    *,
    gamma: float = 5.0,
    rho: float = 0.5,
    global_only_if_any_correct: bool = False,
    correct: float = 0.5,
    by: str = "group",
) -> Draft:
    """Give groups that agree a signal from other groups: A = w A + (1 - w) A_glob (COPO).

    A_glob = (mean R of the group - mean over groups) / (std over groups + eps), the same for all
    of the group; w = sigmoid(gamma (H - rho)), H the entropy, in nats, of the key `answer` in
    the group: where all answer alike, w is small. `global_only_if_any_correct` leaves A_glob out
    of groups in which no outcome reaches `correct`. Uniformly wrong groups are pushed down,
    uniformly right ones up. Source: COPO (page, abstract); gamma and rho are not public, 5 and
    0.5 are ours, and the paper blends losses, which is the same until a ratio is clipped.

    Raises:
        UnknownNameError: The batch has no key `answer`.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [1.0], [0.0], [0.0]], group=[0, 0, 1, 1], answer=[3, 3, 4, 4])
    >>> blend_global(estimate(AdvantageSpec(), batch)).a.round(decimals=4).tolist()
    [0.6535, 0.6535, -0.6535, -0.6535]
    """
    batch, real_B = draft.batch, wide(draft.batch.turn_mask_BT.any(1))
    key_B = batch.key_B(by)
    alike_B = group_stats(real_B, combined(key_B, batch.key_B("answer")), real_B).total
    group = group_stats(draft.outcome_B, key_B, real_B)
    share_B = (alike_B / group.total.clamp(min=1.0)).where(alike_B > 0, 1.0)
    entropy_B = group_stats(-share_B.log(), key_B, real_B).mean
    once_B = real_B / group.total.clamp(min=1.0)
    groups = group_stats(group.mean, torch.zeros_like(key_B), once_B, draft.frame.ddof)
    global_B = (group.mean - groups.mean) / (groups.std + draft.frame.eps)
    global_B = torch.where(groups.std > 0, global_B, 0.0)
    if global_only_if_any_correct:
        _, best_B = extremes(draft.outcome_B, key_B, real_B > 0)
        global_B = torch.where(best_B >= correct, global_B, 0.0)
    w_B = (gamma * (entropy_B - rho)).sigmoid()
    w, rest = draft.aligned("row", w_B), draft.aligned("row", (1.0 - w_B) * global_B)
    return replace(draft, a=draft.frame.hide(w * draft.a + rest))


def add_tree(draft: Draft, *, w: float = 1.0, std: bool = True, by: str = "group") -> Draft:
    """Add a comparison with the leaves of the same tree: A + w (Y - mean_tree) / (std_tree + eps).

    Trees are the key `tree` within `by`: trajectories that branched from a common beginning.
    Source: Tree-GRPO repository, on GRPO over all leaves of the prompt.

    Raises:
        UnknownNameError: The batch has no key `tree`.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0], [1.0], [1.0]], tree=[0, 0, 1, 1])
    >>> add_tree(estimate(AdvantageSpec(), batch)).a.round(decimals=4).tolist()
    [1.2071, -2.2071, 0.5, 0.5]
    """
    stats = draft.first.stats(draft.y, f"{by}+tree")
    tree = draft.first.minus_mean(draft.y, stats)
    tree = draft.first.over_std(tree, stats) if std else tree
    return replace(draft, a=draft.a + w * draft.aligned(draft.first.level, tree))


def grpo_fallback(draft: Draft, *, bound: float = 5.0, ddof: int = 1, by: str = "group") -> Draft:
    """Give groups with an advantage of `bound` or more the advantage of GRPO (HAPO).

    Statistics that count tokens can make a short answer in a group of long ones extreme; then
    the group gets (Y - mean) / (std + eps) with one observation per entry of the credit.
    Source: HAPO repository.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0]], tokens=[[1], [30]])
    >>> made = estimate(AdvantageSpec(weights="token", ddof=0), batch)
    >>> made.a.round(decimals=4).tolist(), grpo_fallback(made).a.round(decimals=4).tolist()
    ([5.4772, -0.1826], [0.7071, -0.7071])
    """
    check_range("bound", bound, 0.0, float("inf"))
    key, mask, plain = draft.frame.key(by), draft.frame.mask, replace(draft.first, weights="row")
    size = draft.a.abs().reshape(-1)
    _, largest = extremes(size, key.reshape(-1), mask.reshape(-1))
    stats = replace(plain, ddof=ddof).stats(draft.y, by)
    grpo = draft.aligned(plain.level, plain.over_std(plain.minus_mean(draft.y, stats), stats))
    return replace(draft, a=torch.where(largest.reshape(key.shape) >= bound, grpo, draft.a))


def weigh_prompts(draft: Draft, *, by: str = "group") -> Draft:
    """Let every group weigh the same, however often it was played: A mean(n) / n_group.

    For samplers that give starts unequal numbers of plays: a mean over rows would otherwise
    weigh a start by how often it was chosen.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0], [1.0], [0.0], [0.0], [1.0]], group=[0, 0, 1, 1, 1, 1])
    >>> made = estimate(AdvantageSpec(scale=option("none")), batch)
    >>> weigh_prompts(made).a.tolist()
    [0.75, -0.75, 0.375, -0.375, -0.375, 0.375]
    """
    real_B = wide(draft.batch.turn_mask_BT.any(1))
    plays_B = group_stats(real_B, draft.batch.key_B(by), real_B).total.clamp(min=1.0)
    mean = real_B.sum() / (real_B / plays_B).sum().clamp(min=1.0)
    return replace(draft, a=draft.a * draft.aligned("row", mean / plays_B))


def active_share(draft: Draft, *, of: Literal["reward", "advantage"] = "reward") -> Draft:
    """Make up for rows that teach nothing: A B / n, n the rows whose outcome is not 0 (GPG).

    `of="advantage"` counts the rows with any A that is not 0 instead: the gradient of a batch
    then does not shrink as more groups are all right or all wrong. With n = 0 nothing changes.
    Source: GPG vector of the sheet (rewards).

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0], [0.0], [1.0]])
    >>> active_share(estimate(AdvantageSpec(scale=option("none")), batch)).a.tolist()
    [1.0, -1.0, -1.0, 1.0]
    """
    real_B = draft.batch.turn_mask_BT.any(1)
    if of == "reward":
        active_B = draft.outcome_B != 0
    else:
        active_B = (draft.a != 0).reshape(len(real_B), -1).any(1)
    active = int((active_B & real_B).sum())
    return replace(draft, a=draft.a * (int(real_B.sum()) / active if active else 1.0))
