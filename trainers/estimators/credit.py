"""Credit: which number of a trajectory is compared with others, before any centre or scale.

Rewards enter per turn, return as one number per row, per turn or per policy token, in float64.
What reads a critic is in `critic_credit`. Learned rewards per turn (SPA's progress) need no
credit of their own: a reward module pays them and `to_go` or `gae` carry them back.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.critic_credit import Gae, TdCritic
from coevo.trainers.estimators.groups import group_stats, wide
from coevo.trainers.estimators.rewards import (
    Credited,
    Rewards,
    at_turn_ends,
    discounted,
    on_tokens,
    on_turns,
)
from coevo.trainers.estimators.table_credit import TdTable
from coevo.trainers.estimators.trajectories import Trajectories


@config
class Outcome(AdvantageComponent):
    """Sum of all rewards of the trajectory: Y = sum_t r_t, one value per row.

    With components that are a turn's `own`, one value per turn: what they paid in other turns is
    left out, Y_t = sum_s r_s - sum_{s != t} own_s. Where the batch has none of them all is as
    without.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[0.5, 1.0]])
    >>> Outcome()(Rewards(torch.tensor([[0.5, 1.0]])), batch).y.tolist()
    [1.5]
    >>> Outcome(own=("reward",))(Rewards(torch.tensor([[0.5, 1.0]])), batch).y.tolist()
    [[0.5, 1.0]]
    """

    name: Literal["outcome"] = "outcome"
    own: tuple[str, ...] = ()

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        total_B = on_turns(rewards, batch).sum(1)
        if not set(self.own) & set(batch.components):
            return Credited(total_B, "row")
        reward_BTK = wide(batch.reward_BTK)
        weight_K = reward_BTK.new_tensor(
            [rewards.weights.get(k, 1.0) * (k in self.own) for k in batch.components]
        )
        own_BT = torch.where(batch.turn_mask_BT, reward_BTK @ weight_K, 0.0)
        y_BT = (total_B - own_BT.sum(1)).unsqueeze(1) + own_BT
        return Credited(torch.where(batch.turn_mask_BT, y_BT, 0.0), "turn")


@config
class ToGo(AdvantageComponent):
    """Discounted return from here on: Y_t = r_t + gamma Y_{t+1}.

    With gamma = 1 and a final reward only, every entry equals `outcome`. At token level the
    reward of a turn sits on its last token and gamma discounts per token.

    >>> from coevo.trainers.estimators import from_lists
    >>> ToGo(gamma=0.5)(Rewards(torch.tensor([[0.5, 1.0]])), from_lists([[0.5, 1.0]])).y.tolist()
    [[1.0, 1.0]]
    """

    name: Literal["to_go"] = "to_go"
    gamma: Annotated[float, real(0, 1)] = 1.0
    level: Literal["turn", "token"] = "turn"

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        if self.level == "token":
            return Credited(
                discounted(on_tokens(rewards, batch), batch.token_mask_BS, self.gamma), "token"
            )
        return Credited(
            discounted(on_turns(rewards, batch), batch.turn_mask_BT, self.gamma), "turn"
        )


@config
class Ads(AdvantageComponent):
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
    >>> credit = Ads(milestones="reward")(turns, batch)
    >>> credit.y.round(decimals=4).tolist(), credit.state
    ([[1.6472, 1.4472, 1.0, 0.0]], {'ads/k': 5})
    """

    of_one_reward = True
    name: Literal["ads"] = "ads"
    milestones: str = "progress"
    alpha: Annotated[float, real(above=0, below=1)] = 0.2
    horizon: Annotated[int, whole(1)] = 20
    start: Annotated[float, real(0, 1)] = 0.2
    pace: Annotated[float, real(0)] = 1.0
    share: Annotated[float, real(0)] = 0.9
    most: Annotated[int, whole(0)] = 5

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        if self.milestones not in batch.components:
            raise unknown("reward component", self.milestones, batch.components)
        first = min(max(round(self.start * self.horizon), 1), self.horizon)
        k = _progress(rewards.state.get("ads/k", first), self.horizon)
        y_BT = discounted(
            on_turns(rewards, batch), batch.turn_mask_BT, ads_gamma(k, alpha=self.alpha)
        )
        score_T = _mean_score(batch, self.milestones)
        for _ in range(self.most):
            # a sum of floats may miss a whole number by a rounding residue
            if k >= self.horizon or _reached(score_T, k) + 1e-9 < int(self.share * self.pace * k):
                break
            k += 1
        return Credited(y_BT, "turn", state={**rewards.state, "ads/k": k})


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


@config
class MarsCode(AdvantageComponent):
    """First three steps of the released MARS code: centre turn rewards, whiten tokens, sum.

    (1) r' = r - mean of r over all turns of the same agent key, on the last token of the turn;
    (2) r'' = (r' - mean) / sqrt(var + eps) over all policy tokens; (3) R_t = sum of r'' from t.
    Centring before the sum leaves a baseline that is linear in the turns that remain, so an
    offset of one seat changes it: `to_go` with `agent_mean` is the form of the paper.
    `whiten=False` leaves step 2 out.

    >>> from coevo.trainers.estimators import from_lists
    >>> rewards = [[0.05, 1.05], [0.05, 0.05, -0.95]]
    >>> batch = from_lists(rewards)
    >>> turns = Rewards(batch.reward_BTK.squeeze(-1))
    >>> MarsCode(whiten=False)(turns, batch).y.round(decimals=4).tolist()
    [[1.0, 1.0, 0.0], [-1.0, -1.0, -1.0]]
    """

    name: Literal["mars_code"] = "mars_code"
    whiten: bool = True
    ddof: Annotated[int, whole(0, 1)] = 1
    eps: Annotated[float, real(0)] = 1e-8

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        reward_BT, mask_BT = on_turns(rewards, batch), batch.turn_mask_BT
        mean_BT = group_stats(reward_BT, batch.key_B("agent"), mask_BT, self.ddof).mean
        centred_BT = torch.where(mask_BT, reward_BT - mean_BT, 0.0)
        reward_BS, mask_BS = at_turn_ends(centred_BT, batch), batch.token_mask_BS
        if self.whiten:
            one_B = torch.zeros_like(batch.key_B("agent"))
            stats = group_stats(reward_BS, one_B, mask_BS, self.ddof)
            reward_BS = (reward_BS - stats.mean) / (stats.std**2 + self.eps).sqrt()
        return Credited(discounted(reward_BS, mask_BS, 1.0), "token")


Credit = Annotated[
    Outcome | ToGo | Gae | TdCritic | TdTable | Ads | MarsCode,
    choice(),
]


def _progress(k: object, horizon: int) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"the state holds ads/k={k!r}; it must be a whole number of turns")
    return min(k, horizon)


def _mean_score(batch: Trajectories, component: str) -> list[float]:
    """Return what a component has paid after 1, 2, ... turns, on average over trajectories."""
    paid_BT = wide(batch.reward_BTK[..., batch.components.index(component)])
    paid_BT = torch.where(batch.turn_mask_BT, paid_BT, 0.0)
    total_BT = paid_BT.cumsum(1)[batch.turn_mask_BT.any(1)]
    return total_BT.mean(0).tolist() if len(total_BT) else []


def _reached(score_T: list[float], k: int) -> float:
    return score_T[min(k, len(score_T)) - 1] if score_T else 0.0
