"""An estimate of what was earned, on its way from rewards to advantages.

A composed reward per turn goes in; credit, baseline, normalisation and transforms each take an
estimate and return the next one. Every step may read the batch, the groups and weights of the
entries, and what earlier batches left in the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.tensors import (
    GroupStats,
    combined,
    expand_rows,
    expand_turns,
    group_stats,
    sum_turns,
    wide,
)

Level = Literal["row", "turn", "token"]
LEVELS = ("row", "turn", "token")
Weights = Literal["row", "turn", "token", "trajectory"]
OF_TURNS = ("turn", "state", "action", "role")
"""Keys that differ from turn to turn."""


@dataclass(frozen=True)
class Estimate:
    """Values of all rows, turns or tokens of a batch, and how they enter statistics.

    Weights: `row` counts every entry once (with turn-level credit: every turn); `turn`, `token` and
    `trajectory` count every turn, response token or trajectory once, whatever the level, and an
    entry that spans several of them weighs as many.

    >>> Estimate.of([[1.0, 2.0]], tokens=[[3, 1]], weights="token").weight().tolist()
    [[3.0, 1.0]]
    """

    batch: Batch
    y: Tensor
    """The value so far: [B], [B, T] or [B, S], as `level` says."""
    level: Level
    """Whether y has one entry per row (trajectory), per turn or per response token."""
    reward_BT: Tensor
    """Composed reward of every turn; 0 at padding."""
    penalty_BS: Tensor | None = None
    """Cost of every token, beta * (logp_old - logp_ref); None without KL in the reward."""
    component: str = ""
    """Which reward it is of, where rewards are kept apart."""
    reward_weights: Mapping[str, float] = field(default_factory=dict)
    """Factor of every reward component; 1 where not given."""
    weights: Weights = "row"
    ddof: int = 1
    """Degrees of freedom taken off in every variance."""
    eps: float = 1e-6
    """Added to every deviation that divides."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What earlier batches left behind and what this one leaves; JSON values, each under the name
    of its component."""
    credited: Estimate | None = None
    """The estimate as the credit left it, before the baseline."""
    return_BS: Tensor | None = None
    """Target of the critic at each token; None where no critic takes part."""
    return_mask_BS: Tensor | None = None
    """True where the critic has a target of its own (turn level: first token of the turn)."""

    @classmethod
    def of(
        cls,
        rewards: Sequence[Sequence[float]],
        level: Level = "turn",
        tokens: Sequence[Sequence[int]] | None = None,
        **rest: Any,
    ) -> Estimate:
        """Build an estimate from lists of turn rewards, or per row of their sum.

        `rest` are fields of the estimate or of its batch; what is neither is a key of the batch.

        >>> Estimate.of([[1.0, 0.5]], "row").y.tolist()
        [1.5]
        """
        own = {name: rest.pop(name) for name in [*rest] if name in cls.__dataclass_fields__}
        more = {name: rest.pop(name) for name in [*rest] if name in Batch.__dataclass_fields__}
        batch = replace(Batch.from_lists(rewards, tokens, **rest), **more)
        reward_BT = batch.reward_BTK.squeeze(-1)
        y = reward_BT.sum(1) if level == "row" else reward_BT
        made = cls(batch=batch, y=y, level=level, reward_BT=reward_BT)
        return replace(made, **own)

    # ---- What components read ----------------------------------------------------------------

    @property
    def mask(self) -> Tensor:
        """True at real entries, in the shape of y."""
        if self.level == "row":
            return self.batch.real_B
        return self.batch.turn_mask_BT if self.level == "turn" else self.batch.token_mask_BS

    @property
    def credit(self) -> Estimate:
        """The estimate as the credit left it."""
        return self if self.credited is None else self.credited

    @property
    def outcome_B(self) -> Tensor:
        """Sum of the composed rewards of every trajectory, without any KL."""
        return self.reward_BT.sum(1)

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
        of_turns = [self._turn_key(name) for name in names if self._of_turns(name)]
        key_B = self._row_key([name for name in names if not self._of_turns(name)])
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
        if unit in ("row", self.level):
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

    def stats(self, by: str | None, weights: Weights | None = None) -> GroupStats:
        """Compute `group_stats` of y over the groups of a key."""
        return group_stats(self.y, self._short_key(by), self.weight(weights), self.ddof)

    def own(self, by: str | None, whose: str = "trajectory") -> tuple[Tensor, Tensor]:
        """Return what an entry's trajectory, or what shares another key with it, adds to its group.

        Both are sums over these entries: of weighted values, and of weights.
        """
        own_B, key = self.batch.key_of(whose), self._short_key(by)
        own = own_B if key.ndim == 1 else own_B.unsqueeze(1).expand_as(key)
        stats = group_stats(self.y, combined(key, own), self.weight())
        return stats.mean * stats.total, stats.total

    # ---- The next estimate -------------------------------------------------------------------

    def to(self, y: Tensor, level: Level | None = None, **changes: Any) -> Estimate:
        """Return another value of every entry, 0 at padding; `level` says where y has another."""
        after = replace(self, level=level or self.level, **changes)
        return replace(after, y=after.hide(y))

    def minus_mean(self, stats: GroupStats) -> Estimate:
        """Subtract the mean; a constant group gives exactly 0, without a rounding residue."""
        return self.to(torch.where(stats.constant, 0.0, wide(self.y) - stats.mean))

    def over_std(self, stats: GroupStats) -> Estimate:
        """Divide by the deviation and eps; a group without variance gives exactly 0."""
        return self.to(torch.where(stats.std > 0, wide(self.y) / (stats.std + self.eps), 0.0))

    def keep_single(self, y: Tensor, stats: GroupStats, by: str | None) -> Estimate:
        """Put y where a trajectory is alone in its group: no other has weight there."""
        own_weight = self.weight() if self.level == "row" else self.own(by)[1]
        others = stats.total - own_weight
        return self.to(torch.where((own_weight > 0) & (others < 0.5), wide(y), wide(self.y)))

    def shared(self, y_B: Tensor) -> Estimate:
        """Return every entry of a trajectory the same value.

        >>> turns = Estimate.of([[1.0, 0.5]])
        >>> turns.shared(turns.outcome_B).y.tolist()
        [[1.5, 1.5]]
        """
        return self.to(self.aligned("row", y_B))

    def counted(self, name: str) -> tuple[Estimate, int]:
        """Count the batches that a component has seen, in the state: a seed that moves on.

        >>> once, seed = Estimate.of([[1.0]]).counted("share_set")
        >>> seed, once.state
        (0, {'share_set/batches': 1})
        """
        key = f"{name}/batches"
        seen = int(self.state.get(key, 0))
        return replace(self, state={**self.state, key: seen + 1}), seen

    def at(self, level: Level) -> Estimate:
        """Spread the value to a finer level: row to turn or token, turn to token.

        >>> row = Estimate.of([[1.0, 0.5]], "row", tokens=[[2, 1]])
        >>> row.y.tolist(), row.at("turn").y.tolist(), row.at("token").y.tolist()
        ([1.5], [[1.5, 1.5]], [[1.5, 1.5, 1.5]])
        """
        if LEVELS.index(level) <= LEVELS.index(self.level):
            return self
        if level == "turn":
            return self.to(self.y.unsqueeze(1).expand_as(self.batch.turn_mask_BT), "turn")
        return replace(self, y=self.to_tokens(), level=level)

    def to_tokens(self) -> Tensor:
        """Return the value of every response token, [B, S]."""
        if self.level == "row":
            return expand_rows(self.y, self.batch.turn_of_BS)
        turn_of_BS = self.batch.turn_of_BS
        return expand_turns(self.y, turn_of_BS) if self.level == "turn" else self.hide(self.y)

    def aligned(self, level: Level, y: Tensor) -> Tensor:
        """Spread another value of a level over the entries of this one's finer level."""
        if level == self.level:
            return y
        if level == "row":
            return self.hide(y.unsqueeze(1).expand_as(self.mask))
        return expand_turns(y, self.batch.turn_of_BS)

    def hide(self, y: Tensor) -> Tensor:
        """Set the entries outside the mask to 0."""
        return torch.where(self.mask, y, 0.0)

    def times(self, factor: float) -> Estimate:
        """Return the estimate of rewards that are worth a factor more."""
        credited = replace(self.credit, y=factor * self.credit.y)
        reward_BT = factor * self.reward_BT
        return replace(self, y=factor * self.y, reward_BT=reward_BT, credited=credited)

    def plus(self, later: Estimate) -> Estimate:
        """Add the estimate of another reward component of the same batch, made after this one."""
        credited = replace(later.credit, y=self.credit.y + later.credit.y)
        reward_BT = self.reward_BT + later.reward_BT
        return replace(later, y=self.y + later.y, reward_BT=reward_BT, credited=credited)

    # ---- Keys --------------------------------------------------------------------------------

    def _row_key(self, names: list[str]) -> Tensor:
        if not names:
            return torch.zeros_like(self.batch.keys["group"])
        return self.batch.key_B("+".join(names))

    def _short_key(self, by: str | None) -> Tensor:
        """Return the key with one entry per row where it has no more to tell."""
        names = [] if by is None else by.split("+")
        return self.key(by) if any(map(self._of_turns, names)) else self._row_key(names)

    def _of_turns(self, name: str) -> bool:
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


