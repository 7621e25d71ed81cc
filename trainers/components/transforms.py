"""Transforms: what happens to an advantage after it is normalised, left to right, in its own level.

A transform may refine the level. Those that judge trajectories read the outcome: the sum of a
trajectory's composed rewards, without KL. Those that find turns are in `turn_transforms`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch

from coevo.envs.core.config import choice, config, real, whole
from coevo.trainers.components.base import Transform
from coevo.trainers.components.normalisations import TokenStd, unit_interval
from coevo.trainers.components.turn_transforms import (
    AddStateGroup,
    AddTurnReward,
    Align,
    MergeEdges,
    SumOthers,
)
from coevo.trainers.estimate import Estimate
from coevo.trainers.tensors import combined, extremes, group_stats, rank_in_group, wide

_MOST = 20.0
"""Largest exponent: exp(20) is 5e8, beyond what any weight should be."""


# ---- Entry by entry, and over the batch ----------------------------------------------------


@config
class ClipAdvantage(Transform):
    """Limit the advantage to [-bound, bound].

    >>> ClipAdvantage()(Estimate.of([[8.0], [-8.0]], "row")).y.tolist()
    [5.0, -5.0]
    """

    name: Literal["clip_advantage"] = "clip_advantage"
    bound: Annotated[float, real(0)] = 5.0

    def __call__(self, e: Estimate) -> Estimate:
        return e.to(torch.clamp(e.y, -self.bound, self.bound))


@config
class BatchWhiten(Transform):
    """Centre and divide by the deviation over the batch, counting entries by `weights`.

    >>> BatchWhiten()(Estimate.of([[3.0], [1.0]], "row")).y.round(decimals=4).tolist()
    [0.7071, -0.7071]
    """

    name: Literal["batch_whiten"] = "batch_whiten"

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.stats(None)
        return e.minus_mean(stats).over_std(stats)


@config
class TokenWhiten(Transform):
    """Centre and divide by the deviation over all policy tokens of the batch.

    >>> e = Estimate.of([[1.0], [0.0]], "row", tokens=[[3], [1]])
    >>> TokenWhiten()(e).y.round(decimals=4).tolist()
    [0.5, -1.5]
    """

    name: Literal["token_whiten"] = "token_whiten"

    def __call__(self, e: Estimate) -> Estimate:
        return TokenStd()(e)


@config
class ExpWeight(Transform):
    """Weigh by the exponential of the advantage: A exp(A / T) (RED-Weight).

    Good rows gain and bad rows fade. The exponent is held in [-20, 20].
    Source: REC (Trinity-RFT), T = 1, on `group_mean` without a unit.

    >>> ExpWeight()(Estimate.of([[0.5], [-0.5]], "row")).y.round(decimals=4).tolist()
    [0.8244, -0.3033]
    """

    name: Literal["exp_weight"] = "exp_weight"
    temperature: Annotated[float, real(above=0)] = 1.0

    def __call__(self, e: Estimate) -> Estimate:
        y = wide(e.y)
        return e.to(y * (y / self.temperature).clamp(-_MOST, _MOST).exp())


@config
class Shift(Transform):
    """Lower the baseline by beta: A + beta (AsymRE, baseline mean - beta).

    A positive beta leans on good rows, which is what off-policy data needs. Also groups of one
    and of equal rewards then get beta. Source: REC (Trinity-RFT), beta 0.1.

    >>> Shift()(Estimate.of([[0.5], [-0.5]], "row")).y.tolist()
    [0.6, -0.4]
    """

    name: Literal["shift"] = "shift"
    beta: Annotated[float, real()] = 0.1

    def __call__(self, e: Estimate) -> Estimate:
        return e.to(wide(e.y) + self.beta)


@config
class FilterSigma(Transform):
    """Drop outliers: A = 0 where |A| > sigma (StableReinforce).

    The unit is that of the advantage, so scale by a deviation first. The released code compares
    the standardised value with the mean of the raw ones +- 3; this is the filter of the paper.

    >>> FilterSigma()(Estimate.of([[2.5], [-3.5]], "row")).y.tolist()
    [2.5, 0.0]
    """

    name: Literal["filter_sigma"] = "filter_sigma"
    sigma: Annotated[float, real(0)] = 3.0

    def __call__(self, e: Estimate) -> Estimate:
        return e.to(torch.where(e.y.abs() <= self.sigma, e.y, 0.0))


# ---- Trajectories of a group ---------------------------------------------------------------


@config
class ShareSet(Transform):
    """Judge sets, not rows: A = f(S) - mean f over the group's sets, for every member of S.

    f(S) = mean_{i in S} R_i d(S), with R mapped to [0, 1] by `unit_interval` and d the share of
    different labels in S, so a good set is successful and diverse. What the advantage was before
    does not count. Sets are the key `set` within `by`; with `size` > 0 every group is cut into
    sets of so many rows instead, in a fixed order that does not depend on the order of rows
    and changes from batch to batch (what is left over is a smaller set).
    Source: polychromic objectives, n = 4.

    Raises:
        UnknownNameError: The batch has no such label, or neither `set` nor a size is given.
        ConfigError: A reward lies outside [low, high], where they are given.

    >>> keys = {"set": [0, 0, 1, 1], "answer": [0, 0, 1, 2]}
    >>> ShareSet()(Estimate.of([[1.0], [0.0], [1.0], [1.0]], "row", **keys)).y.tolist()
    [-0.375, -0.375, 0.375, 0.375]
    """

    name: Literal["share_set"] = "share_set"
    label: Literal["answer", "first_move"] = "answer"
    size: Annotated[int, whole(0)] = 0
    low: Annotated[float, real()] | None = None
    high: Annotated[float, real()] | None = None
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        batch = e.batch
        if self.size:
            e, seed = e.counted("share_set")
            rank_B = rank_in_group(batch.keys["trajectory"], batch.key_B(self.by), seed)
            set_B = combined(batch.key_B(self.by), rank_B // self.size)
        else:
            set_B = batch.key_B(f"{self.by}+set")
        real_B = batch.real_B
        paid = e.to(e.outcome_B, "row")
        reward_B, _ = unit_interval(paid, self.low, self.high, "transform 'share_set'")
        in_set = group_stats(reward_B, set_B, wide(real_B))
        twins_B = group_stats(
            reward_B, combined(set_B, batch.key_B(self.label)), wide(real_B)
        ).total
        different_B = group_stats(1.0 / twins_B.clamp(min=1.0), set_B, wide(real_B)).mean
        value_B = in_set.mean * different_B
        once_B = wide(real_B) / in_set.total.clamp(min=1.0)
        over_sets = group_stats(value_B, batch.key_B(self.by), once_B)
        return e.shared(torch.where(over_sets.constant, 0.0, value_B - over_sets.mean))


@config
class DropNegatives(Transform):
    """Leave out bad trajectories until a group has as many as good ones (RED-Drop).

    Good is R >= the mean of the group. Which bad ones stay is drawn by a scrambled order of the
    `trajectory` keys, from `seed` and the number of batches seen (state `drop_negatives/batches`):
    not by the order of rows. A is then centred again on what is kept, as if the others had never
    been played; those get 0. Source: REC (Trinity-RFT), `drop="balance"`.

    >>> e = Estimate.of([[0.0], [0.0], [0.0], [1.0]], "row")
    >>> sorted(DropNegatives()(e).y.tolist())
    [-0.5, 0.0, 0.0, 0.5]
    """

    name: Literal["drop_negatives"] = "drop_negatives"
    seed: Annotated[int, whole(0)] = 0
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        batch, real_B = e.batch, e.batch.real_B
        key_B = batch.key_B(self.by)
        e, seen = e.counted("drop_negatives")
        group = group_stats(e.outcome_B, key_B, wide(real_B))
        bad_B = real_B & ~group.constant & (e.outcome_B < group.mean)
        bad = group_stats(wide(bad_B), key_B, wide(real_B))
        excess_B = bad.mean * bad.total - (1.0 - bad.mean) * bad.total
        kind_B = combined(key_B, bad_B.to(torch.int64))
        rank_B = rank_in_group(batch.keys["trajectory"], kind_B, self.seed + seen)
        kept = e.aligned("row", wide(~bad_B | (wide(rank_B) >= excess_B - 0.5)))
        stats = group_stats(e.y, key_B, e.weight() * kept)
        centred = torch.where(stats.constant | (kept == 0), 0.0, e.y - stats.mean)
        return e.to(centred)


@config
class PairGate(Transform):
    """Keep a trajectory only where one of the other kind differs enough: A = 0 elsewhere (DaGRPO).

    Good is an outcome above the mean of the group, bad one below; a pair of a good and a bad one
    counts where |s_i - s_j| >= delta, and a trajectory in no such pair is left out. s is what the
    reward component `score` (with weight 0, if it is not to be paid) adds up to.
    Source: DaGRPO (abstract); the rule, and delta, are ours.

    Raises:
        UnknownNameError: The batch has no such component.

    >>> e = Estimate.of([[1.0], [0.9], [0.0]], "row")
    >>> PairGate(score="reward", delta=0.95)(e).y.tolist()
    [1.0, 0.0, 0.0]
    """

    name: Literal["pair_gate"] = "pair_gate"
    score: str = "score"
    delta: Annotated[float, real(0)] = 0.1
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        batch, real_B = e.batch, e.batch.real_B
        score_BT = wide(batch.reward_BTK[..., batch.component(self.score)])
        score_B = torch.where(batch.turn_mask_BT, score_BT, 0.0).sum(1)
        key_B = batch.key_B(self.by)
        mean_B = group_stats(e.outcome_B, key_B, wide(real_B)).mean
        good_B, bad_B = real_B & (e.outcome_B > mean_B), real_B & (e.outcome_B < mean_B)
        paired_B = torch.zeros_like(real_B)
        for mine_B, other_B in ((good_B, bad_B), (bad_B, good_B)):
            low_B, high_B = extremes(score_B, key_B, other_B)
            far_B = (score_B - low_B >= self.delta) | (high_B - score_B >= self.delta)
            paired_B |= mine_B & far_B
        paired = e.aligned("row", wide(paired_B)) > 0
        return e.to(torch.where(paired, e.y, 0.0))


@config
class BestOfGroup(Transform):
    """Pay the single best trajectory by its lead: A = (max R - second R) / (std + eps), others 0.

    What it adds to the best of the group, which is what pass@k rewards. A tie at the top gives
    everyone 0, as does a group of one. Source: GRPO-pass@k; `std=False` leaves the unit.

    >>> e = Estimate.of([[1.0], [0.0], [0.5], [0.2]], "row")
    >>> BestOfGroup()(e).y.round(decimals=4).tolist()
    [1.1496, 0.0, 0.0, 0.0]
    """

    name: Literal["best_of_group"] = "best_of_group"
    std: bool = True
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        real_B, reward_B = e.batch.real_B, e.outcome_B
        key_B = e.batch.key_B(self.by)
        stats = group_stats(reward_B, key_B, wide(real_B), e.ddof)
        _, first_B = extremes(reward_B, key_B, real_B)
        top_B = real_B & (reward_B == first_B)
        alone_B = group_stats(wide(top_B), key_B, wide(top_B)).total == 1.0
        _, second_B = extremes(reward_B, key_B, real_B & ~top_B)
        lead_B = torch.where(top_B & alone_B & second_B.isfinite(), first_B - second_B, 0.0)
        if self.std:
            lead_B = torch.where(stats.std > 0, lead_B / (stats.std + e.eps), 0.0)
        return e.shared(lead_B)


# ---- Groups --------------------------------------------------------------------------------


@config
class Sharpen(Transform):
    """Pay good trajectories more where they are unlikely: A + min(max(lam (1 - eta), 0), kap A).

    eta = exp(s - mean s of the group), s the mean log-probability of the trajectory's tokens.
    Only where A > 0: without that guard the cap would be negative for bad rows and make them
    worse; a cap of kap |A| would reward novel wrong answers. Source: XRPO (reviews and
    third-party code).

    Raises:
        ConfigError: The batch has no log-probabilities.

    >>> logp_CL = torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]])
    >>> e = Estimate.of([[1.0], [-1.0], [-1.0], [1.0]], "row", logp_old_CL=logp_CL)
    >>> Sharpen()(e).y.round(decimals=4).tolist()
    [1.0, -1.0, -1.0, 1.5]
    """

    name: Literal["sharpen"] = "sharpen"
    lam: Annotated[float, real(0)] = 2.5
    kap: Annotated[float, real(0)] = 0.5
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        s_B, mean_B = _mean_logp(e, self.by, self.name)
        novel_B = (self.lam * (1.0 - (s_B - mean_B).clamp(-_MOST, _MOST).exp())).clamp(min=0.0)
        bonus = torch.minimum(e.aligned("row", novel_B), self.kap * e.y)
        return e.to(torch.where(e.y > 0, e.y + bonus, e.y))


@config
class EntropyReshape(Transform):
    """Weigh trajectories by how sure they are: A (1 + (mean H - H_i) / mean H), at least 0.

    H is the entropy of a trajectory's tokens, estimated by the mean of -log p of those that were
    sampled; its mean is that of the group. Source: ETTRL, arXiv 2508.11356 (EAR).

    >>> logp_CL = torch.tensor([[-0.5], [-1.5]])
    >>> e = Estimate.of([[1.0], [-1.0]], "row", logp_old_CL=logp_CL)
    >>> EntropyReshape()(e).y.tolist()
    [1.5, -0.5]
    """

    name: Literal["entropy_reshape"] = "entropy_reshape"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        s_B, mean_B = _mean_logp(e, self.by, self.name)
        factor_B = torch.where(mean_B < 0, 2 - s_B / mean_B.clamp(max=-1e-12), 1.0)
        return e.to(e.y * e.aligned("row", factor_B.clamp(min=0.0)))


def _mean_logp(e: Estimate, by: str, option: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean log-probability of every trajectory's tokens, and that of its group."""
    mask_BS = e.batch.token_mask_BS
    logp_BS = torch.where(mask_BS, wide(e.batch.joined(e.batch.logp_start_CL(option))), 0.0)
    tokens_B = wide(mask_BS).sum(1)
    s_B = logp_BS.sum(1) / tokens_B.clamp(min=1.0)
    return s_B, group_stats(s_B, e.batch.key_B(by), wide(tokens_B > 0)).mean


