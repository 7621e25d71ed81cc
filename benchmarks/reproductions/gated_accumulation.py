"""Gated accumulation (G-RA): step rewards that do not lead to the goal are not collected.

Setting   Five turns. A turn either stalls, for 0.5, or submits, which ends the episode and pays 1
          with probability 0.3, else 0.2. Five stalls earn 2.5, four stalls and a submission 2.44:
          on the plain sum it pays never to submit. The gate counts stalls only where the
          submission pays 0.2 or more, that is where there is one.
Learning  The record `g_ra` on a table by the shipped loop, with the gate and with the plain sum:
          32 episodes per update, group mean as baseline, plain gradient of the sum over an episode.
Measured  Completion: the probability of a submission within five turns.
Chosen    The whole task; the paper reports software agents, 47.6 to 93.8 % completion. The ungated
          figure falls with every update; 600 of lr 0.5 end below a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import PLAIN, learnt, sized, started
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import NoArguments, Task
from coevo.envs.rewards import Noted
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import Gated, NoNormalisation, SumNorm, WeightedSum
from coevo.trainers.loop import finish
from coevo.trainers.run import output_policy

ID = "coevo/stall_or_submit-v0"
SOLVER, CHANCE = "solver_0", "chance_0"
STALL, SUBMIT = "stall", "submit"
TURNS, SIZE, UPDATES, LR = 5, 32, 600, 0.5
DENSE, HIGH, LOW = 0.5, 1.0, 0.2
LEVELS, LUCKY = 10, 3
"""What chance draws from, and how many of that pay the high reward."""
SETTINGS: dict[str, Any] = {
    **PLAIN,
    "rewards": (Noted(key="progress"),),
    "population": Separate(agents={CHANCE: "random"}),
    "collect.episodes": SIZE,
    "collect.group_size": SIZE,
    "advantage.normalise": NoNormalisation(),
    "loss.aggregate": SumNorm(),
    # every turn is a sequence: the sum of all of them, over the number of episodes
    "optim.lr": LR * SamplingConfig().max_new_tokens / SIZE,
}


class StallOrSubmit(Task[NoArguments]):
    """Turns that stall, until one submits; chance, the second seat, says what that is worth."""

    env_id = ID
    seats = (SOLVER, CHANCE)
    payoff_range = (0.0, HIGH)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Begin with the first turn."""
        self.turn, self.submitted, self.over = 0, False, False

    def to_move(self) -> Sequence[str]:
        """Return the solver, and chance after a submission."""
        if self.over or self.turn == TURNS:
            return ()
        return (CHANCE,) if self.submitted else (SOLVER,)

    def legal(self, seat: str) -> Sequence[str]:
        """Return what a turn can do, or the levels of chance."""
        return (STALL, SUBMIT) if seat == SOLVER else tuple(map(str, range(LEVELS)))

    def describe(self, seat: str, turn: Turn) -> None:
        """Note the progress that a turn looks like."""
        super().describe(seat, turn)
        turn.notes["progress"] = DENSE if turn.move == STALL else 0.0

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Stall, submit, or pay a submission."""
        if CHANCE in moves:
            self.over = True
            return {SOLVER: HIGH if int(moves[CHANCE]) < LUCKY else LOW}
        self.submitted = moves[SOLVER] == SUBMIT
        self.turn += not self.submitted
        return {}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Stall or submit. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the number of the turn."""
        return f"Turn {self.turn}" if seat == SOLVER else "Luck"

    def terse(self, seat: str) -> str:
        """Return the number of the turn."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the number of the turn, and whether it was submitted."""
        return f"turn {self.turn}{', submitted' if self.submitted else ''}"


raw_env = raw_factory(StallOrSubmit)
env = aec_factory(StallOrSubmit)
register(ID, __name__, "turns that stall or submit", kind="mixed", seats=2, listed=False)


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with and without the gate."""
    ungated, gated = (
        tuple(completion(compose, seed) for seed in seeds)
        for compose in (WeightedSum(), Gated(high=("payoff",), delta=LOW))
    )
    return Outcome(
        (
            Row("completion, rewards summed", ungated, 0.039, high=0.1),
            Row("completion, gated", gated, 0.999, low=0.99),
        )
    )


def completion(compose: WeightedSum | Gated, seed: int) -> float:
    """Return the probability of a submission within all turns, after learning."""
    made = algorithm("g_ra", None, {**SETTINGS, "advantage.compose": compose})
    with started(made, ID, maker=sized(TURNS, 2), seed=seed, steps=UPDATES) as run:
        finish(run)
        odds = learnt(output_policy(run.learners[SOLVER]))
        return 1 - prod(float(odds[f"Turn {turn}"][0]) for turn in range(TURNS))


REPRODUCTION = Reproduction(
    name="gated_accumulation",
    property="A policy that is paid for steps only where the goal is reached completes the task; "
    "one that is paid for them anyway learns to stall.",
    source="Sun et al. 2025, Gated Rewards, arXiv 2508.10548 (gated accumulation: R_high + "
    "1[R_high >= delta] times the sum of the step rewards); figures: our numpy experiment, "
    "studies/gated_rewards_numpy.py",
    minutes=3.0,
    run=run,
    on="table",
)
