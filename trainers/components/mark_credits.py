"""Credits that read marks: what a judge said of every turn, beside what the episode earned."""

from __future__ import annotations

from typing import Annotated, Literal

import torch

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

    def __call__(self, e: Estimate) -> Estimate:
        batch, mask_BT = e.batch, e.batch.turn_mask_BT
        mark_BT, key_B = wide(batch.mark_BT(self.mark)), batch.key_B(self.by)
        seen_BT = mask_BT & ~mark_BT.isnan()
        share_BT = wide(seen_BT) / seen_BT.sum(1, keepdim=True).clamp(min=1)
        marks = group_stats(mark_BT, key_B, share_BT, ddof=0)
        z_BT = torch.where(seen_BT, (mark_BT - marks.mean) / (marks.std + e.eps), 0.0)
        total_B = on_turns(e).sum(1)
        outcomes = group_stats(total_B, key_B, wide(batch.real_B), ddof=0)
        z_B = (total_B - outcomes.mean) / (outcomes.std + e.eps)
        last_BT = mask_BT & ~torch.cat([mask_BT[:, 1:], torch.zeros_like(mask_BT[:, :1])], 1)
        y_BT = self.alpha * z_BT + torch.where(last_BT, z_B.unsqueeze(1), 0.0)
        return e.to(discounted(y_BT, mask_BT, 1.0))
