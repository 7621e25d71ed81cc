"""Cooper: a reward model that loves a style is hacked where it stays, and not where it is refitted.

Setting   16 questions (`hackable`), a table that starts at (0.6, 0.3, 0.1) for plain wrong, plain
          right and the style; the reward model is linear in (right, style, 1) with weights
          (1, 2.5, -1) at first; groups of 16, 300 updates of plain gradient, step 0.3 per question.
          The assistant rewrites right answers into plain ones, and fails three times in ten.
Measured  True accuracy, the share of the style and the mean reward in the last ten updates.
Chosen    All of these, and the bounds, are those of our numpy experiment, but for the verifier: it
          misses one question in five throughout, where it missed one reply in five there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TableWeights, TabularPolicy
from coevo.benchmarks.reproductions.hackable import ID
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import started
from coevo.envs.rewards import Verifier
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates

QUESTIONS, STEPS, LAST = 16, 300, 10
STEP, FAST, SLOW = 0.3, 0.5, 0.05
"""Step of the policy on each question, and of the reward model."""
SETTINGS = {
    "collect.tasks": QUESTIONS,
    "collect.episodes": 16 * QUESTIONS,
    "optim.optimiser": "sgd",
    "optim.lr": STEP * QUESTIONS,  # the loss is a mean over all questions
    "optim.warmup": 0,
}
START = (0.6, 0.3, 0.1)
REWRITES = (0.7, 0.3, 1e-9)
FEATURES = ((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0))
WEIGHTS = (1.0, 2.5, -1.0)


class Started(Table):
    """A table whose rows start with given probabilities."""

    def __init__(self, p: Sequence[float]) -> None:
        super().__init__()
        with torch.no_grad():
            self.logits_RA[:, : len(p)] = torch.tensor(p, dtype=torch.float64).log()


class Linear(nn.Module):
    """A reward that is linear in features of the answer, the same for every question."""

    feature_AF: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("feature_AF", torch.tensor(FEATURES, dtype=torch.float64))
        self.weight_F = nn.Parameter(torch.tensor(WEIGHTS, dtype=torch.float64))

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the reward of every answer, [N, A]."""
        return (self.feature_AF @ self.weight_F).expand(len(row_N), -1)


class RewardWeights(TableWeights):
    """A table whose reward head is linear in features."""

    def reward_head(self) -> nn.Module:
        """Return the head with its first weights."""
        return Linear()


@dataclass(frozen=True)
class End:
    """What a run was like at the end."""

    right: float
    hack: float
    reward: float


def run(seeds: Sequence[int]) -> Outcome:
    """Train against a reward model that stays, one that is refitted, and by the rule alone."""
    cooper = [end(record(None, FAST), s) for s in seeds]
    slow = [end(record(None, SLOW), s) for s in seeds]
    own = [end(record("own_wrong", SLOW), s) for s in seeds]
    frozen = [end(record("frozen", FAST), s) for s in seeds]
    rule = [end(ruled(), s) for s in seeds]
    return Outcome(
        (
            Row("frozen reward model: accuracy", _of(frozen, "right"), 0.0, high=0.05),
            Row("frozen reward model: reward", _of(frozen, "reward"), 0.82),
            Row("cooper, step 0.5: accuracy", _of(cooper, "right"), 1.0, low=0.95),
            Row("cooper, step 0.05: accuracy", _of(slow, "right"), 0.0),
            Row("cooper, own wrong replies, step 0.05: accuracy", _of(own, "right"), 1.0, low=0.95),
            Row("rule alone: accuracy", _of(rule, "right")),
        ),
        note="a slow reward model loses the race: rewritten replies share the style of right ones "
        "and never lower the weight of the other; the rule alone teaches nothing where it is blind",
    )


def record(variant: str | None, step: float) -> Algorithm:
    """Return cooper with a step of its reward model."""
    return algorithm("cooper", variant, {**SETTINGS, "optim_of": {"judge": {"lr": step}}})


def ruled() -> Algorithm:
    """Return the same with the verifier's word as the reward."""
    made = record("frozen", FAST)
    return replace(made, rewards=(Verifier(),), judges={}, optim_of={})


def maker() -> MakePolicy:
    """Return what makes the policy, the reward model and the assistant."""
    rows = Rows()

    def make(name: str, **given: Any) -> TabularPolicy:
        first = REWRITES if name == "assistant" else START
        policy = TabularPolicy(Started(first), rows, name=name)
        if name == "judge":
            policy.weights = RewardWeights(policy.model, rows)
        return policy

    return make


def end(made: Algorithm, seed: int) -> End:
    """Train, and return what the last updates were like."""
    with started(made, ID, maker=maker(), seed=seed, steps=STEPS) as run:
        seen = [done.metrics for done in updates(run)][-LAST:]
    (component,) = (m.component for m in made.rewards)
    names = ("outcome/right", "outcome/hack", f"reward/{component}")
    return End(*(fmean(_read(metrics, key) for metrics in seen) for key in names))


def _read(metrics: Mapping[str, Any], name: str) -> float:
    return float(metrics.get(name, 0.0))


def _of(ends: Sequence[End], name: str) -> tuple[float, ...]:
    return tuple(getattr(e, name) for e in ends)


REPRODUCTION = Reproduction(
    name="cooper_hack",
    property="A reward model that loves a wrong style drives the policy into it while rewards "
    "rise; refitted to certified pairs beside the policy it leads to right answers.",
    source="Hong et al. 2025, Cooper, arXiv 2508.05613 (a frozen reward model ends below the start "
    "model, Cooper above the rule); figures: our numpy experiment on three answers",
    minutes=12.0,
    run=run,
    on="table",
)
