"""The frame of a credit table: which entries are observations, their groups and their weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.broadcast import expand_rows, expand_turns, sum_turns
from coevo.trainers.estimators.groups import GroupStats, combined, group_stats, wide
from coevo.trainers.estimators.rewards import Level
from coevo.trainers.estimators.trajectories import Trajectories

WEIGHTS = ("row", "turn", "token", "trajectory")
_OF_TURNS = {"state": "state_BT", "action": "action_BT"}


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
        """Give the group of every entry; None puts all entries in one group.

        Names joined by `+` give their combinations. Besides the keys of the batch, `state` and
        `action` name what the seat saw before the entry's turn and what it did there.

        Raises:
            UnknownNameError: There is no such key.
            ConfigError: `state` or `action` is asked of rows, or of a batch without them.
        """
        if by is None or not set(by.split("+")) & set(_OF_TURNS):
            key_B = self._row_key(by)
            return key_B if self.level == "row" else key_B.unsqueeze(1).expand_as(self.mask)
        if self.level == "row":
            raise ConfigError(f"by={by!r} tells turns apart; use a turn-level credit like 'to_go'")
        names = by.split("+")
        rows = "+".join(n for n in names if n not in _OF_TURNS)
        columns = [self.batch.needed(_OF_TURNS[n], by) for n in names if n in _OF_TURNS]
        columns.append(self._row_key(rows or None).unsqueeze(1).expand_as(columns[0]))
        key_BT = combined(*columns)
        if self.level == "turn":
            return key_BT
        return torch.where(self.mask, key_BT.gather(1, self.batch.turn_of_BS.clamp(min=0)), 0)

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
        turns = by is not None and set(by.split("+")) & set(_OF_TURNS)
        key = self.key(by) if turns else self._row_key(by)
        return group_stats(y, key, self.weight(weights), self.ddof)

    def minus_mean(self, y: Tensor, stats: GroupStats) -> Tensor:
        """Subtract the mean; a constant group gives exactly 0, without a rounding residue."""
        return self.hide(torch.where(stats.constant, 0.0, wide(y) - stats.mean))

    def over_std(self, a: Tensor, stats: GroupStats) -> Tensor:
        """Divide by the deviation and eps; a group without variance gives exactly 0."""
        return self.hide(torch.where(stats.std > 0, wide(a) / (stats.std + self.eps), 0.0))

    def hide(self, y: Tensor) -> Tensor:
        """Set the entries outside the mask to 0."""
        return torch.where(self.mask, y, 0.0)

    def to_tokens(self, y: Tensor) -> Tensor:
        """Spread a table over the policy tokens, [B, S]."""
        if self.level == "row":
            return expand_rows(y, self.batch.turn_of_BS)
        return expand_turns(y, self.batch.turn_of_BS) if self.level == "turn" else self.hide(y)

    def _row_key(self, by: str | None) -> Tensor:
        if by is None:
            return torch.zeros_like(self.batch.keys["group"])
        return self.batch.key_B(by)

    @property
    def _tokens_BT(self) -> Tensor:
        one_BS = wide(self.batch.token_mask_BS)
        return sum_turns(one_BS, self.batch.turn_of_BS, self.batch.turn_mask_BT.shape[1])
