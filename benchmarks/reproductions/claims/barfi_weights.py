"""BARFI: weights of rewards find out which of them misleads."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import BANDIT, first_row
from coevo.envs.core.config import plain
from coevo.trainers.components import Entropy
from coevo.trainers.steps import POLICY_GRADIENT

PAYOFF = (0.0, 0.0, 0.0, 0.2, 0.6, 1.0)
MISLEADS, HELPS = (1.0, 0.6, 0.2, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.1, 0.3, 0.5)
HEAT = 0.3
"""Coefficient of the entropy: what is learnt under a reward is softmax(reward / HEAT)."""
INNER: dict[str, Any] = {
    "algorithm.cycle": plain(POLICY_GRADIENT),
    "algorithm.collect.episodes": 32,
    "algorithm.optim.lr": 3.0,
}


def settled(beside: Sequence[float], weights: tuple[float, float] = (1.0, 1.0)) -> float:
    """Return the payoff of what is learnt in the end under weighted rewards, in closed form."""
    reward_A = weights[0] * np.array(PAYOFF) + weights[1] * np.array(beside)
    odds_A = np.exp(reward_A / HEAT)
    return float(odds_A @ np.array(PAYOFF) / odds_A.sum())


def _world(beside: Sequence[float]) -> dict[str, Any]:
    return {"payoffs": (PAYOFF,), "notes": {"beside": beside}}


def _measure(end: Trained) -> Mapping[str, float]:
    odds_A = first_row(end.policy(), len(PAYOFF))
    newest = end.run.archive.living("formula")
    return {
        "payoff": float(odds_A @ odds_A.new_tensor(PAYOFF)),
        "weight": newest[-1].payload["noted_beside"] if newest else 1.0,
    }


CLAIM = Claim(
    property="""A reward that misleads loses its weight and one that helps gains, and what is learnt
        under the tuned weights pays more than what is learnt under their sum.""",
    source="""Gupta et al. 2023, BARFI, arXiv 2310.19007 (a misaligned auxiliary reward is worse
        than none when it is added); references: closed forms of the sum. A toy of ours with another
        second reward went from 0.371 to 0.969 and from 0.942 to 0.991.""",
    minutes=3.0,
    on="toy",
    setting="""Six arms that pay 0, 0, 0, 0.2, 0.6 and 1, and a second reward that prefers the first
        arms, or agrees. Learning with an entropy bonus of 0.3 ends in softmax(reward / 0.3).
        `barfi` tunes both weights within 2 of 0, every 6 updates of 64; an inner run is 30 updates
        of 32 episodes. Its variant `fixed` learns from the sum.""",
    measured="The exact payoff of the policy at the end, and the weight of the second reward.",
    chosen="""All of it before the figures, but for the bound of the misleading reward's weight: it
        was 0 before the first seed gave 0.13 (the toy of ours: -0.23). Weights begin at 1.""",
    world=World(BANDIT, 64, maker=lambda seed: sized(1, len(PAYOFF))),
    changes={
        **SGD,
        "rewards": [{"name": "noted", "key": "beside"}],
        "loss.regularise": (Entropy(coef=HEAT),),
        "collect.episodes": 64,
        "optim.lr": 3.0,
    },
    arms={
        **{
            f"{name}_{how}": Arm(algorithm, changes, options=_world(beside))
            for name, beside in (("misleads", MISLEADS), ("helps", HELPS))
            for how, algorithm, changes in (
                ("sum", "barfi:fixed", {}),
                (
                    "tuned",
                    "barfi",
                    {
                        "cycle.tune_rewards.components": ("payoff", "noted_beside"),
                        "cycle.tune_rewards.changes": INNER,
                        "cycle.tune_rewards.every": 6,
                        "cycle.tune_rewards.steps": 30,
                        "cycle.tune_rewards.tasks": 128,
                        "cycle.tune_rewards.checkpoint_every": 1000,
                    },
                ),
            )
        },
    },
    measure=_measure,
    expect=(
        Expect("payoff under the sum, misleading reward", "misleads_sum.payoff", settled(MISLEADS)),
        Expect("payoff under tuned weights, misleading", "misleads_tuned.payoff", low=0.85),
        Expect("weight of the misleading reward", "misleads_tuned.weight", high=0.5),
        Expect("payoff under the sum, helpful reward", "helps_sum.payoff", settled(HELPS)),
        Expect("payoff under tuned weights, helpful", "helps_tuned.payoff", low=settled(HELPS)),
        Expect("weight of the helpful reward", "helps_tuned.weight", low=1.0),
    ),
)
