"""MPTS: plays go to tasks with a high predicted risk, and the worst half of them fails less."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import OneMove, numbered, world

BINS, MOST = 200, 16
UPDATES = 150


def moves(number: int) -> int:
    """Return how many moves the bandit at an angle has: from 2 to 16."""
    return 2 + round((MOST - 2) * (1 + np.cos(2 * np.pi * number / BINS)) / 2)


class AngleBandit(OneMove[Any]):
    """One of many bandits around a circle; one move of each pays 1."""

    env_id = "coevo/angle_bandit-v0"
    about = "Choose the move that pays at this angle."
    payoff_range = (0.0, 1.0)

    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        self.number = int(rng.integers(BINS))
        self.task_id = str(self.number)
        return f"angle {self.number}", numbered(moves(self.number))

    def pay(self) -> float:
        return float(int(self.said) == self.number % moves(self.number))

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    def array(self, seat: str) -> np.ndarray:
        angle = 2 * np.pi * self.number / BINS
        return np.array([np.cos(angle), np.sin(angle)], np.float32)


raw_env, env = world(AngleBandit, "bandits around a circle", kind="cooperative", seats=1)


def regrets(end: Trained) -> dict[str, float]:
    """Return the exact regret of all bandits, and of the worst half of them."""
    known: Mapping[str, Any] = end.learnt()
    lost = []
    for number in range(BINS):
        row, count = known.get(f"angle {number}"), moves(number)
        right = 1 / count if row is None else float(row[number % count])
        lost.append(1 - right)
    worst = sorted(lost)[BINS // 2 :]
    ranks = end.last(50, "curriculum/rank_correlation")
    return {"mean": float(np.mean(lost)), "worst": float(np.mean(worst)), "ranks": ranks}


CLAIM = Claim(
    property="""At equal plays, tasks that are chosen by a predicted risk leave less regret in the
        worst half of a family of bandits than tasks as they come, and the predicted risks rank
        the tasks.""",
    source="""Wang et al. 2025, MPTS, arXiv 2501.11039 (1.5 times the tasks, mean and 3
        deviations, 50 updates of warm-up); the family and the bounds are ours""",
    minutes=1.5,
    on="toy",
    setting=f"""{BINS} bandits around a circle with 2 to {MOST} moves, one of which pays 1: those
        with many moves are learnt late. Tables, {UPDATES} updates of 20 groups of 8 episodes. The
        Gaussian process sees cosine and sine of the angle.""",
    measured="""Exact regret at the end, over all bandits and over the worst half (CVaR at one
        half); rank correlation of predicted and measured risks in the last 50 updates.""",
    limits="A table shares nothing between tasks, so choosing well is all that can help.",
    chosen="The family, the rate and sizes.",
    world=World(AngleBandit.env_id, UPDATES, maker=lambda seed: sized(BINS, MOST)),
    changes={**PLAIN, "collect.episodes": 160, "optim.lr": 8.0},
    arms={
        "mpts": Arm("mpts"),
        "drawn": Arm("mpts", {"collect.curriculum": "drawn"}),
    },
    measure=regrets,
    expect=(
        Expect("regret of the worst half, MPTS", "mpts.worst"),
        Expect("regret of the worst half, as they come", "drawn.worst"),
        Expect("as they come minus MPTS, worst half", "drawn.worst - mpts.worst", low=0.01),
        Expect("as they come minus MPTS, all", "drawn.mean - mpts.mean"),
        Expect("rank correlation", "mpts.ranks", low=0.2),
    ),
)