@config
class BlendGlobal(Transform):
    """Return groups that agree a signal from other groups: A = w A + (1 - w) A_glob (COPO).

    A_glob = (mean R of the group - mean over groups) / (std over groups + eps), the same for all
    of the group; w = sigmoid(gamma (H - rho)), H the entropy, in nats, of the key `answer` in
    the group: where all answer alike, w is small. `global_only_if_any_correct` leaves A_glob out
    of groups in which no outcome reaches `correct`. Uniformly wrong groups are pushed down,
    uniformly right ones up. Source: COPO (page, abstract); gamma and rho are not public, 5 and
    0.5 are ours, and the paper blends losses, which is the same until a ratio is clipped.

    Raises:
        UnknownNameError: The batch has no key `answer`.

    >>> keys = {"group": [0, 0, 1, 1], "answer": [3, 3, 4, 4]}
    >>> e = Estimate.of([[1.0], [1.0], [0.0], [0.0]], "row", y=torch.zeros(4), **keys)
    >>> BlendGlobal()(e).y.round(decimals=4).tolist()
    [0.6535, 0.6535, -0.6535, -0.6535]
    """

    name: Literal["blend_global"] = "blend_global"
    gamma: Annotated[float, real()] = 5.0
    rho: Annotated[float, real()] = 0.5
    global_only_if_any_correct: bool = False
    correct: Annotated[float, real()] = 0.5
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        batch, real_B = e.batch, wide(e.batch.real_B)
        key_B = batch.key_B(self.by)
        alike_B = group_stats(real_B, combined(key_B, batch.key_B("answer")), real_B).total
        group = group_stats(e.outcome_B, key_B, real_B)
        share_B = (alike_B / group.total.clamp(min=1.0)).where(alike_B > 0, 1.0)
        entropy_B = group_stats(-share_B.log(), key_B, real_B).mean
        once_B = real_B / group.total.clamp(min=1.0)
        groups = group_stats(group.mean, torch.zeros_like(key_B), once_B, e.ddof)
        global_B = (group.mean - groups.mean) / (groups.std + e.eps)
        global_B = torch.where(groups.std > 0, global_B, 0.0)
        if self.global_only_if_any_correct:
            _, best_B = extremes(e.outcome_B, key_B, real_B > 0)
            global_B = torch.where(best_B >= self.correct, global_B, 0.0)
        w_B = (self.gamma * (entropy_B - self.rho)).sigmoid()
        w, rest = e.aligned("row", w_B), e.aligned("row", (1.0 - w_B) * global_B)
        return e.to(w * e.y + rest)


