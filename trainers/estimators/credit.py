"""Credit: which number of a trajectory is compared with others, before any centre or scale.

Rewards enter per turn, return as one number per row, per turn or per policy token, in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.broadcast import expand_turns, sum_turns
from coevo.trainers.estimators.groups import group_stats, wide
from coevo.trainers.estimators.option import Table, check_range
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


class Credit(NamedTuple):
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


def outcome(rewards: Rewards, batch: Trajectories) -> Credit:
    """Sum of all rewards of the trajectory: Y = sum_t r_t, one value per row.

    >>> from coevo.trainers.estimators import from_lists
    >>> outcome(Rewards(torch.tensor([[0.5, 1.0]])), from_lists([[0.5, 1.0]])).y.tolist()
    [1.5]
    """
    return Credit(_on_turns(rewards, batch).sum(1), "row")


def to_go(
    rewards: Rewards,
    batch: Trajectories,
    *,
    gamma: float = 1.0,
    level: Literal["turn", "token"] = "turn",
) -> Credit:
    """Discounted return from here on: Y_t = r_t + gamma Y_{t+1}.

    With gamma = 1 and a final reward only, every entry equals `outcome`. At token level the
    reward of a turn sits on its last token and gamma discounts per token.

    >>> from coevo.trainers.estimators import from_lists
    >>> to_go(Rewards(torch.tensor([[0.5, 1.0]])), from_lists([[0.5, 1.0]]), gamma=0.5).y.tolist()
    [[1.0, 1.0]]
    """
    check_range("gamma", gamma, 0.0, 1.0)
    if level == "token":
        return Credit(_returns(_on_tokens(rewards, batch), batch.token_mask_BS, gamma), "token")
    return Credit(_returns(_on_turns(rewards, batch), batch.turn_mask_BT, gamma), "turn")


def gae(
    rewards: Rewards,
    batch: Trajectories,
    *,
    level: Literal["token", "turn"] = "token",
    gamma: float = 1.0,
    lam: float = 0.95,
) -> Credit:
    """Generalised advantage estimate against the critic's values, over tokens or over turns.

    At turn level V_k is the value before the first policy token of turn k (the history up to
    the turn) and every token of the turn gets A_k. The value after the last entry is 0.

    Raises:
        ConfigError: The batch has no value_BS.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[0.0, 1.0]])
    >>> batch = replace(batch, value_BS=torch.tensor([[0.5, 0.75]]))
    >>> gae(Rewards(torch.tensor([[0.0, 1.0]])), batch, lam=1.0).y.tolist()
    [[0.5, 0.25]]
    """
    if batch.value_BS is None:
        raise ConfigError("credit 'gae' needs value_BS in the batch: configure a critic")
    value_BS, mask_BS = wide(batch.value_BS), batch.token_mask_BS
    if level == "token":
        reward_BS = _on_tokens(rewards, batch)
        advantage_BS, return_BS = gae_recursion(reward_BS, value_BS, mask_BS, gamma, lam)
        return Credit(advantage_BS, "token", return_BS, mask_BS)
    _require_tokens(batch)
    first_BS = mask_BS & (batch.turn_of_BS != batch.turn_of_BS.roll(1, 1))
    first_BS[:, :1] = mask_BS[:, :1]
    turns = batch.turn_mask_BT.shape[1]
    value_BT = sum_turns(torch.where(first_BS, value_BS, 0.0), batch.turn_of_BS, turns)
    reward_BT = _on_turns(rewards, batch)
    a_BT, return_BT = gae_recursion(reward_BT, value_BT, batch.turn_mask_BT, gamma, lam)
    return Credit(a_BT, "turn", expand_turns(return_BT, batch.turn_of_BS), first_BS)


def gae_recursion(
    reward_BL: Tensor, value_BL: Tensor, mask_BL: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Compute A_t = delta_t + gamma lam A_next, delta_t = r_t + gamma V_next - V_t, and A + V.

    "next" is the next position inside the mask, so nothing bootstraps from an observation.
    lam = 1 is the return minus the value; lam = 0 is the one-step error. Both results are 0
    outside the mask.

    >>> ones_BL = torch.ones(1, 2)
    >>> a_BL, return_BL = gae_recursion(ones_BL, 0.5 * ones_BL, ones_BL.bool(), 1.0, 0.0)
    >>> a_BL.tolist(), return_BL.tolist()
    ([[1.0, 0.5]], [[1.5, 1.0]])
    """
    check_range("gamma", gamma, 0.0, 1.0)
    check_range("lam", lam, 0.0, 1.0)
    advantage_BL = torch.zeros_like(value_BL)
    next_value_B = next_advantage_B = value_BL.new_zeros(value_BL.shape[0])
    for t in reversed(range(value_BL.shape[1])):
        inside_B = mask_BL[:, t]
        delta_B = reward_BL[:, t] + gamma * next_value_B - value_BL[:, t]
        here_B = delta_B + gamma * lam * next_advantage_B
        next_value_B = torch.where(inside_B, value_BL[:, t], next_value_B)
        next_advantage_B = torch.where(inside_B, here_B, next_advantage_B)
        advantage_BL[:, t] = torch.where(inside_B, here_B, 0.0)
    return advantage_BL, torch.where(mask_BL, advantage_BL + value_BL, 0.0)


