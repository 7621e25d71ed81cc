"""Learning from a fixed other policy: which member of the REC family ends where."""

from collections.abc import Iterator
from typing import Any

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.tabular import REAL, SoftmaxTable, credited, moves
from coevo.trainers import components as c

BEHAVIOUR = torch.tensor((0.3, 0.6, 0.1), dtype=REAL)
REWARD = torch.tensor([0.0, 0.8, 1.0], dtype=REAL)
ROWS = torch.tensor([0] * 3 + [1] * 6 + [2])
FAR = 1000.0
"""Number of steps times their size."""
OPTIMUM = (BEHAVIOUR * REWARD.exp() / (BEHAVIOUR * REWARD.exp()).sum()).tolist()
"""b exp(r / tau) at tau = 1."""


def _ends(surrogate: Any, *transform: Any, lr: float = 0.5) -> Once:
    """Return what follows a loss on the same ten rows to its end."""

    def measure(seed: int) -> dict[str, float]:
        policy = SoftmaxTable(BEHAVIOUR.log().unsqueeze(0))
        spec = {"normalise": c.NoNormalisation(), "transform": transform}
        played, advantage_BT = moves(torch.zeros_like(ROWS), ROWS), credited(spec, REWARD[ROWS])
        # the ratio is to the behaviour policy, where learning starts: one update of many epochs
        steps = round(FAR / lr)
        policy.update({"surrogate": surrogate}, played, advantage_BT, lr=lr, epochs=steps)
        return {f"p{k}": p for k, p in enumerate(policy.probabilities_CA()[0].tolist(), 1)}

    return Once(measure)


def _three(label: str, arm: str, reference: tuple[float, ...], within: float) -> Iterator[Expect]:
    for k, p in enumerate(reference, 1):
        yield near(f"{label}, P(arm {k})", f"{arm}.p{k}", p, within)


CLAIM = Claim(
    property="""On the episodes of a fixed other policy REINFORCE ends on the wrong arm, importance
        weights and exponential weights move to the best one, and the one-side gate stays near the
        behaviour.""",
    source="""Yao et al. 2025, Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm, arXiv
        2509.24203 (REC, RED-Weight, OPMD, AsymRE); figures: our numpy experiment,
        studies/rec_numpy.py""",
    minutes=0.2,
    on="formula",
    setting="""Three arms with rewards r = (0, 0.8, 1), played by a fixed policy b = (0.3, 0.6,
        0.1); A = r - 0.58, its group mean. Gradient steps on the exact expected loss from b: the
        batch holds ten rows, each arm as often as b plays it. The numpy experiment takes 20 000 of
        size 0.05. Losses that follow a smooth path take 2000 of size 0.5 here, which is as far; the
        gated one, which a large step carries across its bound, 0.05.""",
    measured="Where the policy ends. Arm 3 is the best; b plays it rarely.",
    chosen="Rewards, behaviour, steps; the paper derives the losses and gives no such figure.",
    note="""OPMD's theory, b exp(r / tau), is the optimum of a KL penalty; the squared penalty under
        b ends a little beside it""",
    arms={
        "plain": _ends(c.PolicyGradient()),
        "weighted": _ends(c.Unclipped()),
        "red": _ends(c.Rec(side="none", weight="exp", temperature=0.1)),
        "tilted": _ends(c.PolicyGradient(), c.ExpWeight(temperature=0.1)),
        "gated": _ends(c.Rec(side="one"), lr=0.05),
        "mirror": _ends(c.Opmd(tau=1.0, form="half")),  # the square is weighted by tau / 2
        "shifted": _ends(c.PolicyGradient(), c.Shift(beta=0.1)),
    },
    expect=(
        near("REINFORCE, P(arm 2)", "plain.p2", 1.0, 0.005),
        near("importance weights, P(arm 3)", "weighted.p3", 0.998, 0.002),
        near("RED-Weight T=0.1, P(arm 3)", "red.p3", 0.70, 0.01),
        near("RED-Weight T=0.1 as a modifier, P(arm 3)", "tilted.p3", 0.70, 0.01),
        *_three("REC-OneSide", "gated", (0.16, 0.72, 0.12), 0.005),
        *_three("OPMD tau=1", "mirror", (0.163, 0.697, 0.140), 0.001),
        *(
            Expect(f"OPMD tau=1 beside its theory, P(arm {k})", f"mirror.p{k}", p)
            for k, p in enumerate(OPTIMUM, 1)
        ),
        near("AsymRE beta=0.1, P(arm 2)", "shifted.p2", 1.0, 0.005),
    ),
)