@config
class AddTree(Transform):
    """Add a comparison with the leaves of the same tree: A + w (Y - mean_tree) / (std_tree + eps).

    Trees are the key `branch` within `by`: trajectories that branched from a common beginning.
    Source: Tree-GRPO repository, on GRPO over all leaves of the prompt.

    Raises:
        UnknownNameError: The batch has no key `branch`.

    >>> e = Estimate.of([[1.0], [0.0], [1.0], [1.0]], "row", branch=[0, 0, 1, 1])
    >>> AddTree(std=False)(e).y.tolist()
    [1.5, -0.5, 1.0, 1.0]
    """

    name: Literal["add_tree"] = "add_tree"
    w: Annotated[float, real()] = 1.0
    std: bool = True
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.credit.stats(f"{self.by}+branch")
        tree = e.credit.minus_mean(stats)
        tree = tree.over_std(stats) if self.std else tree
        return e.to(e.y + self.w * e.aligned(tree.level, tree.y))


@config
class GrpoFallback(Transform):
    """Return groups with an advantage of `bound` or more the advantage of GRPO (HAPO).

    Statistics that count tokens can make a short answer in a group of long ones extreme; then
    the group gets (Y - mean) / (std + eps) with one observation per entry of the credit.
    Source: HAPO repository.

    >>> e = Estimate.of([[1.0], [0.0]], "row", y=torch.tensor([5.4772, -0.1826]))
    >>> e = replace(e, credited=Estimate.of([[1.0], [0.0]], "row"))
    >>> GrpoFallback()(e).y.round(decimals=4).tolist()
    [0.7071, -0.7071]
    """

    name: Literal["grpo_fallback"] = "grpo_fallback"
    bound: Annotated[float, real(0)] = 5.0
    ddof: Annotated[int, whole(0, 1)] = 1
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        key, plain = e.key(self.by), replace(e.credit, weights="row", ddof=self.ddof)
        _, largest = extremes(e.y.abs().reshape(-1), key.reshape(-1), e.mask.reshape(-1))
        stats = plain.stats(self.by)
        grpo = e.aligned(plain.level, plain.minus_mean(stats).over_std(stats).y)
        return e.to(torch.where(largest.reshape(key.shape) >= self.bound, grpo, e.y))


