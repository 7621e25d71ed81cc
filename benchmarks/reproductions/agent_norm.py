"""Statistics per agent (Dr. MAS): agents on different reward scales learn at equal rates.

Vectors   Two agents with rewards [1, 1, 0, 1] and [0.2, 0, 0.1, 0.1]: under pooled statistics
          E[A^2] of agent k is (sigma_k^2 + (mu_k - mu)^2) / sigma^2, since A = (R - mu) / sigma and
          E[(R - mu)^2] = sigma_k^2 + (mu_k - mu)^2 over its own rewards; per agent it is 1.
Bandits   Two agents with four arms each, uniform policies, arm qualities and noise ~ N(0, 1).
          Agent 0 is paid quality + noise, agent 1 is paid 5 + 0.1 of that; 64 episodes each, 200
          problems per seed.
Measured  Norms of the agents' policy gradients, and their cosine with the expected gradient.
Chosen    Rewards, offsets and scales, and the bounds on the bandits; the paper states the formula.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    SoftmaxTable,
    episodes,
    generators,
    moves,
    normal,
    uniform,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    Denominators,
    GroupMean,
    GroupStd,
    LossConfig,
    PolicyGradient,
    advantages,
    policy_loss,
)

REWARDS = torch.tensor([[1.0, 1.0, 0.0, 1.0], [0.2, 0.0, 0.1, 0.1]], dtype=REAL)
OFFSET, SCALE = torch.tensor([0.0, 5.0], dtype=REAL), torch.tensor([1.0, 0.1], dtype=REAL)
PROBLEMS, ARMS, SIZE = 200, 4, 64
BY = "group+agent"
PER_AGENT = AdvantageConfig(baseline=GroupMean(by=BY), normalise=GroupStd(by=BY))
POOLED = AdvantageConfig()


def run(seeds: Sequence[int]) -> Outcome:
    """Compare pooled and per-agent statistics on the vectors and on the bandits."""
    pooled, apart = (_bandits(spec, seeds) for spec in (POOLED, PER_AGENT))
    theory = _theory()
    square = {
        name: _squares(spec) for name, spec in (("pooled", _exact("group")), ("own", _exact(BY)))
    }
    return Outcome(
        (
            near("E[A^2] agent 0, pooled", [square["pooled"][0]], theory[0], 1e-6),
            near("E[A^2] agent 1, pooled", [square["pooled"][1]], theory[1], 1e-6),
            near("E[A^2] agent 0, per agent", [square["own"][0]], 1.0, 1e-6),
            near("E[A^2] agent 1, per agent", [square["own"][1]], 1.0, 1e-6),
            Row("gradient norm, agent 0 / agent 1, pooled", pooled[0]),
            Row("gradient norm, agent 0 / agent 1, per agent", apart[0], 1.0, 0.9, 1.1),
            Row("cosine with the expected gradient, agent 1, pooled", pooled[1], high=0.5),
            Row("cosine with the expected gradient, agent 1, per agent", apart[1], low=0.8),
        )
    )


def _exact(by: str) -> AdvantageConfig:
    """Return statistics with the denominators of the theory: no degree of freedom, no eps."""
    return AdvantageConfig(baseline=GroupMean(by=by), normalise=GroupStd(by=by), ddof=0, eps=0.0)


def _squares(spec: AdvantageConfig) -> list[float]:
    """Return the mean squared advantage of either agent on the vectors."""
    agents, size = REWARDS.shape
    seat_B = torch.arange(agents).repeat_interleave(size)
    made = advantages(spec, episodes(REWARDS.reshape(-1), agent=seat_B))
    found: list[float] = made.advantage_BS.reshape(agents, size).square().mean(1).tolist()
    return found


def _theory() -> list[float]:
    mean_N, variance_N = REWARDS.mean(1), REWARDS.var(1, correction=0)
    pooled = REWARDS.var(correction=0)
    found: list[float] = ((variance_N + (mean_N - REWARDS.mean()) ** 2) / pooled).tolist()
    return found


def _bandits(
    spec: AdvantageConfig, seeds: Sequence[int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the ratio of the agents' gradient norms and agent 1's cosine, per seed."""
    sources = generators(seeds)
    quality = normal(sources, PROBLEMS, 2, ARMS).reshape(-1, ARMS)  # a context per agent
    policy = SoftmaxTable(torch.zeros_like(quality))
    arm_CG = policy.draw(uniform(sources, PROBLEMS, 2, SIZE).reshape(-1, SIZE))
    noise_CG = normal(sources, PROBLEMS, 2, SIZE).reshape(-1, SIZE)
    context_C = torch.arange(len(quality))
    agent_C = context_C % 2
    paid_CG = quality.gather(1, arm_CG) + noise_CG
    reward_CG = OFFSET[agent_C].unsqueeze(1) + SCALE[agent_C].unsqueeze(1) * paid_CG
    problem_B, agent_B = (k.repeat_interleave(SIZE) for k in (context_C // 2, agent_C))
    batch = episodes(reward_CG.reshape(-1), group=problem_B, agent=agent_B)
    found_CA = _gradient(policy, arm_CG, advantages(spec, batch).advantage_BS)
    expected_CA = (quality - quality.mean(1, keepdim=True)) / ARMS
    return _summary(found_CA, expected_CA, len(seeds))


def _gradient(policy: SoftmaxTable, arm_CG: Tensor, advantage_CL: Tensor) -> Tensor:
    context_CG = torch.arange(len(arm_CG)).unsqueeze(1).expand_as(arm_CG)
    inputs = policy.inputs(moves(context_CG, arm_CG), advantage_CL)
    denom = Denominators(SIZE, SIZE, 1)  # every context is an update of its own
    return policy.gradient_CA(
        policy_loss(LossConfig(surrogate=PolicyGradient()), inputs, denom).loss
    )


def _summary(
    found_CA: Tensor, expected_CA: Tensor, seeds: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    norm_SPN = found_CA.norm(dim=1).reshape(seeds, PROBLEMS, 2).mean(1)
    cosine_SP = torch.cosine_similarity(found_CA, expected_CA).reshape(seeds, PROBLEMS, 2)[..., 1]
    return tuple((norm_SPN[:, 0] / norm_SPN[:, 1]).tolist()), tuple(cosine_SP.mean(1).tolist())


REPRODUCTION = Reproduction(
    name="agent_norm",
    property="Pooled statistics give agents on different reward scales unequal advantages by a "
    "known formula and bury the small one's signal; statistics per agent do neither.",
    source="Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (gradient-norm inflation under a global "
    "baseline: the factor (sigma_k^2 + (mu_k - mu)^2) / sigma^2), evaluated here",
    minutes=0.02,
    run=run,
    on="formula",
)
