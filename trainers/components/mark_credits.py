"""Credits that read marks: what a judge said of every turn, beside what the episode earned."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.components.base import Credit
from coevo.trainers.estimate import Estimate, on_turns
from coevo.trainers.tensors import discounted, group_stats, wide


@config
class Attributed(Credit):
    """Add what is said of every turn to the outcome (AgentEvolver's attribution).

    Y_t = sum_{s >= t} (alpha z(m_s) + z(R) [s is the last turn]), m_s the mark, R the outcome. Both
    z are over the group `by`, with the population deviation; for marks every trajectory weighs the
    same, whatever its length. A turn without a mark has z = 0. It centres and scales by itself: use
    it with `no_baseline` and `no_normalisation`.
    Source: modelscope/AgentEvolver, alpha 0.1 (0.2 in its script).

    >>> mark_BTM = torch.tensor([[[1.0], [-1.0]], [[1.0], [1.0]]])
    >>> e = Estimate.of([[0.0, 1.0], [0.0, 0.0]], mark_BTM=mark_BTM, marks=("good",))
    >>> Attributed(alpha=0.5)(e).y.round(decimals=3).tolist()
    [[0.423, 0.134], [-0.423, -0.711]]
    """

    name: Literal["attributed"] = "attributed"
    mark: str = "good"
    """Mark that is read."""
    alpha: Annotated[float, real(0)] = 0.1
    """Weight of the marks beside the outcome."""
    by: str = "group"
    """Trajectories that are compared."""

    @property
    def reads_mark(self) -> str:
        return self.mark

    def said(self, e: Estimate) -> Tensor:
        """Return what is said of every turn, [B, T]; NaN where nothing is."""
        return wide(e.batch.mark_BT(self.mark))

    def __call__(self, e: Estimate) -> Estimate:
        batch, mask_BT = e.batch, e.batch.turn_mask_BT
        said_BT, key_B = self.said(e), batch.key_B(self.by)
        seen_BT = mask_BT & ~said_BT.isnan()
        share_BT = wide(seen_BT) / seen_BT.sum(1, keepdim=True).clamp(min=1)
        marks = group_stats(said_BT, key_B, share_BT, ddof=0)
        z_BT = torch.where(seen_BT, (said_BT - marks.mean) / (marks.std + e.eps), 0.0)
        total_B = on_turns(e).sum(1)
        outcomes = group_stats(total_B, key_B, wide(batch.real_B), ddof=0)
        z_B = (total_B - outcomes.mean) / (outcomes.std + e.eps)
        last_BT = mask_BT & ~torch.cat([mask_BT[:, 1:], torch.zeros_like(mask_BT[:, :1])], 1)
        y_BT = self.alpha * z_BT + torch.where(last_BT, z_B.unsqueeze(1), 0.0)
        return e.to(discounted(y_BT, mask_BT, 1.0))


@config
class Thoughts(Attributed):
    """Merge turns in a row with marks of one sign into thoughts, and credit each at its end.

    A good thought is worth (1 - p) / n, a bad one -p / n, p being the share of the group's
    trajectories whose outcome is above `success`, n the thoughts of the trajectory: where a task is
    hard what is good counts, where it is easy what is bad. The rest is as in `attributed`; z
    cancels p where all trajectories have as many thoughts. A turn without a mark ends a thought.
    Source: TP-GRPO, arXiv 2507.23317 (thoughts, adaptive to ability); its formula is not known,
    this one is ours.

    >>> mark_BTM = torch.tensor([[[1.0], [1.0], [-1.0]], [[-1.0], [-1.0], [-1.0]]])
    >>> rewards = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    >>> e = Estimate.of(rewards, mark_BTM=mark_BTM, marks=("good",))
    >>> Thoughts().said(e).tolist()
    [[nan, 0.25, -0.25], [nan, nan, -0.5]]
    """

    name: Literal["thoughts"] = "thoughts"  # type: ignore[assignment]
    success: Annotated[float, real()] = 0.5
    """Outcome above which a trajectory counts as a success."""

    def said(self, e: Estimate) -> Tensor:
        mark_BT, mask_BT = super().said(e), e.batch.turn_mask_BT
        seen_BT = mask_BT & ~mark_BT.isnan()
        sign_BT = torch.where(seen_BT, torch.where(mark_BT > 0, 1.0, -1.0), 0.0)
        after_BT = torch.cat([sign_BT[:, 1:], torch.zeros_like(sign_BT[:, :1])], 1)
        end_BT = seen_BT & (sign_BT != after_BT)
        won_B = wide(on_turns(e).sum(1) > self.success)
        p_B = group_stats(won_B, e.batch.key_B(self.by), wide(e.batch.real_B)).mean
        worth_BT = torch.where(sign_BT > 0, 1 - p_B.unsqueeze(1), -p_B.unsqueeze(1))
        worth_BT = worth_BT / end_BT.sum(1, keepdim=True).clamp(min=1)
        return torch.where(end_BT, worth_BT, torch.nan)