# ---- Where a reward stands -------------------------------------------------------------------


def on_turns(e: Estimate) -> Tensor:
    """Return turn rewards less what their tokens are charged, [B, T], 0 at padding.

    >>> charged = Estimate.of([[1.0]], tokens=[[2]], penalty_BS=torch.tensor([[0.1, 0.2]]))
    >>> on_turns(charged).round(decimals=4).tolist()
    [[0.7]]
    """
    if e.penalty_BS is None:
        return e.reward_BT
    return e.reward_BT - sum_turns(e.penalty_BS, e.batch.turn_of_BS, e.reward_BT.shape[1])


def on_tokens(e: Estimate) -> Tensor:
    """Put turn rewards on the last tokens of turns and charge every token its own, [B, S].

    >>> charged = Estimate.of([[1.0]], tokens=[[2]], penalty_BS=torch.tensor([[0.5, 0.25]]))
    >>> on_tokens(charged).tolist()
    [[-0.5, 0.75]]
    """
    reward_BS = at_turn_ends(e.reward_BT, e.batch)
    return reward_BS if e.penalty_BS is None else reward_BS - e.penalty_BS


def at_turn_ends(reward_BT: Tensor, batch: Batch) -> Tensor:
    """Put each turn's reward on the last token of the turn, 0 elsewhere.

    >>> batch = Batch.from_lists([[1.0, 2.0]], tokens=[[2, 1]])
    >>> at_turn_ends(torch.tensor([[1.0, 2.0]]), batch).tolist()
    [[0.0, 1.0, 2.0]]
    """
    require_tokens(batch)
    return torch.where(turn_ends(batch), expand_turns(reward_BT, batch.turn_of_BS), 0.0)