def mars_code(
    rewards: Rewards,
    batch: Trajectories,
    *,
    whiten: bool = True,
    ddof: int = 1,
    eps: float = 1e-8,
) -> Credit:
    """First three steps of the released MARS code: centre turn rewards, whiten tokens, sum.

    (1) r' = r - mean of r over all turns of the same agent key, on the last token of the turn;
    (2) r'' = (r' - mean) / sqrt(var + eps) over all policy tokens; (3) R_t = sum of r'' from t.
    Centring before the sum leaves a baseline that is linear in the turns that remain, so an
    offset of one seat changes it: `to_go` with `agent_group` is the form of the paper.
    `whiten=False` leaves step 2 out.

    >>> from coevo.trainers.estimators import from_lists
    >>> rewards = [[0.05, 1.05], [0.05, 0.05, -0.95]]
    >>> batch = from_lists(rewards)
    >>> turns = Rewards(batch.reward_BTK.squeeze(-1))
    >>> mars_code(turns, batch, whiten=False).y.round(decimals=4).tolist()
    [[1.0, 1.0, 0.0], [-1.0, -1.0, -1.0]]
    """
    reward_BT, mask_BT = _on_turns(rewards, batch), batch.turn_mask_BT
    agent_BT = batch.key_B("agent").unsqueeze(1).expand_as(reward_BT)
    mean_BT = group_stats(reward_BT, agent_BT, mask_BT, ddof).mean
    centred_BT = torch.where(mask_BT, reward_BT - mean_BT, 0.0)
    reward_BS, mask_BS = _at_turn_ends(centred_BT, batch), batch.token_mask_BS
    if whiten:
        stats = group_stats(reward_BS, torch.zeros_like(batch.turn_of_BS), mask_BS, ddof)
        reward_BS = (reward_BS - stats.mean) / (stats.std**2 + eps).sqrt()
    return Credit(_returns(reward_BS, mask_BS, 1.0), "token")


CREDIT: Table = {"outcome": outcome, "to_go": to_go, "gae": gae, "mars_code": mars_code}


def _returns(reward_BL: Tensor, mask_BL: Tensor, gamma: float) -> Tensor:
    """Sum rewards backwards; positions outside the mask take no part and get 0."""
    total_BL = torch.zeros_like(reward_BL)
    ahead_B = reward_BL.new_zeros(reward_BL.shape[0])
    for t in reversed(range(reward_BL.shape[1])):
        ahead_B = torch.where(mask_BL[:, t], reward_BL[:, t] + gamma * ahead_B, ahead_B)
        total_BL[:, t] = torch.where(mask_BL[:, t], ahead_B, 0.0)
    return total_BL


def _on_turns(rewards: Rewards, batch: Trajectories) -> Tensor:
    reward_BT = torch.where(batch.turn_mask_BT, wide(rewards.reward_BT), 0.0)
    if rewards.penalty_BS is None:
        return reward_BT
    return reward_BT - sum_turns(rewards.penalty_BS, batch.turn_of_BS, reward_BT.shape[1])


def _on_tokens(rewards: Rewards, batch: Trajectories) -> Tensor:
    reward_BS = _at_turn_ends(_on_turns(Rewards(rewards.reward_BT), batch), batch)
    return reward_BS if rewards.penalty_BS is None else reward_BS - rewards.penalty_BS


def _at_turn_ends(reward_BT: Tensor, batch: Trajectories) -> Tensor:
    """Put each turn's reward on the last token of the turn, 0 elsewhere."""
    _require_tokens(batch)
    turn_BS = batch.turn_of_BS
    end_BS = batch.token_mask_BS & (turn_BS != turn_BS.roll(-1, 1))
    end_BS[:, -1:] = batch.token_mask_BS[:, -1:]
    return torch.where(end_BS, expand_turns(reward_BT, turn_BS), 0.0)


def _require_tokens(batch: Trajectories) -> None:
    ones_BS = torch.ones_like(batch.turn_of_BS)
    tokens_BT = sum_turns(ones_BS, batch.turn_of_BS, batch.turn_mask_BT.shape[1])
    empty_BT = batch.turn_mask_BT & (tokens_BT == 0)
    if bool(empty_BT.any()):
        row, turn = (int(i) for i in empty_BT.nonzero()[0])
        raise ConfigError(
            f"trajectory {int(batch.keys['trajectory'][row])} (row {row}) has no policy token in "
            f"turn {turn}; a credit over tokens has no place for its reward. Use a turn-level one"
        )
