"""Worlds that only claims use: what their tasks have in common, and a bandit for many claims."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, TabularPolicy
from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import AECFactory, RawFactory, turn_based
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task

SEAT = "player_0"
C = TypeVar("C")
T = TypeVar("T")


def world(task: type[Task[Any]], about: str, **fields: Any) -> tuple[RawFactory, AECFactory]:
    """Register a task that `coevo envs` does not list; return `raw_env` and `env` of its module.

    Further fields are those of `EnvSpec`, such as `kind` and `seats`.
    """
    register(task.env_id, task.__module__, about, listed=False, **fields)
    return turn_based(task)


class Micro(ProtocolTask[C]):
    """A protocol whose questions are one line, the same in both styles: `terse` of what it asks."""

    about: ClassVar[str] = ""

    def rules(self, seat: str) -> str:
        return f"{self.about} You are {seat}."

    def situation(self, seat: str) -> str:
        return self.terse(seat)

    def draw(self) -> str:
        return ", ".join(f"{turn.agent}: {turn.move}" for turn in self.turns) or "open"


class OneMove(Micro[C]):
    """One seat makes one move."""

    seats = (SEAT,)
    payoff_range = (0.0, 0.0)
    said = ""
    """The move, once it was made."""

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.said = ""
        terse, moves = self.deal(rng)
        (seat,) = self.seats
        self.said = yield One(seat, terse=terse, moves=moves)
        yield Pay({seat: self.pay()})

    @abstractmethod
    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        """Draw the problem; return the question and the moves."""

    def pay(self) -> float:
        return 0.0


def numbered(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


class ReadRows(Rows, Generic[T]):
    """Rows for a model that reads prompts; all copies of the model share them.

    Args:
        read: what the model sees of the messages of a prompt.
    """

    def __init__(self, read: Callable[[Sequence[str]], T]) -> None:
        super().__init__()
        self._read, self._seen = read, list[T]()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def seen(self, row_N: Tensor) -> list[T]:
        """Return what the model sees of the prompts of some rows."""
        new = list(self.of)[len(self._seen) :]
        self._seen += [self._read(json.loads(key)[0]) for key in new]
        return [self._seen[row] for row in row_N.tolist()]


# ---- Bandits -----------------------------------------------------------------------------------

BANDIT = "coevo/bandit-v0"
Values = tuple[Annotated[float, real()], ...]


@config
class BanditConfig:
    """What a bandit takes; every sequence of values is arm by arm."""

    payoffs: Annotated[tuple[Values, ...], Field(min_length=1)] = ((0.0, 1.0),)
    """Payoff of every arm, context by context."""
    names: tuple[str, ...] = ()
    """Of the arms; empty calls them a0, a1, ..."""
    notes: Mapping[str, Values] = field(default_factory=dict)
    """What is noted on the turn of every arm, for reward modules to read."""
    outcomes: Mapping[str, Values] = field(default_factory=dict)
    """Metrics of every arm that no learner reads."""
    seat: str = SEAT
    """Name of the seat, which also seeds what it draws."""


class Bandit(OneMove[BanditConfig]):
    """One context, which is drawn and is the task; one choice among arms."""

    env_id = BANDIT
    config_class = BanditConfig
    about = "Choose an arm for the context."

    def __init__(self, config: BanditConfig) -> None:
        super().__init__(config)
        self.seats = (config.seat,)
        every = [paid for row in config.payoffs for paid in row]
        self.payoff_range = (min(every), max(every))
        self.names = config.names or arms(len(config.payoffs[0]))

    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        self.context = int(rng.integers(len(self.config.payoffs)))
        if len(self.config.payoffs) > 1:
            self.task_id = str(self.context)
        return f"Context {self.context}", self.names

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        if turn.move is not None:
            at = self.names.index(turn.move)
            turn.notes |= {key: values[at] for key, values in self.config.notes.items()}

    def pay(self) -> float:
        return self.config.payoffs[self.context][self.names.index(self.said)]

    def outcome(self) -> dict[str, float]:
        at = self.names.index(self.said) if self.said else 0
        return {key: values[at] for key, values in self.config.outcomes.items()}


raw_env, env = world(Bandit, "arms in contexts", kind="cooperative", seats=1)


def arms(count: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(count))


def odds(learnt: Mapping[str, Tensor], contexts: int, count: int) -> Tensor:
    """Return a table's probabilities of the arms, [C, A]; a context that never came is uniform."""
    even_A = torch.full((count,), 1 / count, dtype=torch.float64)
    return torch.stack([learnt.get(f"Context {c}", even_A) for c in range(contexts)])


@torch.no_grad()
def first_row(policy: Policy, count: int) -> Tensor:
    """Return the probabilities of the arms where there is one context, which has row 0."""
    return policy.model(torch.tensor([0]))[0, :count].softmax(-1)


def given(model: nn.Module) -> MakePolicy:
    """Return what makes a policy with given logits, such as those of features."""

    def make(name: str, **given: Any) -> TabularPolicy:
        return TabularPolicy(model, name=name)

    return make
