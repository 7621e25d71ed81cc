"""The frame of a credit table: which entries are observations, their groups and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.broadcast import expand_rows, expand_turns, sum_turns
from coevo.trainers.estimators.groups import GroupStats, combined, group_stats, wide
from coevo.trainers.estimators.rewards import Level
from coevo.trainers.estimators.trajectories import Trajectories

Weights = Literal["row", "turn", "token", "trajectory"]
OF_TURNS = ("turn", "state", "action", "role")
"""Keys that every turn has its own of."""


@dataclass(frozen=True)
class Frame:
    """How the entries of a table [B], [B, T] or [B, S] enter statistics.

    Weights: `row` counts every entry of the table once (with turn-level credit: every turn);
    `turn`, `token` and `trajectory` count every turn, policy token or trajectory once, whatever
    the level of the table, and an entry that spans several of them weighs as many.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[1.0, 2.0]], tokens=[[3, 1]])
    >>> Frame(batch, "turn", weights="token").weight().tolist()
    [[3.0, 1.0]]
    """

    batch: Trajectories
    level: Level
    weights: Weights = "row"
    ddof: int = 1
    eps: float = 1e-6

    @property
    def mask(self) -> Tensor:
        """True at real entries, in the shape of the table."""
        if self.level == "row":
            return self.batch.turn_mask_BT.any(1)
        return self.batch.turn_mask_BT if self.level == "turn" else self.batch.token_mask_BS

    def key(self, by: str | None) -> Tensor:
        """Return the group of every entry; None puts all entries in one group.

        Names joined by `+` give their combinations. Besides the keys of the batch, `turn` is the
        number of the entry's turn, `state` what the seat saw before it, `action` what it did and
        `role` what it was.

        Raises:
            UnknownNameError: There is no such key.
            ConfigError: A key of turns is asked of rows, or of a batch without it.
        """
        names = [] if by is None else by.split("+")
        of_turns = [self._turn_key(name) for name in names if self._tells_turns(name)]
        key_B = self._row_key([name for name in names if not self._tells_turns(name)])
        if self.level == "row":
            if of_turns:
                raise ConfigError(f"by={by!r} tells turns apart: use a turn-level credit, 'to_go'")
            return key_B
        if not of_turns:
            return key_B.unsqueeze(1).expand_as(self.mask)
        key_BT = combined(*of_turns, key_B.unsqueeze(1).expand_as(of_turns[0]))
        if self.level == "turn":
            return key_BT
        return torch.where(self.mask, key_BT.gather(1, self.batch.turn_of_BS.clamp(min=0)), 0)

    def weight(self, weights: Weights | None = None) -> Tensor:
        """Return the weight of every entry (float64), 0 at padding."""
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

    def stats(self, y: Tensor, by: str | None, weights: Weights | None = None) -> GroupStats:
        """Compute `group_stats` of a table over the groups of a key."""
        return group_stats(y, self._short_key(by), self.weight(weights), self.ddof)

    def own(self, y: Tensor, by: str | None, whose: str = "trajectory") -> tuple[Tensor, Tensor]:
        """Return what an entry's trajectory, or what shares another key with it, adds to its group.

        Both are sums over these entries: of weighted values, and of weights.
        """
        own_B, key = self.batch.key_of(whose), self._short_key(by)
        own = own_B if key.ndim == 1 else own_B.unsqueeze(1).expand_as(key)
        key = combined(key, own)
        stats = group_stats(y, key, self.weight())
        return stats.mean * stats.total, stats.total

    def minus_mean(self, y: Tensor, stats: GroupStats) -> Tensor:
        """Subtract the mean; a constant group gives exactly 0, without a rounding residue."""
        return self.hide(torch.where(stats.constant, 0.0, wide(y) - stats.mean))

    def over_std(self, a: Tensor, stats: GroupStats) -> Tensor:
        """Divide by the deviation and eps; a group without variance gives exactly 0."""
        return self.hide(torch.where(stats.std > 0, wide(a) / (stats.std + self.eps), 0.0))

    def keep_single(self, a: Tensor, y: Tensor, stats: GroupStats, by: str | None) -> Tensor:
        """Put y back where a trajectory is alone in its group: no other has weight there."""
        own_weight = self.weight() if self.level == "row" else self.own(y, by)[1]
        others = stats.total - own_weight
        return self.hide(torch.where((own_weight > 0) & (others < 0.5), wide(y), wide(a)))

    def hide(self, y: Tensor) -> Tensor:
        """Set the entries outside the mask to 0."""
        return torch.where(self.mask, y, 0.0)

    def to_tokens(self, y: Tensor) -> Tensor:
        """Spread a table over the policy tokens, [B, S]."""
        if self.level == "row":
            return expand_rows(y, self.batch.turn_of_BS)
        return expand_turns(y, self.batch.turn_of_BS) if self.level == "turn" else self.hide(y)

    def _row_key(self, names: list[str]) -> Tensor:
        return (
            self.batch.key_B("+".join(names))
            if names
            else torch.zeros_like(self.batch.keys["group"])
        )

    def _short_key(self, by: str | None) -> Tensor:
        """Return the key with one entry per row where it has no more to tell."""
        names = [] if by is None else by.split("+")
        return self.key(by) if any(map(self._tells_turns, names)) else self._row_key(names)

    def _tells_turns(self, name: str) -> bool:
        """Return whether a key differs within a trajectory; a row has its first turn's role."""
        return name in OF_TURNS and not (
            name == "role" and self.level == "row" and name in self.batch.keys
        )

    def _turn_key(self, name: str) -> Tensor:
        if name != "turn":
            return self.batch.needed(f"{name}_BT", name)
        mask_BT = self.batch.turn_mask_BT
        return torch.arange(mask_BT.shape[1], device=mask_BT.device).expand_as(mask_BT)

    @property
    def _tokens_BT(self) -> Tensor:
        one_BS = wide(self.batch.token_mask_BS)
        return sum_turns(one_BS, self.batch.turn_of_BS, self.batch.turn_mask_BT.shape[1])