def turn_ends(batch: Batch) -> Tensor:
    """Mark the last token of every turn, [B, S].

    >>> turn_ends(Batch.from_lists([[1.0, 2.0]], tokens=[[2, 1]])).tolist()
    [[False, True, True]]
    """
    turn_BS = batch.turn_of_BS
    end_BS = batch.token_mask_BS & (turn_BS != turn_BS.roll(-1, 1))
    end_BS[:, -1:] = batch.token_mask_BS[:, -1:]
    return end_BS


def turn_starts(batch: Batch) -> Tensor:
    """Mark the first token of every turn, [B, S].

    >>> turn_starts(Batch.from_lists([[1.0, 2.0]], tokens=[[2, 1]])).tolist()
    [[True, False, True]]
    """
    first_BS = batch.token_mask_BS & (batch.turn_of_BS != batch.turn_of_BS.roll(1, 1))
    first_BS[:, :1] = batch.token_mask_BS[:, :1]
    return first_BS


def require_tokens(batch: Batch) -> None:
    """Refuse a turn without policy tokens, on which no token could carry the reward.

    Raises:
        ConfigError: A turn has no policy token.

    >>> require_tokens(Batch.from_lists([[1.0]]))
    """
    ones_BS = batch.token_mask_BS.to(torch.int64)
    tokens_BT = sum_turns(ones_BS, batch.turn_of_BS, batch.turn_mask_BT.shape[1])
    empty_BT = batch.turn_mask_BT & (tokens_BT == 0)
    if bool(empty_BT.any()):
        row, turn = (int(i) for i in empty_BT.nonzero()[0])
        raise ConfigError(
            f"trajectory {int(batch.keys['trajectory'][row])} (row {row}) has no policy token in "
            f"turn {turn}; a credit over tokens has no place for its reward. Use a turn-level one"
        )
