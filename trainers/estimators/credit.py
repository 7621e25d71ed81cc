"""Credit: which number of a trajectory is compared with others, before any centre or scale.

Rewards enter per turn, return as one number per row, per turn or per policy token, in float64.
What reads a critic is in `critic_credit`. Learned rewards per turn (SPA's progress) need no
credit of their own: a reward module pays them and `to_go` or `gae` carry them back.
"""

from __future__ import annotations

from typing import Literal

import torch

from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.critic_credit import gae, gae_recursion, td_critic
from coevo.trainers.estimators.groups import group_stats, wide
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.estimators.rewards import (
    Credit,
    Level,
    Rewards,
    at_turn_ends,
    discounted,
    kl_in_reward,
    on_tokens,
    on_turns,
)
from coevo.trainers.estimators.table_credit import td_table
from coevo.trainers.estimators.trajectories import Trajectories

__all__ = [
    "CREDIT",
    "Credit",
    "Level",
    "Rewards",
    "ads",
    "ads_gamma",
    "gae",
    "gae_recursion",
    "kl_in_reward",
    "mars_code",
    "outcome",
    "td_critic",
    "to_go",
]


def outcome(rewards: Rewards, batch: Trajectories) -> Credit:
    """Sum of all rewards of the trajectory: Y = sum_t r_t, one value per row.

    >>> from coevo.trainers.estimators import from_lists
    >>> outcome(Rewards(torch.tensor([[0.5, 1.0]])), from_lists([[0.5, 1.0]])).y.tolist()
    [1.5]
    """
    return Credit(on_turns(rewards, batch).sum(1), "row")


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
        return Credit(discounted(on_tokens(rewards, batch), batch.token_mask_BS, gamma), "token")
    return Credit(discounted(on_turns(rewards, batch), batch.turn_mask_BT, gamma), "turn")


def ads(
    rewards: Rewards,
    batch: Trajectories,
    *,
    milestones: str = "progress",
    alpha: float = 0.2,
    horizon: int = 20,
    start: float = 0.2,
    pace: float = 1.0,
    share: float = 0.9,
    most: int = 5,
) -> Credit:
    """Look further ahead as early milestones are reached: `to_go` with gamma(k) = alpha^(1/k).

    A reward k turns ahead weighs alpha. k starts at `start` of the horizon. After a batch, and at
    most `most` times, k += 1 while score(k) >= int(share ref(k)): the score is the mean, over
    trajectories, of what the component `milestones` paid in the first k turns (1 for the next
    milestone, in order), and ref(k) = pace k is what an expert reaches in k turns.
    Source: ADS (repository), which advances after every episode; its score compares images with
    demonstrations, milestones are the version for text. State: `ads/k`, of the next batch.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[1.0, 1.0, 1.0, 0.0]])
    >>> turns = Rewards(batch.reward_BTK.squeeze(-1), state={"ads/k": 2})
    >>> credit = ads(turns, batch, milestones="reward")
    >>> credit.y.round(decimals=4).tolist(), credit.state
    ([[1.6472, 1.4472, 1.0, 0.0]], {'ads/k': 5})
    """
    check_range("start", start, 0.0, 1.0)
    check_range("pace", pace, 0.0, float("inf"))
    check_range("horizon", horizon, 1, float("inf"))
    if milestones not in batch.components:
        raise unknown("reward component", milestones, batch.components)
    first = min(max(round(start * horizon), 1), horizon)
    k = _progress(rewards.state.get("ads/k", first), horizon)
    y_BT = discounted(on_turns(rewards, batch), batch.turn_mask_BT, ads_gamma(k, alpha=alpha))
    score_T = _mean_score(batch, milestones)
    for _ in range(most):
        # a sum of floats may miss a whole number by a rounding residue
        if k >= horizon or _reached(score_T, k) + 1e-9 < int(share * pace * k):
            break
        k += 1
    return Credit(y_BT, "turn", state={**rewards.state, "ads/k": k})


def ads_gamma(k: float, *, alpha: float = 0.2) -> float:
    """Discount with which a reward k steps ahead weighs alpha: gamma(k) = alpha^(1/k).

    Raises:
        ConfigError: k is not positive or alpha not strictly between 0 and 1.

    >>> [round(ads_gamma(k), 4) for k in (1, 10, 20, 50, 100)]
    [0.2, 0.8513, 0.9227, 0.9683, 0.984]
    """
    if not k > 0 or not 0.0 < alpha < 1.0:
        raise ConfigError(f"k={k} must be above 0 and alpha={alpha} strictly between 0 and 1")
    return float(alpha ** (1.0 / k))


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
    reward_BT, mask_BT = on_turns(rewards, batch), batch.turn_mask_BT
    mean_BT = group_stats(reward_BT, batch.key_B("agent"), mask_BT, ddof).mean
    centred_BT = torch.where(mask_BT, reward_BT - mean_BT, 0.0)
    reward_BS, mask_BS = at_turn_ends(centred_BT, batch), batch.token_mask_BS
    if whiten:
        one_B = torch.zeros_like(batch.key_B("agent"))
        stats = group_stats(reward_BS, one_B, mask_BS, ddof)
        reward_BS = (reward_BS - stats.mean) / (stats.std**2 + eps).sqrt()
    return Credit(discounted(reward_BS, mask_BS, 1.0), "token")


CREDIT: Table = {
    "outcome": outcome,
    "to_go": to_go,
    "gae": gae,
    "td_critic": td_critic,
    "td_table": td_table,
    "ads": ads,
    "mars_code": mars_code,
}


def _progress(k: object, horizon: int) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"the state holds ads/k={k!r}; it must be a whole number of turns")
    return min(k, horizon)


def _mean_score(batch: Trajectories, component: str) -> list[float]:
    """Give what a component has paid after 1, 2, ... turns, on average over trajectories."""
    paid_BT = wide(batch.reward_BTK[..., batch.components.index(component)])
    paid_BT = torch.where(batch.turn_mask_BT, paid_BT, 0.0)
    total_BT = paid_BT.cumsum(1)[batch.turn_mask_BT.any(1)]
    return total_BT.mean(0).tolist() if len(total_BT) else []


def _reached(score_T: list[float], k: int) -> float:
    return score_T[min(k, len(score_T)) - 1] if score_T else 0.0
