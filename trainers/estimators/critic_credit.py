"""Credits that read a critic: generalised advantage over tokens, turns or both, and double Q.

`gae` reads one value per token; `td_critic` reads utterance-level critics, whose targets and slow
copies are the pure functions at the end of the module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.broadcast import expand_turns, sum_turns
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.rewards import (
    Credited,
    Rewards,
    discounted,
    has_holes,
    on_tokens,
    on_turns,
    require_tokens,
    turn_ends,
    turn_starts,
)
from coevo.trainers.estimators.scan import backward_sums
from coevo.trainers.estimators.trajectories import Trajectories


@config
class Gae(AdvantageComponent):
    """Generalised advantage estimate against the critic's values, over tokens or over turns.

    At turn level V_k is the value before the first policy token of turn k (the history up to
    the turn) and every token of the turn gets A_k. The value after the last entry is 0.
    `bilevel` (VAGEN, released code): a recursion over turns with `gamma_turn`, where V_k is the
    value at the last token of turn k, gives that token A_k; from there a recursion over the
    tokens of the turn, with gamma, runs back to the turn's first token, and stops there. With
    gamma = gamma_turn = lam = 1 it is `token`. `gamma_turn` is read at this level only.

    Raises:
        ConfigError: The batch has no value_BS.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[0.0, 1.0]])
    >>> batch = replace(batch, value_BS=torch.tensor([[0.5, 0.75]]))
    >>> Gae(lam=1.0)(Rewards(torch.tensor([[0.0, 1.0]])), batch).y.tolist()
    [[0.5, 0.25]]
    """

    of_one_reward = True
    reads = "value_BS"
    name: Literal["gae"] = "gae"
    level: Literal["token", "turn", "bilevel"] = "token"
    gamma: Annotated[float, real(0, 1)] = 1.0
    lam: Annotated[float, real(0, 1)] = 0.95
    gamma_turn: Annotated[float, real(0, 1)] = 0.99

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        if batch.value_BS is None:
            raise ConfigError("credit 'gae' needs value_BS in the batch: configure a critic")
        value_BS, mask_BS = wide(batch.value_BS), batch.token_mask_BS
        if self.level == "turn":
            return _gae_of_turns(rewards, batch, value_BS, self.gamma, self.lam)
        reward_BS = on_tokens(rewards, batch)
        if self.level == "token":
            a_BS, return_BS = gae_recursion(reward_BS, value_BS, mask_BS, self.gamma, self.lam)
        else:
            ends_BS = turn_ends(batch)
            last_BT, value_BT = (_per_turn(x_BS, ends_BS, batch) for x_BS in (reward_BS, value_BS))
            seed_BT, _ = gae_recursion(
                last_BT, value_BT, batch.turn_mask_BT, self.gamma_turn, self.lam
            )
            seed_BS = expand_turns(seed_BT, batch.turn_of_BS)
            a_BS = _within_turns(
                reward_BS, value_BS, seed_BS, ends_BS, mask_BS, self.gamma, self.lam
            )
            return_BS = torch.where(mask_BS, a_BS + value_BS, 0.0)
        return Credited(a_BS, "token", return_BS, mask_BS)


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
    value_BL = torch.where(mask_BL, value_BL, 0.0)
    delta_BL = reward_BL + gamma * _next_value(value_BL, mask_BL) - value_BL
    a_BL = discounted(delta_BL, mask_BL, gamma * lam)
    return a_BL, a_BL + value_BL


@config
class TdCritic(AdvantageComponent):
    """Advantage of an utterance under double critics: A_t = min_c Q_tc - min_c V_tc (ArCHer).

    Reads `q_BTC` and `v_BTC`, C critics per turn, and no reward: rewards reach the policy through
    the targets of the critics, `q_target` and `v_target`. Source: ArCHer repository.

    Raises:
        ConfigError: The batch lacks q_BTC or v_BTC.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_lists
    >>> q_BTC, v_BTC = torch.tensor([[[0.75, 1.0]]]), torch.tensor([[[0.5, 0.25]]])
    >>> batch = replace(from_lists([[1.0]]), q_BTC=q_BTC, v_BTC=v_BTC)
    >>> TdCritic()(Rewards(torch.tensor([[1.0]])), batch).y.tolist()
    [[0.5]]
    """

    of_one_reward = True
    reads = "q_BTC"
    name: Literal["td_critic"] = "td_critic"

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        q_BT = wide(batch.needed("q_BTC", self.name)).amin(-1)
        v_BT = wide(batch.needed("v_BTC", self.name)).amin(-1)
        return Credited(torch.where(batch.turn_mask_BT, q_BT - v_BT, 0.0), "turn")


def q_target(reward_BT: Tensor, v_slow_BTC: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """Target of every Q critic: r_t + gamma V_c(s_{t+1}), only r_t at the last turn: [B, T, C].

    Args:
        reward_BT: rewards of the turns.
        v_slow_BTC: what the slow copies of the V critics say before every turn.
        mask_BT: True at real turns.
        gamma: discount per turn; ArCHer uses 0.95.

    >>> reward_BT, v_BTC = torch.tensor([[0.0, 1.0]]), torch.tensor([[[0.25], [0.5]]])
    >>> q_target(reward_BT, v_BTC, torch.ones(1, 2).bool(), 0.5).tolist()
    [[[0.25], [1.0]]]
    """
    v_BTC = torch.where(mask_BT.unsqueeze(-1), v_slow_BTC, 0.0)
    ahead_BTC = torch.cat([v_BTC[:, 1:], torch.zeros_like(v_BTC[:, :1])], dim=1)
    target_BTC = reward_BT.unsqueeze(-1) + gamma * ahead_BTC
    return torch.where(mask_BT.unsqueeze(-1), target_BTC, 0.0)


def v_target(q_slow_BTC: Tensor, mask_BT: Tensor) -> Tensor:
    """Target of every V critic: Q_c(s_t, a') of its slow Q critic, a' sampled afresh from pi(s_t).

    The action of the trajectory is not a': it was drawn from an older policy.

    >>> v_target(torch.tensor([[[0.5], [9.0]]]), torch.tensor([[True, False]])).tolist()
    [[[0.5], [0.0]]]
    """
    return torch.where(mask_BT.unsqueeze(-1), q_slow_BTC.detach(), 0.0)


@torch.no_grad()
def polyak(slow: Iterable[Tensor], live: Iterable[Tensor], tau: float = 0.1) -> None:
    """Move the slow parameters, in place: slow <- (1 - tau) slow + tau live.

    >>> slow = torch.zeros(1)
    >>> polyak([slow], [torch.ones(1)], tau=0.25)
    >>> slow.tolist()
    [0.25]
    """
    for old, new in zip(slow, live, strict=True):
        old.lerp_(new.to(old.dtype), tau)


def _gae_of_turns(
    rewards: Rewards, batch: Trajectories, value_BS: Tensor, gamma: float, lam: float
) -> Credited:
    require_tokens(batch)
    first_BS = turn_starts(batch)
    value_BT = _per_turn(value_BS, first_BS, batch)
    a_BT, return_BT = gae_recursion(
        on_turns(rewards, batch), value_BT, batch.turn_mask_BT, gamma, lam
    )
    return Credited(a_BT, "turn", expand_turns(return_BT, batch.turn_of_BS), first_BS)


def _within_turns(
    reward_BS: Tensor,
    value_BS: Tensor,
    seed_BS: Tensor,
    ends_BS: Tensor,
    mask_BS: Tensor,
    gamma: float,
    lam: float,
) -> Tensor:
    """Run the token recursion from the seed at each turn's end to the turn's first token."""
    value_BS = torch.where(mask_BS, value_BS, 0.0)
    delta_BS = reward_BS + gamma * _next_value(value_BS, mask_BS) - value_BS
    start_BS = torch.where(ends_BS, seed_BS, torch.where(mask_BS, delta_BS, 0.0))
    decay_BS = torch.where(ends_BS, 0.0, torch.full_like(start_BS, gamma * lam))
    return torch.where(mask_BS, backward_sums(start_BS, decay_BS), 0.0)


def _per_turn(y_BS: Tensor, at_BS: Tensor, batch: Trajectories) -> Tensor:
    """Return what stands on one marked token of every turn, [B, T]."""
    turns = batch.turn_mask_BT.shape[1]
    return sum_turns(torch.where(at_BS, y_BS, 0.0), batch.turn_of_BS, turns)


def _next_value(value_BL: Tensor, mask_BL: Tensor) -> Tensor:
    """Return V at the next position inside the mask, 0 where there is none."""
    carried_BL = value_BL
    if has_holes(mask_BL):
        carried_BL = backward_sums(value_BL, (~mask_BL).to(value_BL.dtype))
    return torch.cat([carried_BL[:, 1:], torch.zeros_like(carried_BL[:, :1])], dim=1)
