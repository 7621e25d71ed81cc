"""The frame of a credit table: which entries are observations, their groups and their weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.broadcast import expand_rows, expand_turns, sum_turns
from coevo.trainers.estimators.credit import Level
from coevo.trainers.estimators.groups import GroupStats, group_stats, wide
from coevo.trainers.estimators.trajectories import Trajectories

WEIGHTS = ("row", "turn", "token", "trajectory")


@dataclass(frozen=True)
class Frame:
    """How the entries of a table [B], [B, T] or [B, S] enter statistics.

    Weights: `row` counts every entry of the table once (with turn-level credit: every turn);
    `turn`, `token` and `trajectory` count every turn, policy token or trajectory once, whatever
    the level of the table, and an entry that spans several of them weighs as many.

    Raises:
        UnknownNameError: There are no such weights.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[1.0, 2.0]], tokens=[[3, 1]])
    >>> Frame(batch, "turn", weights="token").weight().tolist()
    [[3.0, 1.0]]
    """

    batch: Trajectories
    level: Level
    weights: str = "row"
    ddof: int = 1
    eps: float = 1e-6

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise unknown("weights", self.weights, WEIGHTS)

    @property
    def mask(self) -> Tensor:
        """True at real entries, in the shape of the table."""
        if self.level == "row":
            return self.batch.turn_mask_BT.any(1)
        return self.batch.turn_mask_BT if self.level == "turn" else self.batch.token_mask_BS

    def key(self, by: str | None) -> Tensor:
        """Give the group of every entry; None puts all entries in one group."""
        mask = self.mask
        if by is None:
            return torch.zeros_like(mask, dtype=torch.int64)
        key_B = self.batch.key_B(by)
        return key_B if self.level == "row" else key_B.unsqueeze(1).expand_as(mask)

    def weight(self, weights: str | None = None) -> Tensor:
        """Give the weight of every entry (float64), 0 at padding."""
        unit = weights or self.weights
        one = wide(self.mask)
        if unit == "row" or unit == self.level:
            return one
        turns_B, tokens_B = wide(self.batch.turn_mask_BT).sum(1), self._tokens_BT.sum(1)
        if unit == "trajectory":
            entries = one if self.level == "row" else one.sum(1, keepdim=True)
            return one / entries.clamp(min=1.0)
        if self.level == "row":
            return turns_B if unit == "turn" else tokens_B
        if self.level == "turn":
            return self._tokens_BT
        return one / expand_turns(self._tokens_BT, self.batch.turn_of_BS).clamp(min=1.0)

    def stats(self, y: Tensor, by: str | None, weights: str | None = None) -> GroupStats:
        """Compute `group_stats` of a table over the groups of a key."""
        return group_stats(y, self.key(by), self.weight(weights), self.ddof)

    def hide(self, y: Tensor) -> Tensor:
        """Set the entries outside the mask to 0."""
        return torch.where(self.mask, y, 0.0)

    def to_tokens(self, y: Tensor) -> Tensor:
        """Spread a table over the policy tokens, [B, S]."""
        if self.level == "row":
            return expand_rows(y, self.batch.turn_of_BS)
        return expand_turns(y, self.batch.turn_of_BS) if self.level == "turn" else self.hide(y)

    @property
    def _tokens_BT(self) -> Tensor:
        one_BS = wide(self.batch.token_mask_BS)
        return sum_turns(one_BS, self.batch.turn_of_BS, self.batch.turn_mask_BT.shape[1])
