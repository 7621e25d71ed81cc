"""Modifiers that set a trajectory against the statistics of its group, or a group against others.

What they judge by is the outcome: the sum of a trajectory's composed rewards, without KL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch

from coevo.envs.core.config import config, real, whole
from coevo.trainers.estimators.groups import combined, extremes, group_stats, wide
from coevo.trainers.estimators.table import AdvantageTable

_MOST = 20.0
"""Largest exponent, so that a single token cannot overflow a weight."""


@config
class Sharpen:
    """Pay good trajectories more where they are unlikely: A + min(max(lam (1 - eta), 0), kap A).

    eta = exp(s - mean s of the group), s the mean log-probability of the trajectory's tokens.
    Only where A > 0: without that guard the cap would be negative for bad rows and make them
    worse; a cap of kap |A| would reward novel wrong answers. Source: XRPO (reviews and
    third-party code).

    Raises:
        ConfigError: The batch has no logp_old_BS.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [0.0], [1.0]])
    >>> logp_BS = torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]])
    >>> made = advantage_table(AdvantageConfig(), replace(batch, logp_old_BS=logp_BS))
    >>> Sharpen()(made).a.round(decimals=4).tolist()
    [0.866, -0.866, -0.866, 1.299]
    """

    name: Literal["sharpen"] = "sharpen"
    lam: Annotated[float, real(0)] = 2.5
    kap: Annotated[float, real(0)] = 0.5
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        mask_BS = table.batch.token_mask_BS
        logp_BS = torch.where(mask_BS, wide(table.batch.needed("logp_old_BS", self.name)), 0.0)
        tokens_B = wide(mask_BS).sum(1)
        s_B = logp_BS.sum(1) / tokens_B.clamp(min=1.0)
        mean_B = group_stats(s_B, table.batch.key_B(self.by), wide(tokens_B > 0)).mean
        novel_B = (self.lam * (1.0 - (s_B - mean_B).clamp(-_MOST, _MOST).exp())).clamp(min=0.0)
        bonus = torch.minimum(table.aligned("row", novel_B), self.kap * table.a)
        return replace(table, a=torch.where(table.a > 0, table.a + bonus, table.a))


@config
class BlendGlobal:
    """Return groups that agree a signal from other groups: A = w A + (1 - w) A_glob (COPO).

    A_glob = (mean R of the group - mean over groups) / (std over groups + eps), the same for all
    of the group; w = sigmoid(gamma (H - rho)), H the entropy, in nats, of the key `answer` in
    the group: where all answer alike, w is small. `global_only_if_any_correct` leaves A_glob out
    of groups in which no outcome reaches `correct`. Uniformly wrong groups are pushed down,
    uniformly right ones up. Source: COPO (page, abstract); gamma and rho are not public, 5 and
    0.5 are ours, and the paper blends losses, which is the same until a ratio is clipped.

    Raises:
        UnknownNameError: The batch has no key `answer`.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [1.0], [0.0], [0.0]], group=[0, 0, 1, 1], answer=[3, 3, 4, 4])
    >>> BlendGlobal()(advantage_table(AdvantageConfig(), batch)).a.round(decimals=4).tolist()
    [0.6535, 0.6535, -0.6535, -0.6535]
    """

    name: Literal["blend_global"] = "blend_global"
    gamma: Annotated[float, real()] = 5.0
    rho: Annotated[float, real()] = 0.5
    global_only_if_any_correct: bool = False
    correct: Annotated[float, real()] = 0.5
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        batch, real_B = table.batch, wide(table.batch.turn_mask_BT.any(1))
        key_B = batch.key_B(self.by)
        alike_B = group_stats(real_B, combined(key_B, batch.key_B("answer")), real_B).total
        group = group_stats(table.outcome_B, key_B, real_B)
        share_B = (alike_B / group.total.clamp(min=1.0)).where(alike_B > 0, 1.0)
        entropy_B = group_stats(-share_B.log(), key_B, real_B).mean
        once_B = real_B / group.total.clamp(min=1.0)
        groups = group_stats(group.mean, torch.zeros_like(key_B), once_B, table.frame.ddof)
        global_B = (group.mean - groups.mean) / (groups.std + table.frame.eps)
        global_B = torch.where(groups.std > 0, global_B, 0.0)
        if self.global_only_if_any_correct:
            _, best_B = extremes(table.outcome_B, key_B, real_B > 0)
            global_B = torch.where(best_B >= self.correct, global_B, 0.0)
        w_B = (self.gamma * (entropy_B - self.rho)).sigmoid()
        w, rest = table.aligned("row", w_B), table.aligned("row", (1.0 - w_B) * global_B)
        return replace(table, a=table.frame.hide(w * table.a + rest))


@config
class AddTree:
    """Add a comparison with the leaves of the same tree: A + w (Y - mean_tree) / (std_tree + eps).

    Trees are the key `tree` within `by`: trajectories that branched from a common beginning.
    Source: Tree-GRPO repository, on GRPO over all leaves of the prompt.

    Raises:
        UnknownNameError: The batch has no key `tree`.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [1.0], [1.0]], tree=[0, 0, 1, 1])
    >>> AddTree()(advantage_table(AdvantageConfig(), batch)).a.round(decimals=4).tolist()
    [1.2071, -2.2071, 0.5, 0.5]
    """

    name: Literal["add_tree"] = "add_tree"
    w: Annotated[float, real()] = 1.0
    std: bool = True
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        stats = table.first.stats(table.y, f"{self.by}+tree")
        tree = table.first.minus_mean(table.y, stats)
        tree = table.first.over_std(tree, stats) if self.std else tree
        return replace(table, a=table.a + self.w * table.aligned(table.first.level, tree))


@config
class GrpoFallback:
    """Return groups with an advantage of `bound` or more the advantage of GRPO (HAPO).

    Statistics that count tokens can make a short answer in a group of long ones extreme; then
    the group gets (Y - mean) / (std + eps) with one observation per entry of the credit.
    Source: HAPO repository.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0]], tokens=[[1], [30]])
    >>> made = advantage_table(AdvantageConfig(weights="token", ddof=0), batch)
    >>> made.a.round(decimals=4).tolist(), GrpoFallback()(made).a.round(decimals=4).tolist()
    ([5.4772, -0.1826], [0.7071, -0.7071])
    """

    name: Literal["grpo_fallback"] = "grpo_fallback"
    bound: Annotated[float, real(0)] = 5.0
    ddof: Annotated[int, whole(0, 1)] = 1
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        key, mask, plain = (
            table.frame.key(self.by),
            table.frame.mask,
            replace(table.first, weights="row"),
        )
        size = table.a.abs().reshape(-1)
        _, largest = extremes(size, key.reshape(-1), mask.reshape(-1))
        stats = replace(plain, ddof=self.ddof).stats(table.y, self.by)
        grpo = table.aligned(plain.level, plain.over_std(plain.minus_mean(table.y, stats), stats))
        return replace(
            table, a=torch.where(largest.reshape(key.shape) >= self.bound, grpo, table.a)
        )


@config
class CompareEpisodes:
    """Return all seats of an episode one advantage: (M - mean M) / (std M + eps) over episodes.

    M is the mean of the raw credit over all replies of the episode, and every episode of a group
    counts once. Use it without a baseline. Source: langfengQ/DrMAS@19c632b with
    `group_by_agent_id=False`.

    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [0.2], [0.2]], seat=[0, 0, 1, 1], play=[0, 1, 0, 1])
    >>> made = advantage_table(AdvantageConfig(), batch)
    >>> CompareEpisodes()(made).a.round(decimals=4).tolist()
    [0.7071, -0.7071, 0.7071, -0.7071]
    """

    name: Literal["compare_episodes"] = "compare_episodes"
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        key_B, play_B = table.batch.key_B(self.by), table.batch.key_B("play")
        weight = table.first.weight("turn")
        mean = group_stats(table.y, play_B, weight).mean
        mean_B = mean if mean.ndim == 1 else mean[:, 0]
        real_B = wide(table.batch.turn_mask_BT.any(1))
        once_B = real_B / group_stats(real_B, play_B, real_B).total.clamp(min=1.0)
        stats = group_stats(mean_B, key_B, once_B, table.frame.ddof)
        a_B = torch.where(stats.std > 0, (mean_B - stats.mean) / (stats.std + table.frame.eps), 0.0)
        return table.shared(a_B)


@config
class WeighPrompts:
    """Let every group weigh the same, however often it was played: A mean(n) / n_group.

    For samplers that give starts unequal numbers of plays: a mean over rows would otherwise
    weigh a start by how often it was chosen.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [1.0], [0.0], [0.0], [1.0]], group=[0, 0, 1, 1, 1, 1])
    >>> made = advantage_table(AdvantageConfig(normalise=NoNormalisation()), batch)
    >>> WeighPrompts()(made).a.tolist()
    [0.75, -0.75, 0.375, -0.375, -0.375, 0.375]
    """

    name: Literal["weigh_prompts"] = "weigh_prompts"
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        real_B = wide(table.batch.turn_mask_BT.any(1))
        plays_B = group_stats(real_B, table.batch.key_B(self.by), real_B).total.clamp(min=1.0)
        mean = real_B.sum() / (real_B / plays_B).sum().clamp(min=1.0)
        return replace(table, a=table.a * table.aligned("row", mean / plays_B))


@config
class ActiveShare:
    """Make up for groups that teach nothing: A B / n, n the rows of groups that differ (GPG).

    The gradient of a batch then does not shrink as more groups are all right or all wrong. With
    n = 0 nothing changes. `of="reward"` counts the rows whose outcome is not 0 instead, which
    means something only where failures pay exactly 0.
    Source: AMAP-ML/GPG@e096da8; `reward`: volcengine/verl@b178a3cd5, compute_gpg_outcome_advantage.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[1.0], [0.0], [1.0], [1.0]], group=[0, 0, 1, 1])
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> ActiveShare()(advantage_table(config, batch)).a.tolist()
    [1.0, -1.0, 0.0, 0.0]
    """

    name: Literal["active_share"] = "active_share"
    of: Literal["group", "reward"] = "group"
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        real_B = table.batch.turn_mask_BT.any(1)
        if self.of == "reward":
            active_B = table.outcome_B != 0
        else:
            key_B = table.batch.key_B(self.by)
            active_B = ~group_stats(table.outcome_B, key_B, wide(real_B)).constant
        active = int((active_B & real_B).sum())
        return replace(table, a=table.a * (int(real_B.sum()) / active if active else 1.0))