@config
class CompareEpisodes(Transform):
    """Return all seats of an episode one advantage: (M - mean M) / (std M + eps) over episodes.

    M is the mean of the raw credit over all replies of the episode, and every episode of a group
    counts once. Use it without a baseline. Source: langfengQ/DrMAS@19c632b with
    `group_by_agent_id=False`.

    >>> keys = {"seat": [0, 0, 1, 1], "episode": [0, 1, 0, 1]}
    >>> e = Estimate.of([[1.0], [0.0], [0.2], [0.2]], "row", **keys)
    >>> CompareEpisodes()(e).y.round(decimals=4).tolist()
    [0.7071, -0.7071, 0.7071, -0.7071]
    """

    name: Literal["compare_episodes"] = "compare_episodes"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        key_B, episode_B = e.batch.key_B(self.by), e.batch.key_B("episode")
        weight = e.credit.weight("turn")
        mean = group_stats(e.credit.y, episode_B, weight).mean
        mean_B = mean if mean.ndim == 1 else mean[:, 0]
        real_B = wide(e.batch.real_B)
        once_B = real_B / group_stats(real_B, episode_B, real_B).total.clamp(min=1.0)
        stats = group_stats(mean_B, key_B, once_B, e.ddof)
        a_B = torch.where(stats.std > 0, (mean_B - stats.mean) / (stats.std + e.eps), 0.0)
        return e.shared(a_B)


