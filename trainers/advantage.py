"""From rewards to advantages: compose, credit, baseline, normalise, transform; then to tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import reduce
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config as component
from coevo.envs.core.config import real, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.rewards import RESERVED
from coevo.trainers.batch import Batch
from coevo.trainers.components.baselines import AnyBaseline, GroupMean
from coevo.trainers.components.credits import AnyComposition, AnyCredit, Outcome, WeightedSum
from coevo.trainers.components.normalisations import AnyNormalisation, GroupStd
from coevo.trainers.components.transforms import AnyTransform
from coevo.trainers.estimate import Estimate, Weights
from coevo.trainers.tensors import wide

State = Mapping[str, Any]


@component
class AdvantageConfig:
    """The components of the advantage. The defaults are GRPO.

    >>> from coevo.trainers.components.normalisations import NoNormalisation
    >>> AdvantageConfig(normalise=NoNormalisation()).baseline.name
    'group_mean'
    """

    reward_weights: Mapping[str, Annotated[float, real()]] = field(default_factory=dict)
    """Factor per reward component; 1 where not given."""
    compose: AnyComposition = field(default_factory=WeightedSum)
    """How reward components become what is credited."""
    credit: AnyCredit = field(default_factory=Outcome)
    """What is compared."""
    baseline: AnyBaseline = field(default_factory=GroupMean)
    """What it is compared with."""
    normalise: AnyNormalisation = field(default_factory=GroupStd)
    """The unit it is measured in."""
    weights: Weights = "row"
    """What counts as one observation: every entry of the credit's level (`row`), or every turn,
    token or trajectory whatever that level is."""
    transform: tuple[AnyTransform, ...] = ()
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
            if part.of_one_reward:
                raise ConfigError(
                    f"compose={self.compose.name!r} keeps several rewards apart, but "
                    f"{slot}={part.name!r} knows one; use compose=weighted_sum"
                )
        if self.kl_in_reward:
            raise ConfigError(
                f"compose={self.compose.name!r} keeps several rewards apart, but kl_in_reward="
                f"{self.kl_in_reward} charges one; use compose=weighted_sum"
            )


@torch.no_grad()
def advantages(
    config: AdvantageConfig, batch: Batch, state: State | None = None
) -> tuple[Batch, State, dict[str, float]]:
    """Compute the advantage of every token of one complete batch.

    The statistics are those of the batch, so call this before splitting it into micro-batches.

    Returns:
        The batch with advantages (float32, of float64 rewards 64; 0 at padding) and targets of the
        critic; what the next batch must be given; and numbers for the log.

    Raises:
        ConfigError: The batch lacks what a component needs, such as the values of a critic.

    >>> from coevo.trainers.components.normalisations import NoNormalisation
    >>> batch = Batch.from_lists([[1.0], [0.0]], tokens=[[2], [1]])
    >>> advantages(AdvantageConfig(normalise=NoNormalisation()), batch)[0].advantage_CL.tolist()
    [[0.5, 0.5], [-0.5, 0.0]]
    """
    batch.checked()
    valid_B = batch.valid_B
    whole = valid_B is None or bool(valid_B.all())
    compared = batch if valid_B is None or whole else batch.rows(valid_B)
    found = estimate(config, compared, state)
    dtype = torch.promote_types(batch.reward_BTK.dtype, torch.float32)
    advantage_BS = found.to_tokens().to(dtype)
    metrics = dict(_metrics(found, advantage_BS, config.baseline))

    def spread(value: Tensor, fill: float = 0.0) -> Tensor:
        """Return values of the rows that were compared for all rows, in contexts."""
        if valid_B is not None and not whole:
            every_BS = value.new_full(batch.turn_of_BS.shape, fill)
            every_BS[valid_B] = value
            value = torch.where(batch.token_mask_BS, every_BS, torch.zeros_like(every_BS))
        return batch.cut(value)

    after = replace(batch, advantage_CL=spread(advantage_BS, config.invalid or 0.0))
    if found.return_BS is not None and found.return_mask_BS is not None:
        return_CL, return_mask_CL = spread(found.return_BS.to(dtype)), spread(found.return_mask_BS)
        after = replace(after, return_CL=return_CL, return_mask_CL=return_mask_CL)
    return after, found.state, metrics


@torch.no_grad()
def estimate(config: AdvantageConfig, batch: Batch, state: State | None = None) -> Estimate:
    """Compute the advantages in the level of their credit, before they spread over tokens.

    >>> from coevo.trainers.components.normalisations import NoNormalisation
    >>> config = AdvantageConfig(normalise=NoNormalisation())
    >>> estimate(config, Batch.from_lists([[1.0], [0.0]])).y.tolist()
    [0.5, -0.5]
    """
    batch, weight_K, reward = _composed(config, batch)
    apart = config.compose.keeps_apart
    weight_K, kept = config.compose.weighed(batch, weight_K, state or {})
    made: list[Estimate] = []
    for k, weight in enumerate(weight_K.tolist()) if apart else [(0, 1.0)]:
        e = Estimate(
            batch=batch,
            y=reward[..., k] if apart else reward,
            level="turn",
            reward_BT=reward[..., k] if apart else reward,
            penalty_BS=_penalty(config.kl_in_reward, batch),
            component=batch.components[k] if apart else "",
            reward_weights=config.reward_weights,
            weights=config.weights,
            ddof=config.ddof,
            eps=config.eps,
            state=made[-1].state if made else dict(kept),
        )
        e = config.credit(e)
        e = replace(e, credited=e)
        e = config.baseline(e)
        e = config.normalise(e)
        made.append(e if weight == 1.0 else e.times(weight))
    total = reduce(Estimate.plus, made)
    for transform in config.transform:
        total = transform(total)
    return total


def check_weights(weights: Mapping[str, float], components: Iterable[str]) -> None:
    """Refuse the weight of a reward that does not exist, given those beside payoff and penalties.

    >>> check_weights({"payoff": 1.0, "formt": 0.5}, ["format"])
    Traceback (most recent call last):
    coevo.envs.core.errors.UnknownNameError: unknown reward in advantage.reward_weights 'formt'; \
