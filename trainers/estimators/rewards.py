"""Rewards as a credit reads them, the credit that it gives back, and where a reward stands.

Rewards are paid per turn. Over tokens, the reward of a turn stands on the turn's last token.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.broadcast import expand_turns, sum_turns
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.scan import backward_sums
from coevo.trainers.estimators.trajectories import Trajectories

Level = Literal["row", "turn", "token"]


class Rewards(NamedTuple):
    """Rewards of a batch after composition: per turn, and a penalty per token."""

    reward_BT: Tensor
    """Composed turn rewards; 0 at padding."""
    penalty_BS: Tensor | None = None
    """Cost of every policy token, beta * (logp_old - logp_ref); None without KL in the reward."""
    state: Mapping[str, Any] = MappingProxyType({})
    """What options keep from batch to batch; read by credits whose parameters move."""
    weights: Mapping[str, float] = MappingProxyType({})
    """Factor of every component that was added up; 1 where not given."""


class Credited(NamedTuple):
    """What a credit function returns."""

    y: Tensor
    """Credit [B], [B, T] or [B, S], as `level` says."""
    level: Level
    """Whether y has one entry per row, per turn or per token."""
    return_BS: Tensor | None = None
    """Target of the critic at each token; None where no critic takes part."""
    return_mask_BS: Tensor | None = None
    """True where the critic has a target of its own (turn level: first token of the turn)."""
    state: Mapping[str, Any] | None = None
    """The state with what this credit keeps; None where it keeps nothing."""


def kl_in_reward(reward_BT: Tensor, batch: Trajectories, *, beta: float = 0.0) -> Rewards:
    """Charge every token beta * (logp_old - logp_ref), the k1 estimate of KL(old || ref).

    Token credits read the charge at its token; turn and row credits read the sum of it.

    Raises:
        ConfigError: beta is not 0 and the batch lacks logp_old_BS or logp_ref_BS.

    >>> from coevo.trainers.estimators import from_lists
    >>> kl_in_reward(torch.tensor([[1.0]]), from_lists([[1.0]])).penalty_BS is None
    True
    """
    reward_BT = torch.where(batch.turn_mask_BT, wide(reward_BT), 0.0)
    if beta == 0.0:
        return Rewards(reward_BT)
    if batch.logp_old_BS is None or batch.logp_ref_BS is None:
        raise ConfigError(f"kl_in_reward={beta} needs logp_old_BS and logp_ref_BS in the batch")
    k1_BS = wide(batch.logp_old_BS) - wide(batch.logp_ref_BS)
    return Rewards(reward_BT, torch.where(batch.token_mask_BS, beta * k1_BS, 0.0))


def on_turns(rewards: Rewards, batch: Trajectories) -> Tensor:
    """Return turn rewards less what their tokens are charged, [B, T], 0 at padding.

    >>> from coevo.trainers.estimators import from_lists
    >>> charged = Rewards(torch.tensor([[1.0]]), torch.tensor([[0.1, 0.2]]))
    >>> on_turns(charged, from_lists([[1.0]], tokens=[[2]])).round(decimals=4).tolist()
    [[0.7]]
    """
    reward_BT = torch.where(batch.turn_mask_BT, wide(rewards.reward_BT), 0.0)
    if rewards.penalty_BS is None:
        return reward_BT
    return reward_BT - sum_turns(rewards.penalty_BS, batch.turn_of_BS, reward_BT.shape[1])


def on_tokens(rewards: Rewards, batch: Trajectories) -> Tensor:
    """Put turn rewards on the last tokens of turns and charge every token its own, [B, S].

    >>> from coevo.trainers.estimators import from_lists
    >>> charged = Rewards(torch.tensor([[1.0]]), torch.tensor([[0.5, 0.25]]))
    >>> on_tokens(charged, from_lists([[1.0]], tokens=[[2]])).tolist()
    [[-0.5, 0.75]]
    """
    reward_BS = at_turn_ends(on_turns(Rewards(rewards.reward_BT), batch), batch)
    return reward_BS if rewards.penalty_BS is None else reward_BS - rewards.penalty_BS


def at_turn_ends(reward_BT: Tensor, batch: Trajectories) -> Tensor:
    """Put each turn's reward on the last token of the turn, 0 elsewhere.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[1.0, 2.0]], tokens=[[2, 1]])
    >>> at_turn_ends(torch.tensor([[1.0, 2.0]]), batch).tolist()
    [[0.0, 1.0, 2.0]]
    """
    require_tokens(batch)
    return torch.where(turn_ends(batch), expand_turns(reward_BT, batch.turn_of_BS), 0.0)


def turn_ends(batch: Trajectories) -> Tensor:
    """Mark the last token of every turn, [B, S].

    >>> from coevo.trainers.estimators import from_lists
    >>> turn_ends(from_lists([[1.0, 2.0]], tokens=[[2, 1]])).tolist()
    [[False, True, True]]
    """
    turn_BS = batch.turn_of_BS
    end_BS = batch.token_mask_BS & (turn_BS != turn_BS.roll(-1, 1))
    end_BS[:, -1:] = batch.token_mask_BS[:, -1:]
    return end_BS


def turn_starts(batch: Trajectories) -> Tensor:
    """Mark the first token of every turn, [B, S].

    >>> from coevo.trainers.estimators import from_lists
    >>> turn_starts(from_lists([[1.0, 2.0]], tokens=[[2, 1]])).tolist()
    [[True, False, True]]
    """
    first_BS = batch.token_mask_BS & (batch.turn_of_BS != batch.turn_of_BS.roll(1, 1))
    first_BS[:, :1] = batch.token_mask_BS[:, :1]
    return first_BS


def discounted(x_BL: Tensor, mask_BL: Tensor, gamma: float) -> Tensor:
    """Sum backwards, y_t = x_t + gamma y_next; positions outside the mask are jumped over, get 0.

    >>> x_BL, mask_BL = torch.tensor([[1.0, 9.0, 1.0]]), torch.tensor([[True, False, True]])
    >>> discounted(x_BL, mask_BL, 0.5).tolist()
    [[1.5, 0.0, 1.0]]
    """
    x_BL = torch.where(mask_BL, x_BL, 0.0)
    if has_holes(mask_BL):
        decay = torch.where(mask_BL, x_BL.new_tensor(gamma), 1.0)
        return torch.where(mask_BL, backward_sums(x_BL, decay), 0.0)
    return backward_sums(x_BL, gamma)


def has_holes(mask_BL: Tensor) -> bool:
    """Whether a position outside the mask comes before one inside.

    >>> has_holes(torch.tensor([[True, False, True]])), has_holes(torch.tensor([[True, False]]))
    (True, False)
    """
    return bool((mask_BL[:, 1:] & ~mask_BL[:, :-1]).any())


def require_tokens(batch: Trajectories) -> None:
    """Refuse a turn without policy tokens, on which no token could carry the reward.

    Raises:
        ConfigError: A turn has no policy token.

    >>> from coevo.trainers.estimators import from_lists
    >>> require_tokens(from_lists([[1.0]]))
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