@config
class WeighPrompts(Transform):
    """Let every group weigh the same, however often it was played: A mean(n) / n_group.

    For samplers that give tasks unequal numbers of episodes: a mean over rows would otherwise
    weigh a task by how often it was chosen.

    >>> e = Estimate.of([[1.0]] * 6, "row", group=[0, 0, 1, 1, 1, 1])
    >>> WeighPrompts()(e).y.tolist()
    [1.5, 1.5, 0.75, 0.75, 0.75, 0.75]
    """

    name: Literal["weigh_prompts"] = "weigh_prompts"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        real_B = wide(e.batch.real_B)
        size_B = group_stats(real_B, e.batch.key_B(self.by), real_B).total.clamp(min=1.0)
        mean = real_B.sum() / (real_B / size_B).sum().clamp(min=1.0)
        return e.to(e.y * e.aligned("row", mean / size_B))


@config
class ActiveShare(Transform):
    """Make up for groups that teach nothing: A B / n, n the rows of groups that differ (GPG).

    The gradient of a batch then does not shrink as more groups are all right or all wrong. With
    n = 0 nothing changes. `of="reward"` counts the rows whose outcome is not 0 instead, which
    means something only where failures pay exactly 0.
    Source: AMAP-ML/GPG@e096da8; `reward`: volcengine/verl@b178a3cd5, compute_gpg_outcome_advantage.

    >>> e = Estimate.of([[1.0], [0.0], [1.0], [1.0]], "row", group=[0, 0, 1, 1])
    >>> ActiveShare()(e).y.tolist()
    [2.0, 0.0, 2.0, 2.0]
    """

    name: Literal["active_share"] = "active_share"
    of: Literal["group", "reward"] = "group"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        real_B = e.batch.real_B
        if self.of == "reward":
            active_B = e.outcome_B != 0
        else:
            key_B = e.batch.key_B(self.by)
            active_B = ~group_stats(e.outcome_B, key_B, wide(real_B)).constant
        active = int((active_B & real_B).sum())
        return e.to(e.y * (int(real_B.sum()) / active if active else 1.0))


AnyTransform = Annotated[
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
    | EntropyReshape
    | BlendGlobal
    | AddTree
    | GrpoFallback
    | CompareEpisodes
    | WeighPrompts
    | ActiveShare
    | AddStateGroup
    | AddTurnReward
    | MergeEdges
    | Align
    | SumOthers,
    choice(Transform),
]
