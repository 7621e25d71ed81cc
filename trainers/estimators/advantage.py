"""From rewards to advantages: compose, credit, baseline, normalise, transform; then to tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config as component
from coevo.envs.core.config import real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.baseline import Baseline, GroupMean, State
from coevo.trainers.estimators.compose import Composition, Parts, WeightedSum
from coevo.trainers.estimators.credit import Credit, Credited, Outcome
from coevo.trainers.estimators.frame import Frame, Weights
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.normalise import GroupStd, Normalisation
from coevo.trainers.estimators.rewards import kl_in_reward
from coevo.trainers.estimators.table import AdvantageTable
from coevo.trainers.estimators.trajectories import Trajectories
from coevo.trainers.estimators.transform import Transform


@component
class AdvantageConfig:
    """The components of the advantage. The defaults are GRPO.

    >>> from coevo.trainers.estimators import NoNormalisation
    >>> AdvantageConfig(normalise=NoNormalisation()).baseline.name
    'group_mean'
    """

    reward_weights: Mapping[str, Annotated[float, real()]] = field(default_factory=dict)
    """Factor per reward component; 1 where not given."""
    compose: Composition = field(default_factory=WeightedSum)
    """How reward components become what is credited."""
    credit: Credit = field(default_factory=Outcome)
    """What is compared."""
    baseline: Baseline = field(default_factory=GroupMean)
    """What it is compared with."""
    normalise: Normalisation = field(default_factory=GroupStd)
    """The unit it is measured in."""
    weights: Weights = "row"
    """What counts as one observation; see `Frame`."""
    transform: tuple[Transform, ...] = ()
    """Changes after that, applied left to right."""
    ddof: Annotated[int, whole(0, 1)] = 1
    """Degrees of freedom taken off in every variance."""
    eps: Annotated[float, real(0)] = 1e-6
    """Added to every deviation that divides."""
    steps: Literal["turn", "round"] = "turn"
    """What is one time-step of a trajectory: every reply, or all replies of a round together."""
    others: bool = False
    """Whether seats of agents that do not learn are credited too, for components that compare the
    seats of an episode; their statistics are part of the batch, so keep them apart by `agent`."""
    kl_in_reward: Annotated[float, real()] = 0.0
    """Cost per nat of logp_old - logp_ref, taken off the reward at every token."""
    invalid: Annotated[float, real()] | None = None
    """Advantage of a trajectory that no reward could be found for, such as -1; None drops it.
    Either way others are not compared with it."""

    def __post_init__(self) -> None:
        if not self.compose.keeps_apart:
            return
        for slot, part in (("credit", self.credit), ("baseline", self.baseline)):
            if part.of_one_reward or bool(getattr(part, "own", None)):
                raise ConfigError(
                    f"compose={self.compose.name!r} keeps several rewards apart, but "
                    f"{slot}={part.name!r} knows one; use compose=weighted_sum"
                )
        if self.kl_in_reward:
            raise ConfigError(
                f"compose={self.compose.name!r} keeps several rewards apart, but kl_in_reward="
                f"{self.kl_in_reward} charges one; use compose=weighted_sum"
            )


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
    config: AdvantageConfig, trajectories: Trajectories, state: State | None = None
) -> Advantages:
    """Compute the advantages of one complete batch.

    The statistics are those of the batch, so call this before splitting it into micro-batches.

    Raises:
        ConfigError: The batch lacks what an option needs, such as the values of a critic.

    >>> from coevo.trainers.estimators import NoNormalisation, from_lists
    >>> batch = from_lists([[1.0], [0.0]], tokens=[[2], [1]])
    >>> result = advantages(AdvantageConfig(normalise=NoNormalisation()), batch)
    >>> result.advantage_BS.tolist()
    [[0.5, 0.5], [-0.5, 0.0]]
    """
    valid_B = trajectories.valid_B
    if valid_B is not None and not bool(valid_B.all()):
        return _with_invalid(config, trajectories, valid_B, state)
    made, credit = _estimate(config, trajectories, state or {})
    dtype = torch.promote_types(trajectories.reward_BTK.dtype, torch.float32)
    advantage_BS = made.frame.to_tokens(made.a).to(dtype)
    return_BS = None if credit.return_BS is None else credit.return_BS.to(dtype)
    first = Frame(trajectories, credit.level, config.weights, config.ddof, config.eps)
    stats = _stats(made.rewards.reward_BT, credit, first, advantage_BS, config.baseline)
    return Advantages(advantage_BS, return_BS, made.state, stats, credit.return_mask_BS)


@torch.no_grad()
def advantage_table(
    config: AdvantageConfig, trajectories: Trajectories, state: State | None = None
) -> AdvantageTable:
    """Compute the advantages in the level of their credit, before they spread over tokens.

    >>> from coevo.trainers.estimators import NoNormalisation, from_lists
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> advantage_table(config, from_lists([[1.0], [0.0]])).a.tolist()
    [0.5, -0.5]
    """
    return _estimate(config, trajectories, state or {})[0]


def _estimate(
    config: AdvantageConfig, batch: Trajectories, state: State
) -> tuple[AdvantageTable, Credited]:
    reward_BTK = torch.where(batch.turn_mask_BT.unsqueeze(-1), wide(batch.reward_BTK), 0.0)
    whole = Parts(reward_BTK, batch.components, config.reward_weights, batch.turn_mask_BT, state)
    parts = config.compose(whole)
    state, made = dict(parts.state), []
    for k, name in enumerate(parts.components):
        one, credit = _normalised(config, batch, parts.reward_BTK[..., k], state)
        weight = parts.weights.get(name, 1.0)
        made.append(one if weight == 1.0 else _times(one, weight))
        state = dict(one.state)
    total = reduce(_plus, made)
    for transform in config.transform:
        total = transform(total)
    return total, credit


def _normalised(
    config: AdvantageConfig, batch: Trajectories, reward_BT: Tensor, state: State
) -> tuple[AdvantageTable, Credited]:
    """Credit one reward, take the baseline off and normalise."""
    rewards = kl_in_reward(reward_BT, batch, beta=config.kl_in_reward)
    rewards = rewards._replace(state=state, weights=config.reward_weights)
    credit = config.credit(rewards, batch)
    frame = Frame(batch, credit.level, config.weights, config.ddof, config.eps)
    before = state if credit.state is None else credit.state
    a, after = config.baseline(credit.y, frame, before)
    a = config.normalise(a, credit.y, frame)
    return AdvantageTable(a, frame, credit.y, rewards, after, frame), credit


def _with_invalid(
    config: AdvantageConfig, batch: Trajectories, valid_B: Tensor, state: State | None
) -> Advantages:
    """Compare those that have a reward with each other; the others get a fixed advantage."""
    found = advantages(config, batch.chosen(valid_B), state)

    def whole(value_VS: Tensor | None, fill: float) -> Tensor | None:
        if value_VS is None:
            return None
        value_BS = value_VS.new_full(batch.turn_of_BS.shape, fill)
        value_BS[valid_B] = value_VS
        return torch.where(batch.token_mask_BS, value_BS, torch.zeros_like(value_BS))

    advantage_BS = whole(found.advantage_BS, config.invalid or 0.0)
    assert advantage_BS is not None
    rest = whole(found.return_BS, 0.0), whole(found.return_mask_BS, 0.0)
    return replace(found, advantage_BS=advantage_BS, return_BS=rest[0], return_mask_BS=rest[1])


def _times(one: AdvantageTable, weight: float) -> AdvantageTable:
    rewards = one.rewards._replace(reward_BT=weight * one.rewards.reward_BT)
    return replace(one, a=weight * one.a, y=weight * one.y, rewards=rewards)


def _plus(one: AdvantageTable, other: AdvantageTable) -> AdvantageTable:
    """Add the advantages of another reward component of the same batch."""
    reward_BT = one.rewards.reward_BT + other.rewards.reward_BT
    rewards = one.rewards._replace(reward_BT=reward_BT)
    return replace(other, a=one.a + other.a, y=one.y + other.y, rewards=rewards)


def _stats(
    reward_BT: Tensor,
    credit: Credited,
    frame: Frame,
    advantage_BS: Tensor,
    baseline: Baseline,
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
        "credit/constant_groups": _constant_groups(credit.y, frame, baseline),
    }


def _constant_groups(y: Tensor, frame: Frame, baseline: Baseline) -> float:
    """Return the share of the baseline's groups whose credit does not vary: they teach nothing.

    Where a trajectory that is alone keeps its credit it is not counted, since it teaches.
    """
    by = getattr(baseline, "by", "group")
    key, seen, stats = frame.key(by), frame.mask, frame.stats(y, by)
    if getattr(baseline, "single", "zero") == "keep":
        seen = seen & (stats.total - frame.own(y, by)[1] > 0.5)
    return len(key[stats.constant & seen].unique()) / max(len(key[seen].unique()), 1)
