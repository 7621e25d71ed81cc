"""Compositions and credits: what is compared, before any baseline.

A composition makes of reward components the reward of every turn. Rewards stay at the turns that
earned them; where a rule looks at a whole trajectory it reads the sum of a component over the
turns. Thresholds and products read the reward itself, weights scale what is credited for it.

A credit makes of the rewards of turns one number per row, per turn or per response token, in
float64. Over tokens, the reward of a turn stands on the turn's last token. Learned rewards per turn
(SPA's progress) need no credit of their own: a reward module gives them and `ToGo` or `Gae` carry
them back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Composition, Credit
from coevo.trainers.components.critic_credits import Gae, TdCritic, TdTable
from coevo.trainers.components.mark_credits import Attributed, Thoughts
from coevo.trainers.components.rank_consistency import RankConsistency
from coevo.trainers.estimate import Estimate, at_turn_ends, on_tokens, on_turns
from coevo.trainers.tensors import (
    discounted,
    group_stats,
    wide,
)

_NEARLY = 1e-6
"""Rewards that should be 0 or 1 may be sums of floats."""


# ---- Compositions ----------------------------------------------------------------------------


@config
class WeightedSum(Composition):
    """Sum the components: r_t = sum_k w_k r_tk. A weight not given is 1.

    >>> batch = _turns(format=[0.5], payoff=[1.0])
    >>> WeightedSum()(batch, torch.tensor([0.5, 1.0])).tolist()
    [[1.25]]
    """

    name: Literal["weighted_sum"] = "weighted_sum"

    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        return (batch.reward_BTK * weight_K).sum(-1)


@config
class Decoupled(Composition):
    """Keep the K components apart: each is normalised alone, the advantages are summed.

    A = sum_k w_k A_k, A_k = (R_k - mean_g) / (std_g + eps), then normalised over the batch by a
    modifier: GDPO (`modify=batch_whiten`); with another scale and w_k = 1 / K, BNPO's
    decomposition. The weights are left for the estimator, one for every component. Normalising
    over the batch hides their common scale, so only their ratios matter; a component that
    hardly varies is divided by its tiny deviation and becomes loud.
    Source: GDPO repository, TRL `normalize_then_sum`; BNPO repository, its defect left out
    (it sums the total as one more component).

    >>> Decoupled()(_turns(a=[1.0], b=[0.5]), torch.ones(2)).tolist()
    [[[1.0, 0.5]]]
    """

    keeps_apart = True
    name: Literal["decoupled"] = "decoupled"

    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        return batch.reward_BTK


@config
class Gated(Composition):
    """Pay lower rewards only where the higher one is earned: R = R_h + 1[R_h >= delta] R_lower.

    `high` lists components by priority, `[a, b]`: then R_lower = R_b + 1[R_b >= delta] ... and
    every component that is not in the list is of the lowest priority. The gates read the
    outcome of the trajectory. Source: G-RA (abstract); its thresholds are not public, 0.5 is ours.

    >>> batch = _turns(payoff=[1.0, 0.0], progress=[0.4, 0.4])
    >>> Gated()(batch, torch.ones(2)).flatten().tolist()
    [1.4, 0.0]
    """

    name: Literal["gated"] = "gated"
    high: Annotated[tuple[str, ...], Field(min_length=1)] = ("payoff",)
    delta: Annotated[float, real()] = 0.5

    def __post_init__(self) -> None:
        if len(set(self.high)) < len(self.high):
            raise ConfigError(f"high={list(self.high)} must name different components")

    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        outcome_BK = batch.reward_BTK.sum(1)
        factor_BK = torch.zeros_like(outcome_BK)
        open_B = outcome_BK.new_ones(len(outcome_BK))
        for name in self.high:
            k = batch.component(name)
            factor_BK[:, k] = open_B
            open_B = torch.where(outcome_BK[:, k] >= self.delta, open_B, 0.0)
        for k in [k for k, name in enumerate(batch.components) if name not in self.high]:
            factor_BK[:, k] = open_B
        factor_BK *= weight_K
        return (batch.reward_BTK * factor_BK.unsqueeze(1)).sum(-1)


@config
class Tiered(Composition):
    """Grade both successes and failures by a tier: R = C + alpha S, C in {0, 1}, S in [0, 1].

    Every failure must stay below every success, with whatever other components and weights add:
    max R(C = 0) < min R(C = 1). Source: SSL (page); its alpha is not public, 0.5 is ours.

    Raises:
        ConfigError: alpha is not in [0, 1), C or S is out of range, or a failure of the batch
            earns as much as a success.

    >>> batch = _turns(payoff=[1.0, 0.0], progress=[0.2, 0.8])
    >>> Tiered()(batch, torch.ones(2)).flatten().tolist()
    [1.1, 0.4]
    """

    name: Literal["tiered"] = "tiered"
    outcome: str = "payoff"
    tier: str = "progress"
    alpha: Annotated[float, real(0, below=1)] = 0.5

    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        c, s = batch.component(self.outcome), batch.component(self.tier)
        outcome_BK = batch.reward_BTK.sum(1)
        won_B = _bit(outcome_BK[:, c], self.outcome)
        _within_one(outcome_BK[:, s], self.tier)
        factor_K = weight_K.clone()
        factor_K[s] *= self.alpha
        reward_BT = (batch.reward_BTK * factor_K).sum(-1)
        _check_order(reward_BT.sum(1), won_B, batch.real_B)
        return reward_BT


@config
class Constrained(Decoupled):
    """Keep K components apart and steer each to a point, by multipliers: A = sum_k lambda_k A_k.

    lambda = tanh(mu) holds J_k = theta_k (`equality`), sigmoid(mu) wants at least theta_k. With J
    the mean outcome of the batch, mu descends on sum_k lambda_k (J_k - theta_k) before every
    update. Each of the N components with a point has a baseline of its own; what has no point (the
    task, or a KL) weighs N - sum lambda. Source: Moskovitz et al. 2023, arXiv 2310.04373.

    >>> batch = _turns(a=[1.0, 0.0], b=[0.0, 0.0])
    >>> steered = Constrained(points={"a": 0.0}, lr=1.0)
    >>> weight_K, state = steered.weighed(batch, torch.ones(2, dtype=torch.float64), {})
    >>> weight_K.round(decimals=4).tolist(), state["constrained/a"]
    ([-0.4621, 1.4621], -0.5)
    """

    name: Literal["constrained"] = "constrained"  # type: ignore[assignment]
    points: Mapping[str, Annotated[float, real()]] = field(default_factory=lambda: {"payoff": 0.5})
    """Component -> the outcome that it is held to."""
    form: Literal["equality", "inequality"] = "equality"
    """Whether a component is pushed down above its point, or only less upwards."""
    lr: Annotated[float, real(0)] = 0.1
    momentum: Annotated[float, real(0, below=1)] = 0.1

    def weighed(
        self, batch: Batch, weight_K: Tensor, state: Mapping[str, Any]
    ) -> tuple[Tensor, Mapping[str, Any]]:
        if not batch.real_B.any():
            return weight_K, state
        outcome_K = batch.reward_BTK.sum(1)[batch.real_B].mean(0)
        after, multiplier = dict(state), {}
        for name, point in self.points.items():
            key = f"constrained/{name}"
            mu, speed = float(after.get(key, 0.0)), float(after.get(f"{key}/speed", 0.0))
            gap = float(outcome_K[batch.component(name)]) - point
            now = self._multiplier(mu)
            slope = 1 - now**2 if self.form == "equality" else now * (1 - now)
            speed = self.momentum * speed + slope * gap
            after[key], after[f"{key}/speed"] = mu - self.lr * speed, speed
            multiplier[name] = self._multiplier(mu - self.lr * speed)
        rest = len(self.points) - sum(multiplier.values())
        factors = [multiplier.get(name, rest) for name in batch.components]
        return weight_K * weight_K.new_tensor(factors), after

    def _multiplier(self, mu: float) -> float:
        return math.tanh(mu) if self.form == "equality" else 0.5 + 0.5 * math.tanh(mu / 2)


AnyComposition = Annotated[
    WeightedSum | Decoupled | Gated | Tiered | Constrained | RankConsistency, choice(Composition)
]


def _turns(**rewards: list[float]) -> Batch:
    """Build a batch of trajectories of one turn, for examples: the rewards of each component."""
    names = tuple(rewards)
    reward_BK = torch.tensor([*zip(*rewards.values(), strict=True)], dtype=torch.float64)
    mask_BT = torch.ones(len(reward_BK), 1, dtype=torch.bool)
    return Batch.from_rewards(reward_BK.unsqueeze(1), names, mask_BT, mask_BT.long() - 1, {})


def _bit(outcome_B: Tensor, name: str) -> Tensor:
    """Read an outcome that must be 0 or 1."""
    won_B = outcome_B > 0.5
    off_B = (outcome_B - won_B.to(outcome_B.dtype)).abs()
    if bool((off_B > _NEARLY).any()):
        worst = float(outcome_B[off_B.argmax()])
        raise ConfigError(f"the outcome {name!r} is {worst} in a trajectory; it must be 0 or 1")
    return won_B


def _within_one(outcome_B: Tensor, name: str) -> None:
    off_B = (outcome_B - outcome_B.clamp(0.0, 1.0)).abs()
    if bool((off_B > _NEARLY).any()):
        worst = float(outcome_B[off_B.argmax()])
        raise ConfigError(f"the tier {name!r} is {worst} in a trajectory; it must be in [0, 1]")


def _check_order(reward_B: Tensor, won_B: Tensor, real_B: Tensor) -> None:
    lost_B, won_B = ~won_B & real_B, won_B & real_B
    if not bool(lost_B.any()) or not bool(won_B.any()):
        return
    best, worst = float(reward_B[lost_B].max()), float(reward_B[won_B].min())
    if best >= worst:
        raise ConfigError(
            f"a failure earns {best:.4g}, a success {worst:.4g}: lower alpha or the weights "
            "of the other components"
        )


# ---- Credits ---------------------------------------------------------------------------------


@config
class Outcome(Credit):
    """Sum of all rewards of the trajectory: Y = sum_t r_t, one value per row.

    With components that are a turn's `own`, one value per turn: what they paid in other turns is
    left out, Y_t = sum_s r_s - sum_{s != t} own_s. Where the batch has none of them all is as
    without.

    >>> Outcome()(Estimate.of([[0.5, 1.0]])).y.tolist()
    [1.5]
    >>> Outcome(own=("reward",))(Estimate.of([[0.5, 1.0]])).y.tolist()
    [[0.5, 1.0]]
    """

    name: Literal["outcome"] = "outcome"
    own: tuple[str, ...] = ()

    @property
    def of_one_reward(self) -> bool:
        return bool(self.own)

    def __call__(self, e: Estimate) -> Estimate:
        total_B = on_turns(e).sum(1)
        if not set(self.own) & set(e.batch.components):
            return e.to(total_B, "row")
        reward_BTK = wide(e.batch.reward_BTK)
        weight_K = reward_BTK.new_tensor(
            [e.reward_weights.get(k, 1.0) * (k in self.own) for k in e.batch.components]
        )
        own_BT = e.hide(reward_BTK @ weight_K)
        return e.to((total_B - own_BT.sum(1)).unsqueeze(1) + own_BT)


@config
class ToGo(Credit):
    """Discounted return from here on: Y_t = r_t + gamma Y_{t+1}.

    With gamma = 1 and a final reward only, every entry equals `outcome`. At token level the
    reward of a turn sits on its last token and gamma discounts per token.

    >>> ToGo(gamma=0.5)(Estimate.of([[0.5, 1.0]])).y.tolist()
    [[1.0, 1.0]]
    """

    name: Literal["to_go"] = "to_go"
    gamma: Annotated[float, real(0, 1)] = 1.0
    level: Literal["turn", "token"] = "turn"

    def __call__(self, e: Estimate) -> Estimate:
        if self.level == "token":
            return e.to(discounted(on_tokens(e), e.batch.token_mask_BS, self.gamma), "token")
        return e.to(discounted(on_turns(e), e.batch.turn_mask_BT, self.gamma))


@config
class Ads(Credit):
    """Look further ahead as early milestones are reached: `to_go` with gamma(k) = alpha^(1/k).

    A reward k turns ahead weighs alpha. k starts at `start` of the horizon. After a batch, and at
    most `most` times, k += 1 while score(k) >= int(share ref(k)): the score is the mean, over
    trajectories, of what the component `milestones` paid in the first k turns (1 for the next
    milestone, in order), and ref(k) = pace k is what an expert reaches in k turns.
    Source: ADS (repository), which advances after every episode; its score compares images with
    demonstrations, milestones are the version for text. State: `ads/k`, of the next e.batch.

    >>> turns = Estimate.of([[1.0, 1.0, 1.0, 0.0]], state={"ads/k": 2})
    >>> credit = Ads(milestones="reward")(turns)
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

    def __call__(self, e: Estimate) -> Estimate:
        score_T = _mean_score(e.batch, self.milestones)
        first = min(max(round(self.start * self.horizon), 1), self.horizon)
        k = _progress(e.state.get("ads/k", first), self.horizon)
        y_BT = discounted(on_turns(e), e.batch.turn_mask_BT, ads_gamma(k, alpha=self.alpha))
        for _ in range(self.most):
            # a sum of floats may miss a whole number by a rounding residue
            if k >= self.horizon or _reached(score_T, k) + 1e-9 < int(self.share * self.pace * k):
                break
            k += 1
        return e.to(y_BT, state={**e.state, "ads/k": k})


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
class MarsCode(Credit):
    """First three steps of the released MARS code: centre turn rewards, whiten tokens, sum.

    (1) r' = r - mean of r over all turns of the same agent key, on the last token of the turn;
    (2) r'' = (r' - mean) / sqrt(var + eps) over all policy tokens; (3) R_t = sum of r'' from t.
    Centring before the sum leaves a baseline that is linear in the turns that remain, so an
    offset of one seat changes it: `to_go` with `agent_mean` is the form of the paper.
    `whiten=False` leaves step 2 out.

    >>> turns = Estimate.of([[0.05, 1.05], [0.05, 0.05, -0.95]])
    >>> MarsCode(whiten=False)(turns).y.round(decimals=4).tolist()
    [[1.0, 1.0, 0.0], [-1.0, -1.0, -1.0]]
    """

    name: Literal["mars_code"] = "mars_code"
    whiten: bool = True
    ddof: Annotated[int, whole(0, 1)] = 1
    eps: Annotated[float, real(0)] = 1e-8

    def __call__(self, e: Estimate) -> Estimate:
        batch, reward_BT, mask_BT = e.batch, on_turns(e), e.batch.turn_mask_BT
        mean_BT = group_stats(reward_BT, batch.key_B("agent"), mask_BT, self.ddof).mean
        centred_BT = torch.where(mask_BT, reward_BT - mean_BT, 0.0)
        reward_BS, mask_BS = at_turn_ends(centred_BT, batch), batch.token_mask_BS
        if self.whiten:
            one_B = torch.zeros_like(batch.key_B("agent"))
            stats = group_stats(reward_BS, one_B, mask_BS, self.ddof)
            reward_BS = (reward_BS - stats.mean) / (stats.std**2 + self.eps).sqrt()
        return e.to(discounted(reward_BS, mask_BS, 1.0), "token")


def _progress(k: object, horizon: int) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"the state holds ads/k={k!r}; it must be a whole number of turns")
    return min(k, horizon)


def _mean_score(batch: Batch, component: str) -> list[float]:
    """Return what a component has paid after 1, 2, ... turns, on average over trajectories."""
    paid_BT = wide(batch.reward_BTK[..., batch.component(component)])
    paid_BT = torch.where(batch.turn_mask_BT, paid_BT, 0.0)
    total_BT = paid_BT.cumsum(1)[batch.turn_mask_BT.any(1)]
    return total_BT.mean(0).tolist() if len(total_BT) else []


def _reached(score_T: list[float], k: int) -> float:
    return score_T[min(k, len(score_T)) - 1] if score_T else 0.0


AnyCredit = Annotated[
    Outcome | ToGo | Gae | TdCritic | TdTable | Ads | MarsCode | Attributed | Thoughts,
    choice(Credit),
]
