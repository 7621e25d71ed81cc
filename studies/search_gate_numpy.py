"""Search self-play in tables: what the proposer is paid for decides whether the solver learns.

Lu et al. 2025, "Search self-play" (arXiv 2510.18821): a proposer is paid 1 - s, the share of
solvers that fail, and nothing for a question that the gate rejects; solvers are paid 1 for a right
answer and compared in their group. Ours: 30 questions and a broken one that nobody can answer; the
solver is a softmax over 8 answers per question from zero logits, the proposer a softmax over
questions, Zipf with exponent 2, the broken one as likely as rank 2. 32 questions per update, 5
solvers each, 800 updates; REINFORCE without a baseline and step 0.3 for the proposer, the group's
deviation and step 8 for the solver, both on the batch mean. Figures: accuracy over all 30 questions
alike, mean reward of solvers in the last 50 updates, probability of the broken question, and the
share of groups whose solvers all earn the same. `edge` is paid where all or none succeed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from over_seeds import sample, show, softmax

QUESTIONS, ANSWERS, SOLVERS, ASKED, UPDATES, LAST = 30, 8, 5, 32, 800, 50
BROKEN, PROPOSER_LR, SOLVER_LR = QUESTIONS, 0.3, 8.0


@dataclass(frozen=True)
class Rule:
    """How a proposer is paid, and whether it learns."""

    learnability: bool = False
    """4 s (1 - s) in the place of 1 - s."""
    gate: bool = True
    edge: float = 0.0
    invalid: float = 0.0
    learns: bool = True

    def payoff(self, s: np.ndarray) -> np.ndarray:
        """Return what questions of these success rates earn."""
        if not self.learnability:
            return 1 - s
        return np.where((s == 0) | (s == 1), self.edge, 4 * s * (1 - s))


RULES = {
    "frozen proposer": Rule(learns=False),
    "1 - s": Rule(),
    "1 - s, no gate": Rule(gate=False),
    "4 s (1 - s)": Rule(learnability=True),
    "edges -0.5, rejected 0": Rule(learnability=True, edge=-0.5),
    "edges -0.5, rejected -1": Rule(learnability=True, edge=-0.5, invalid=-1.0),
}


def learnt(rng: np.random.Generator, rule: Rule) -> dict[str, float]:
    """Train both and return the four figures."""
    right = rng.integers(ANSWERS, size=QUESTIONS + 1)
    rank = np.log(np.arange(1.0, QUESTIONS + 1))
    proposer, solver = -2 * np.append(rank, rank[1]), np.zeros((QUESTIONS + 1, ANSWERS))
    paid, still, groups = [], 0, 0
    for _ in range(UPDATES):
        odds, pi = softmax(proposer), softmax(solver)
        asked = sample(rng, odds, ASKED)
        said = sample(rng, pi[asked], SOLVERS)
        reward = ((said == right[asked, None]) & (asked != BROKEN)[:, None]).astype(float)
        opened = (asked != BROKEN) | (not rule.gate)
        payoff = np.where(opened, rule.payoff(reward.mean(1)), rule.invalid)
        spread = reward.std(1, ddof=1, keepdims=True)
        advantage = (reward - reward.mean(1, keepdims=True)) / (spread + 1e-6) * opened[:, None]
        step = np.zeros_like(solver)
        np.add.at(step, (asked[:, None], said), advantage)
        np.add.at(step, asked, -pi[asked] * advantage.sum(1, keepdims=True))
        solver += SOLVER_LR * step / advantage.size
        if rule.learns:
            proposer += PROPOSER_LR * (payoff[:, None] * (np.eye(BROKEN + 1)[asked] - odds)).mean(0)
        still, groups = (
            still + int((opened & (spread[:, 0] == 0)).sum()),
            groups + int(opened.sum()),
        )
        paid.append((reward.sum(), opened.sum() * SOLVERS))
    earned, shown = np.array(paid[-LAST:]).sum(0)
    accuracy = softmax(solver)[np.arange(QUESTIONS), right[:QUESTIONS]].mean()
    return {
        "accuracy": float(accuracy),
        "in play": float(earned / max(shown, 1)),
        "P(broken)": float(softmax(proposer)[BROKEN]),
        "groups that agree": still / max(groups, 1),
    }


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return the figures of every rule."""
    return {f"{n}: {k}": v for n, rule in RULES.items() for k, v in learnt(rng, rule).items()}


if __name__ == "__main__":
    show(figures)
