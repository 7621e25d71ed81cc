"""Sampler and trainer that disagree: truncated importance sampling turns the gradient back.

Setting   8 arms, trainer logits ~ N(0, 1), sampler logits = trainer's + N(0, 0.5), rewards
          ~ N(0, 1); 200 draws per seed. The advantage is the reward minus its mean under the
          sampler, which is what a large group of samples estimates.
Measured  Cosine between the expected gradient of the loss and the true policy gradient.
Chosen    The distributions; the source gives a formula, min(pi / mu, C), and no such figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps, near
from coevo.benchmarks.reproductions.tabular import Moves, SoftmaxTable, generators, moves, normal
from coevo.trainers.estimators import (
    Denominators,
    LossConfig,
    PolicyGradient,
    PpoClip,
    TokenTis,
    policy_loss,
)

DRAWS, ARMS = 200, 8
NOISE = 0.5
PG = PolicyGradient()
TIS = LossConfig(surrogate=PG, is_correction=TokenTis(cap=2.0))
EXACT = LossConfig(surrogate=PpoClip(eps_lo=1.0, eps_hi=1e6), anchor="behaviour")


def run(seeds: Sequence[int]) -> Outcome:
    """Measure the cosine with and without a correction."""
    sources = generators(seeds)
    logits, noise, reward = (normal(sources, DRAWS, ARMS) for _ in range(3))
    policy = SoftmaxTable(logits.reshape(-1, ARMS))
    sampler = SoftmaxTable((logits + NOISE * noise).reshape(-1, ARMS))
    reward_CA = reward.reshape(-1, ARMS)

    true_CA = _gradient(policy, policy, LossConfig(surrogate=PG), reward_CA)
    found = {
        name: torch.cosine_similarity(_gradient(policy, sampler, spec, reward_CA), true_CA)
        for name, spec in (("none", LossConfig(surrogate=PG)), ("tis", TIS), ("exact", EXACT))
    }
    none, tis, exact = (_per_seed(found[n], len(seeds)) for n in ("none", "tis", "exact"))
    rows = (
        near("cosine, uncorrected", none, 0.954, 0.014),
        near("cosine, token_tis(cap=2)", tis, 0.998, 0.002),
        Row("gain by token_tis", gaps(tis, none), 0.044, low=0.02),
        Row("cosine, ratio to the sampler, unclipped", tuple(exact), 1.0, low=1 - 1e-6),
    )
    return Outcome(rows)


def _gradient(
    policy: SoftmaxTable, sampler: SoftmaxTable, spec: LossConfig, reward_CA: Tensor
) -> Tensor:
    """Return the expected gradient when the sampler plays: a row per arm, with its weight."""
    odds_CA = sampler.probabilities_CA()
    advantage_CA = reward_CA - (odds_CA * reward_CA).sum(1, keepdim=True)
    played = _every_arm(len(reward_CA))
    inputs = replace(
        policy.inputs(played, (odds_CA * advantage_CA).reshape(-1, 1)),
        logp_behaviour_CL=sampler.logp_CA().detach().reshape(-1, 1),
    )
    return policy.gradient_CA(policy_loss(spec, inputs, Denominators(1, 1, 1)).loss)


def _every_arm(contexts: int) -> Moves:
    context_CA, arm_CA = torch.meshgrid(torch.arange(contexts), torch.arange(ARMS), indexing="ij")
    return moves(context_CA, arm_CA)


def _per_seed(value_C: Tensor, seeds: int) -> list[float]:
    means: list[float] = value_C.reshape(seeds, -1).mean(1).tolist()
    return means


REPRODUCTION = Reproduction(
    name="tis_cosine",
    property="Truncated importance weights bring the gradient of a sampler that differs from the "
    "trainer closer to the true policy gradient.",
    source="Yao et al. 2025, Your Efficient RL Framework Secretly Brings You Off-Policy RL "
    "Training, https://fengyao.notion.site/off-policy-rl (truncated importance sampling); figures: "
    "our numpy experiment, studies/tis_numpy.py",
    minutes=0.01,
    run=run,
    on="formula",
)
