"""Cooper: a reward model that loves a style is hacked where it stays, and not where it is refitted.

The world is questions with three answers: wrong, right, and wrong in a style that a reward model
loves. A verifier knows the right answer of four questions in five and never calls a wrong one
right. The true accuracy is an outcome that no learner reads.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TableWeights, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.envs.rewards import Verifier
from coevo.trainers.algorithm import Algorithm

QUESTIONS, LAST = 16, 10
START = (0.6, 0.3, 0.1)
REWRITES = (0.7, 0.3, 1e-9)
FEATURES = ((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0))
WEIGHTS = (1.0, 2.5, -1.0)
FAST, SLOW = {"optim_of": {"judge": {"lr": 0.5}}}, {"optim_of": {"judge": {"lr": 0.05}}}


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
        return (self.feature_AF @ self.weight_F).expand(len(row_N), -1)


class RewardWeights(TableWeights):
    """A table whose reward head is linear in features."""

    def reward_head(self) -> nn.Module:
        return Linear()


def _maker(seed: int) -> MakePolicy:
    rows = Rows()

    def make(name: str, **given: Any) -> TabularPolicy:
        first = REWRITES if name == "assistant" else START
        policy = TabularPolicy(Started(first), rows, name=name)
        if name == "judge":
            policy.weights = RewardWeights(policy.model, rows)
        return policy

    return make


def _ruled(made: Algorithm, seed: int) -> Algorithm:
    return replace(made, rewards=(Verifier(),), judges={}, optim_of={})


def _measure(end: Trained) -> dict[str, float]:
    (component,) = (m.component for m in end.run.config.algorithm.rewards)
    names = {
        "right": "outcome/accuracy",
        "hack": "outcome/assured",
        "reward": f"reward/{component}",
    }
    return {name: end.last(LAST, metric) for name, metric in names.items()}


CLAIM = Claim(
    property="""A reward model that loves a wrong style drives the policy into it while rewards
        rise; refitted to certified pairs beside the policy it leads to right answers.""",
    source="""Hong et al. 2025, Cooper, arXiv 2508.05613 (a frozen reward model ends below the start
        model, Cooper above the rule); figures: our numpy experiment, studies/cooper_numpy.py""",
    minutes=12.0,
    on="table",
    setting="""`coevo/assured_answers-v0` in the order wrong, right, assured: 16 questions, a table
        that starts at (0.6, 0.3, 0.1) for plain wrong, plain right and the style; the reward model
        is linear in (right, style, 1) with weights (1, 2.5, -1) at first; groups of 16, 300 updates
        of plain gradient, step 0.3 per question. The assistant rewrites right answers into plain
        ones, and fails three times in ten.""",
    measured="True accuracy, the share of the style and the mean reward in the last ten updates.",
    chosen="""All of these are those of our numpy experiment, but for the verifier: it misses one
        question in five throughout, where it missed one reply in five there.""",
    note="""a slow reward model loses the race: rewritten replies share the style of right ones and
        never lower the weight of the other; the rule alone teaches nothing where it is blind""",
    world=World("coevo/assured_answers-v0", 300, {"shuffled": False}, _maker),
    changes={
        "collect.tasks": QUESTIONS,
        "collect.episodes": 16 * QUESTIONS,
        "optim.optimiser": "sgd",
        "optim.lr": 0.3 * QUESTIONS,  # the loss is a mean over all questions
        "optim.warmup": 0,
    },
    arms={
        "frozen": Arm("cooper:frozen", FAST),
        "fast": Arm("cooper", FAST),
        "slow": Arm("cooper", SLOW),
        "own": Arm("cooper:own_wrong", SLOW),
        "rule": Arm("cooper:frozen", FAST, edit=_ruled),
    },
    measure=_measure,
    expect=(
        Expect("frozen reward model: accuracy", "frozen.right", 0.002, high=0.05),
        Expect("frozen reward model: reward", "frozen.reward", 0.817),
        Expect("cooper, step 0.5: accuracy", "fast.right", 0.998, low=0.95),
        Expect("cooper, step 0.05: accuracy", "slow.right", 0.002),
        Expect("cooper, own wrong replies, step 0.05: accuracy", "own.right", 0.998, low=0.95),
        Expect("rule alone: accuracy", "rule.right"),
    ),
)
