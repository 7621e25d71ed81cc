"""Gated accumulation (G-RA): step rewards that do not lead to the goal are not collected."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import Micro, numbered, world
from coevo.envs.core.episode import Turn
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import NoArguments
from coevo.envs.rewards import Noted
from coevo.trainers import components as c

SOLVER, CHANCE = "solver_0", "chance_0"
STALL, SUBMIT = "stall", "submit"
TURNS, SIZE = 5, 32
DENSE, HIGH, LOW = 0.5, 1.0, 0.2
LEVELS, LUCKY = 10, 3
"""What chance draws from, and how many of that pay the high reward."""


class StallOrSubmit(Micro[NoArguments]):
    """Turns that stall, until one submits; chance, the second seat, says what that is worth."""

    env_id = "coevo/stall_or_submit-v0"
    seats = (SOLVER, CHANCE)
    payoff_range = (0.0, HIGH)
    about = "Stall or submit."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        for turn in range(TURNS):
            if (yield One(SOLVER, terse=f"Turn {turn}", moves=(STALL, SUBMIT))) == SUBMIT:
                luck = yield One(CHANCE, terse="Luck", moves=numbered(LEVELS))
                yield Pay({SOLVER: HIGH if int(luck) < LUCKY else LOW})
                return

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.notes["progress"] = DENSE if turn.move == STALL else 0.0


raw_env, env = world(StallOrSubmit, "turns that stall or submit", kind="mixed", seats=2)


def _measure(end: Trained) -> dict[str, float]:
    odds = end.learnt(SOLVER)
    return {"completion": 1 - prod(float(odds[f"Turn {turn}"][0]) for turn in range(TURNS))}


CLAIM = Claim(
    property="""A policy that is paid for steps only where the goal is reached completes the task;
        one that is paid for them anyway learns to stall.""",
    source="""Sun et al. 2025, Gated Rewards, arXiv 2508.10548 (gated accumulation: R_high +
        1[R_high >= delta] times the sum of the step rewards); figures: our numpy experiment,
        studies/gated_rewards_numpy.py""",
    minutes=3.0,
    on="toy",
    setting="""Five turns. A turn either stalls, for 0.5, or submits, which ends the episode and
        pays 1 with probability 0.3, else 0.2. Five stalls earn 2.5, four stalls and a submission
        2.44: on the plain sum it pays never to submit. The gate counts stalls only where the
        submission pays 0.2 or more, that is where there is one. `g_ra` on a table, with the gate
        and with the plain sum: 32 episodes per update, group mean as baseline, plain gradient of
        the sum over an episode, 600 updates of lr 0.5.""",
    measured="Completion: the probability of a submission within five turns.",
    chosen="""The whole task; the paper reports software agents, 47.6 to 93.8 % completion. The
        ungated figure falls with every update; 600 of lr 0.5 end below a tenth.""",
    world=World(StallOrSubmit.env_id, 600, maker=lambda seed: sized(TURNS, 2)),
    changes={
        **PLAIN,
        "rewards": (Noted(key="progress"),),
        "population": Separate(agents={CHANCE: "random"}),
        "collect.episodes": SIZE,
        "collect.group_size": SIZE,
        "advantage.normalise": c.NoNormalisation(),
        "loss.aggregate": c.SumNorm(),
        # every turn is a sequence: the sum of all of them, over the number of episodes
        "optim.lr": 0.5 * SamplingConfig().max_new_tokens / SIZE,
    },
    arms={
        "summed": Arm("g_ra", {"advantage.compose": c.WeightedSum()}),
        "gated": Arm("g_ra", {"advantage.compose": c.Gated(high=("payoff",), delta=LOW)}),
    },
    measure=_measure,
    expect=(
        Expect("completion, rewards summed", "summed.completion", 0.039, high=0.1),
        Expect("completion, gated", "gated.completion", 0.999, low=0.99),
    ),
)
