"""Statistics per agent (Dr. MAS): agents on different reward scales learn at equal rates."""

from typing import Any

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    SoftmaxTable,
    credited,
    generators,
    moves,
    normal,
    uniform,
)
from coevo.trainers import components as c

REWARDS = torch.tensor([[1.0, 1.0, 0.0, 1.0], [0.2, 0.0, 0.1, 0.1]], dtype=REAL)
OFFSET, SCALE = torch.tensor([0.0, 5.0], dtype=REAL), torch.tensor([1.0, 0.1], dtype=REAL)
PROBLEMS, ARMS, SIZE = 200, 4, 64
BY = {"pooled": "group", "own": "group+agent"}
MEAN_N, VARIANCE_N = REWARDS.mean(1), REWARDS.var(1, correction=0)
THEORY = ((VARIANCE_N + (MEAN_N - REWARDS.mean()) ** 2) / REWARDS.var(correction=0)).tolist()


def _spec(by: str) -> dict[str, Any]:
    return {"baseline": c.GroupMean(by=by), "normalise": c.GroupStd(by=by)}


def _squares(seed: int) -> dict[str, float]:
    """Return the mean squared advantage of either agent on the vectors, without ddof and eps."""
    found: dict[str, float] = {}
    for name, by in BY.items():
        exact = {**_spec(by), "ddof": 0, "eps": 0.0}
        a_BT = credited(exact, REWARDS.reshape(-1), agent=torch.arange(2).repeat_interleave(4))
        squares = a_BT.reshape(2, 4).square().mean(1).tolist()
        found |= {f"{name}_{agent}": square for agent, square in enumerate(squares)}
    return found


def _bandits(seed: int) -> dict[str, float]:
    sources = generators([seed])
    quality = normal(sources, PROBLEMS, 2, ARMS).reshape(-1, ARMS)  # a context per agent
    policy = SoftmaxTable(torch.zeros_like(quality))
    arm_CG = policy.draw(uniform(sources, PROBLEMS, 2, SIZE).reshape(-1, SIZE))
    noise_CG = normal(sources, PROBLEMS, 2, SIZE).reshape(-1, SIZE)
    context_C = torch.arange(len(quality))
    agent_C = context_C % 2
    paid_CG = quality.gather(1, arm_CG) + noise_CG
    reward_CG = OFFSET[agent_C].unsqueeze(1) + SCALE[agent_C].unsqueeze(1) * paid_CG
    keys = zip(("group", "agent"), (context_C // 2, agent_C), strict=True)
    of_B = {key: of_C.repeat_interleave(SIZE) for key, of_C in keys}
    played = moves(context_C.unsqueeze(1).expand_as(arm_CG), arm_CG)
    expected_CA = (quality - quality.mean(1, keepdim=True)) / ARMS
    found: dict[str, float] = {}
    plain = {"surrogate": c.PolicyGradient()}
    for name, spec in (("pooled", {}), ("own", _spec(BY["own"]))):
        advantage_BT = credited(spec, reward_CG.reshape(-1), **of_B)
        # every context is an update of its own
        found_CA = policy.gradient_CA(plain, played, advantage_BT, SIZE)
        norm_N = found_CA.norm(dim=1).reshape(PROBLEMS, 2).mean(0)
        cosine_P2 = torch.cosine_similarity(found_CA, expected_CA).reshape(PROBLEMS, 2)
        found[f"{name}_ratio"] = float(norm_N[0] / norm_N[1])
        found[f"{name}_cosine"] = float(cosine_P2[:, 1].mean())
    return found


CLAIM = Claim(
    property="""Pooled statistics give agents on different reward scales unequal advantages by a
        known formula and bury the small one's signal; statistics per agent do neither.""",
    source="""Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (gradient-norm inflation under a global
        baseline: the factor (sigma_k^2 + (mu_k - mu)^2) / sigma^2), evaluated here""",
    minutes=0.02,
    on="formula",
    setting="""Vectors: two agents with rewards [1, 1, 0, 1] and [0.2, 0, 0.1, 0.1]. Bandits: two
        agents with four arms each, uniform policies, arm qualities and noise ~ N(0, 1). Agent 0 has
        the reward quality + noise, agent 1 has 5 + 0.1 of that; 64 episodes each, 200 problems per
        seed.""",
    theory="""Under pooled statistics E[A^2] of agent k is (sigma_k^2 + (mu_k - mu)^2) / sigma^2,
        since A = (R - mu) / sigma and E[(R - mu)^2] = sigma_k^2 + (mu_k - mu)^2 over its own
        rewards; per agent it is 1.""",
    measured="Norms of the agents' policy gradients, and their cosine with the expected gradient.",
    chosen="""Rewards, offsets and scales, and the bounds on the bandits; the paper states the
        formula.""",
    arms={"square": Once(_squares), "bandits": _bandits},
    expect=(
        near("E[A^2] agent 0, pooled", "square.pooled_0", THEORY[0], 1e-6),
        near("E[A^2] agent 1, pooled", "square.pooled_1", THEORY[1], 1e-6),
        near("E[A^2] agent 0, per agent", "square.own_0", 1.0, 1e-6),
        near("E[A^2] agent 1, per agent", "square.own_1", 1.0, 1e-6),
        Expect("gradient norm, agent 0 / agent 1, pooled", "bandits.pooled_ratio"),
        Expect("gradient norm, agent 0 / agent 1, per agent", "bandits.own_ratio", 1.0, 0.9, 1.1),
        Expect(
            "cosine with the expected gradient, agent 1, pooled", "bandits.pooled_cosine", high=0.5
        ),
        Expect(
            "cosine with the expected gradient, agent 1, per agent", "bandits.own_cosine", low=0.8
        ),
    ),
)
