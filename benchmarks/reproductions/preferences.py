"""Four arms whose preferences go in a circle, and how good a choice among them is at worst.

P(row preferred to column): a0 over a1 over a2 over a0, and a3 is worse than all. The best that can
be done against the worst opponent (the minimax winner) is (.3, .3, .4, 0), which wins half of the
time; scores fitted to the preferences (Bradley-Terry) have a single best arm, which loses to
another in four of five comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from coevo.benchmarks.reproductions.arms import arms, distributions
from coevo.envs.rewards import Odds, WinRate
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm

P_AA = torch.tensor(
    [[0.5, 0.9, 0.2, 0.8], [0.1, 0.5, 0.8, 0.8], [0.8, 0.2, 0.5, 0.8], [0.2, 0.2, 0.2, 0.5]],
    dtype=torch.float64,
)
ARMS = len(P_AA)
JUDGE = Odds(
    of={
        one: dict(zip(arms(ARMS), row, strict=True))
        for one, row in zip(arms(ARMS), P_AA.tolist(), strict=True)
    }
)
PLAIN = {"optim.optimiser": "sgd", "optim.warmup": 0, "optim.grad_norm": 1e9}
"""Plain gradient steps, as tables take them."""


@dataclass(frozen=True)
class Course:
    """The policies of a run, update after update, [U, A]; the first is that before training."""

    p_UA: Tensor

    @property
    def average(self) -> Tensor:
        """The mixture of all policies."""
        return self.p_UA[1:].mean(0)

    @property
    def last(self) -> Tensor:
        """The policy at the end."""
        return self.p_UA[-1]


def worst_case(p_A: Tensor) -> float:
    """Return how often a choice is preferred to the arm that beats it most.

    >>> round(worst_case(torch.tensor([0.3, 0.3, 0.4, 0.0], dtype=torch.float64)), 4)
    0.5
    """
    return float((p_A @ P_AA).min())


def record(name: str, variant: str | None, drawn: bool, changes: Mapping[str, Any]) -> Algorithm:
    """Return an algorithm whose win rates are judged by the table of preferences.

    Args:
        name: of the algorithm.
        variant: of it.
        drawn: whether a comparison is drawn once, instead of being known as a probability.
        changes: dotted setting -> value.
    """
    made = algorithm(name, variant, {**PLAIN, **changes})
    return replace(made, rewards=(WinRate(judge=JUDGE, drawn=drawn),))


def course(made: Algorithm, steps: int, seed: int) -> Course:
    """Train a table by the shipped loop."""
    start_A = torch.full((ARMS,), 1 / ARMS, dtype=torch.float64)
    return Course(torch.stack([start_A, *distributions(made, [0.0] * ARMS, steps, seed)]))


def fitted_scores(steps: int, seed: int) -> Course:
    """Train on Bradley-Terry scores instead of preferences: the naive control."""
    score_A = torch.zeros(ARMS, dtype=torch.float64, requires_grad=True)
    fit = torch.optim.LBFGS([score_A], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        fit.zero_grad()
        gap_AA = score_A.unsqueeze(1) - score_A
        value = binary_cross_entropy_with_logits(gap_AA, P_AA)
        value.backward()
        return value

    fit.step(loss)
    changes = {"collect.episodes": 8, "optim.lr": 4.0, "advantage.reward_weights": {}}
    made = replace(algorithm("spo", None, {**PLAIN, **changes}), rewards=())
    start_A = torch.full((ARMS,), 1 / ARMS, dtype=torch.float64)
    found = distributions(made, score_A.detach().tolist(), steps, seed)
    return Course(torch.stack([start_A, *found]))
