"""A choice among arms, for tables: the smallest task that the shipped loop trains on.

One seat, one move: an arm. Its payoff is fixed, or 0 throughout where comparisons are the reward.
`distributions` trains a table on it and looks at the policy after every update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy
from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.table_run import started
from coevo.envs.core.config import config, real
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.loop import updates
from coevo.trainers.run import output_policy

ID = "coevo/arms-v0"
SEAT = "player_0"


@config
class ArmsConfig:
    """What a choice among arms takes."""

    payoffs: Annotated[tuple[Annotated[float, real()], ...], Field(min_length=2)] = (0.0, 1.0)
    """Payoff of every arm."""


class Arms(Task[ArmsConfig]):
    """One choice among arms a0, a1, ..."""

    env_id = ID
    config_class = ArmsConfig
    seats = (SEAT,)

    def __init__(self, config: ArmsConfig) -> None:
        super().__init__(config)
        self.payoff_range = (min(config.payoffs), max(config.payoffs))

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Nothing is drawn."""
        self.over = False

    def to_move(self) -> Sequence[str]:
        """Return the seat until it has moved."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return all arms."""
        return arms(len(self.config.payoffs))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Pay the arm."""
        self.over = True
        return {SEAT: self.config.payoffs[int(moves[SEAT][1:])]}

    def rules(self, seat: str) -> str:
        """Explain the choice."""
        return f"Choose one of {len(self.config.payoffs)} arms. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Ask for an arm."""
        return "Which arm?"

    def terse(self, seat: str) -> str:
        """Ask for an arm."""
        return "Which arm?"

    def draw(self) -> str:
        """Say whether it is over."""
        return "over" if self.over else "open"


raw_env = raw_factory(Arms)
env = aec_factory(Arms)
register(ID, __name__, "one choice among arms", kind="cooperative", seats=1, listed=False)


def arms(count: int) -> tuple[str, ...]:
    """Return the names of arms.

    >>> arms(2)
    ('a0', 'a1')
    """
    return tuple(f"a{i}" for i in range(count))


def distributions(
    record: Algorithm,
    payoffs: Sequence[float],
    steps: int,
    seed: int,
    maker: MakePolicy | None = None,
) -> Iterator[Tensor]:
    """Train a table by the shipped loop, and yield its probabilities of the arms after each update.

    Args:
        record: the algorithm.
        payoffs: of the arms.
        steps: updates.
        seed: of the run.
        maker: makes the policy, where it is not a table.
    """
    options = {"payoffs": tuple(payoffs)}
    with started(record, ID, options, maker, seed=seed, steps=steps) as run:
        for _ in updates(run):
            (learner,) = run.learners.values()
            yield odds(output_policy(learner), len(payoffs))


@torch.no_grad()
def odds(policy: Policy, count: int) -> Tensor:
    """Return the probabilities of the arms; the only prompt there is has row 0."""
    return policy.model(torch.tensor([0]))[0, :count].softmax(-1)


def table_maker(model: nn.Module) -> MakePolicy:
    """Return what makes a policy of one prompt with given logits, such as those of features."""

    def make(name: str, **given: Any) -> TabularPolicy:
        return TabularPolicy(model, name=name)

    return make
