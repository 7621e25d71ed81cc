"""From rewards to advantages: compose, credit, normalise, modify, then spread over tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.compose import COMPOSE, Parts
from coevo.trainers.estimators.credit import CREDIT, Credit, kl_in_reward
from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.frame import WEIGHTS, Frame
from coevo.trainers.estimators.groups import extremes, wide
from coevo.trainers.estimators.modify import MODIFY
from coevo.trainers.estimators.normalise import CENTER, SCALE, State
from coevo.trainers.estimators.option import Option, check
from coevo.trainers.estimators.trajectories import Trajectories

_OF_ONE_REWARD = ("gae", "td_critic", "td_table", "ads", "greedy", "seat_ema")
"""Credits and centres that read a critic, a played baseline or a running mean."""


@dataclass(frozen=True, kw_only=True)
class AdvantageSpec:
    """One option for every slot of the advantage. The defaults are GRPO.

    Raises:
        UnknownNameError: An option or the weights are in no table.
        ConfigError: A parameter is unknown, of the wrong type or out of range.

    >>> AdvantageSpec(scale=Option("none")).center.name
    'group'
    """

    reward_weights: Mapping[str, float] = field(default_factory=dict)
    """Factor per reward component; 1 where not given."""
    compose: Option = field(default=Option("sum"))
    """How reward components become what is credited, from COMPOSE."""
    credit: Option = field(default=Option("outcome"))
    """What is compared, from CREDIT."""
    center: Option = field(default=Option("group"))
    """What it is compared with, from CENTER."""
    scale: Option = field(default=Option("group_std"))
    """The unit it is measured in, from SCALE."""
    weights: str = "row"
    """What counts as one observation: row, turn, token or trajectory; see `Frame`."""
    modify: tuple[Option, ...] = ()
    """Modifiers from MODIFY, applied left to right."""
    ddof: int = 1
    """Degrees of freedom taken off in every variance."""
    eps: float = 1e-6
    """Added to every deviation that divides."""
    steps: Literal["turn", "round"] = "turn"
    """What is one time-step of a trajectory: every reply, or all replies of a round together."""
    others: bool = False
    """Whether seats of players that do not learn are credited too, for options that compare the
    seats of a play; their statistics are part of the batch, so keep them apart by `agent`."""
    kl_in_reward: float = 0.0
    """Cost per nat of logp_old - logp_ref, taken off the reward at every token."""

    def __post_init__(self) -> None:
        check(self.compose, COMPOSE, "compose")
        check(self.credit, CREDIT, "credit")
        check(self.center, CENTER, "center")
        check(self.scale, SCALE, "scale")
        for modifier in self.modify:
            check(modifier, MODIFY, "modify")
        if self.steps not in ("turn", "round"):
            raise ConfigError(f"steps={self.steps!r} must be turn or round")
        if self.weights not in WEIGHTS:
            raise unknown("weights", self.weights, WEIGHTS)
        if self.ddof < 0 or not self.eps >= 0.0:
            raise ConfigError(f"ddof={self.ddof} and eps={self.eps} must not be negative")
        if self.compose.name == "decoupled":
            _check_decoupled(self)


@dataclass(frozen=True)
class Advantages:
    """What the policy and the critic learn from."""

    advantage_BS: Tensor
    """Advantage of every policy token, no gradient, 0 at padding; float32 (float64 rewards: 64)."""
    return_BS: Tensor | None
    """Critic target of every policy token; None where the credit uses no critic."""
    state: State
    """What the next batch must be given: running means by name."""
    stats: dict[str, float]
    """Numbers for the log."""
    return_mask_BS: Tensor | None = None
    """Where the critic has a target of its own: all tokens, or the first one of each turn."""


@torch.no_grad()
def advantages(
    spec: AdvantageSpec, trajectories: Trajectories, state: State | None = None
) -> Advantages:
    """Compute the advantages of one complete batch.

    The statistics are those of the batch, so call this before splitting it into micro-batches.

    Raises:
        ConfigError: The batch lacks what an option needs, such as the values of a critic.

    >>> from coevo.trainers.estimators import from_lists
    >>> batch = from_lists([[1.0], [0.0]], tokens=[[2], [1]])
    >>> result = advantages(AdvantageSpec(scale=Option("none")), batch)
    >>> result.advantage_BS.tolist()
    [[0.5, 0.5], [-0.5, 0.0]]
    """
    made, credit = _estimate(spec, trajectories, state or {})
    dtype = torch.promote_types(trajectories.reward_BTK.dtype, torch.float32)
    advantage_BS = made.frame.to_tokens(made.a).to(dtype)
    return_BS = None if credit.return_BS is None else credit.return_BS.to(dtype)
    first = Frame(trajectories, credit.level, spec.weights, spec.ddof, spec.eps)
    stats = _stats(made.rewards.reward_BT, credit, first, advantage_BS)
    return Advantages(advantage_BS, return_BS, made.state, stats, credit.return_mask_BS)


@torch.no_grad()
def draft(spec: AdvantageSpec, trajectories: Trajectories, state: State | None = None) -> Draft:
    """Compute the advantages in the level of their credit, before they spread over tokens.

    >>> from coevo.trainers.estimators import from_lists
    >>> draft(AdvantageSpec(scale=Option("none")), from_lists([[1.0], [0.0]])).a.tolist()
    [0.5, -0.5]
    """
    return _estimate(spec, trajectories, state or {})[0]


def _estimate(spec: AdvantageSpec, batch: Trajectories, state: State) -> tuple[Draft, Credit]:
    reward_BTK = torch.where(batch.turn_mask_BT.unsqueeze(-1), wide(batch.reward_BTK), 0.0)
    whole = Parts(reward_BTK, batch.components, spec.reward_weights, batch.turn_mask_BT, state)
    parts = COMPOSE[spec.compose.name](whole, **spec.compose.params)
    state, made = dict(parts.state), []
    for k, name in enumerate(parts.components):
        one, credit = _normalised(spec, batch, parts.reward_BTK[..., k], state)
        weight = parts.weights.get(name, 1.0)
        made.append(one if weight == 1.0 else _times(one, weight))
        state = dict(one.state)
    total = reduce(_plus, made)
    for modifier in spec.modify:
        total = MODIFY[modifier.name](total, **modifier.params)
    return total, credit


def _normalised(
    spec: AdvantageSpec, batch: Trajectories, reward_BT: Tensor, state: State
) -> tuple[Draft, Credit]:
    """Credit, centre and scale one reward."""
    rewards = kl_in_reward(reward_BT, batch, beta=spec.kl_in_reward)._replace(state=state)
    credit: Credit = CREDIT[spec.credit.name](rewards, batch, **spec.credit.params)
    frame = Frame(batch, credit.level, spec.weights, spec.ddof, spec.eps)
    before = state if credit.state is None else credit.state
    a, after = CENTER[spec.center.name](credit.y, frame, before, **spec.center.params)
    a = SCALE[spec.scale.name](a, credit.y, frame, **spec.scale.params)
    return Draft(a, frame, credit.y, rewards, after, frame), credit


def _check_decoupled(spec: AdvantageSpec) -> None:
    """Refuse what knows one reward, or moves its state once per batch, for K rewards."""
    for slot, name in (("credit", spec.credit.name), ("center", spec.center.name)):
        if name in _OF_ONE_REWARD:
            raise ConfigError(
                f"compose='decoupled' keeps several rewards apart, but {slot}={name!r} knows one; "
                "use compose='sum'"
            )
    if spec.kl_in_reward:
        raise ConfigError(
            f"compose='decoupled' keeps several rewards apart, but kl_in_reward="
            f"{spec.kl_in_reward} charges one; use compose='sum'"
        )


def _times(one: Draft, weight: float) -> Draft:
    rewards = one.rewards._replace(reward_BT=weight * one.rewards.reward_BT)
    return replace(one, a=weight * one.a, y=weight * one.y, rewards=rewards)


def _plus(one: Draft, other: Draft) -> Draft:
    """Add the advantages of another reward component of the same batch."""
    reward_BT = one.rewards.reward_BT + other.rewards.reward_BT
    rewards = one.rewards._replace(reward_BT=reward_BT)
    return replace(other, a=one.a + other.a, y=one.y + other.y, rewards=rewards)


def _stats(
    reward_BT: Tensor, credit: Credit, frame: Frame, advantage_BS: Tensor
) -> dict[str, float]:
    token_BS = frame.batch.token_mask_BS
    real_B, tokens = token_BS.any(1), int(token_BS.sum())  # what others did is not ours to log
    if not tokens:
        return {}
    # an advantage is 0 at padding, so sums over all cells are sums over tokens
    mean = float(advantage_BS.sum(dtype=torch.float64)) / tokens
    off_BS = torch.where(token_BS, advantage_BS.double() - mean, 0.0)
    return {
        "reward/mean": float(reward_BT.sum(1)[real_B].mean()),
        "advantage/mean": mean,
        "advantage/std": (float(off_BS.square_().sum()) / tokens) ** 0.5,
        "advantage/abs_max": float(advantage_BS.abs().max()),
        "advantage/zero": 1.0 - int(advantage_BS.count_nonzero()) / tokens,
        "credit/constant_groups": _constant_groups(credit.y, frame),
    }


def _constant_groups(y: Tensor, frame: Frame) -> float:
    """Share of the `group` keys whose credit does not vary: they teach a group centre nothing."""
    key_B = frame.batch.key_B("group")
    low_B, high_B = extremes(y, key_B, frame.mask)
    constant_B = high_B <= low_B
    seen_B = high_B >= low_B  # a group without entries has neither
    return len(key_B[constant_B & seen_B].unique()) / max(len(key_B[seen_B].unique()), 1)