did you mean 'format'? Known: format, illegal, payoff
    """
    known = {*RESERVED, *components}
    for name in weights:
        if name not in known:
            raise unknown("reward in advantage.reward_weights", name, known)


def _composed(config: AdvantageConfig, batch: Batch) -> tuple[Batch, Tensor, Tensor]:
    """Return the batch with rewards that are 0 at padding, their weights, and the composition."""
    for name in config.reward_weights:
        if name not in {*batch.components, *RESERVED}:  # a batch may hold no illegal reply
            raise unknown("reward component", name, batch.components)
    reward_BTK = torch.where(batch.turn_mask_BT.unsqueeze(-1), wide(batch.reward_BTK), 0.0)
    batch = replace(batch, reward_BTK=reward_BTK)
    weight_K = reward_BTK.new_tensor([config.reward_weights.get(n, 1.0) for n in batch.components])
    return batch, weight_K, config.compose(batch, weight_K)


def _penalty(beta: float, batch: Batch) -> Tensor | None:
    """Charge every token beta * (logp_old - logp_ref), the k1 estimate of KL(old || ref), [B, S].

    Token credits read the charge at its token; turn and row credits read the sum of it.
    """
    if beta == 0.0:
        return None
    ref_CL = batch.needed("logp_ref_CL", f"kl_in_reward={beta}")
    k1_BS = wide(batch.joined(batch.logp_start_CL(f"kl_in_reward={beta}"))) - wide(
        batch.joined(ref_CL)
    )
    return torch.where(batch.token_mask_BS, beta * k1_BS, 0.0)


def _metrics(
    found: Estimate, advantage_BS: Tensor, baseline: AnyBaseline
) -> Iterator[tuple[str, float]]:
    token_BS = found.batch.token_mask_BS
    real_B, tokens = token_BS.any(1), int(token_BS.sum())  # what others did is not ours to log
    if not tokens:
        return
    # an advantage is 0 at padding, so sums over all cells are sums over tokens
    mean = float(advantage_BS.sum(dtype=torch.float64)) / tokens
    off_BS = torch.where(token_BS, advantage_BS.double() - mean, 0.0)
    yield "reward/mean", float(found.outcome_B[real_B].mean())
    yield "advantage/mean", mean
    yield "advantage/std", (float(off_BS.square_().sum()) / tokens) ** 0.5
    yield "advantage/abs_max", float(advantage_BS.abs().max())
    yield "advantage/zero", 1.0 - int(advantage_BS.count_nonzero()) / tokens
    yield "credit/constant_groups", _constant_groups(found.credit, baseline)


def _constant_groups(credit: Estimate, baseline: AnyBaseline) -> float:
    """Return the share of the baseline's groups whose credit does not vary: they teach nothing.

    Where a trajectory that is alone keeps its credit it is not counted, since it teaches.
    """
    by = baseline.by
    key, seen, stats = credit.key(by), credit.mask, credit.stats(by)
    if baseline.keeps_single:
        seen = seen & (stats.total - credit.own(by)[1] > 0.5)
    return len(key[stats.constant & seen].unique()) / max(len(key[seen].unique()), 1)
