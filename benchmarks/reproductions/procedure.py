"""A procedure of several steps, and a table that follows instructions: prompts matter to it.

Task       Every step is one of several tools; a wrong one ends the episode. The right ones are the
           same in all episodes, and nobody is told. Payoff: the share of steps that were right.
Policy     A table whose start logits follow its instruction ("t3 t0 t5"): it takes the tool that is
           named for a step with probability 0.8. Under every instruction it learns for itself.
Rewriter   Stands for a reflecting model. It reads the episodes under an instruction, finds the
           first step at which the instructed tool never helped, and names another one there: one
           that did help, if an episode shows it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.propose import Proposer, Written

ID = "coevo/procedure-v0"
SEAT = "player_0"
TOOLS = 8
FOLLOWS = 0.8
"""Probability of the tool that an instruction names, at the start."""


@config
class ProcedureConfig:
    """What the task takes."""

    right: Annotated[tuple[Annotated[int, whole(0, TOOLS - 1)], ...], Field(min_length=1)] = (0,)
    """The right tool of every step."""


class Procedure(Task[ProcedureConfig]):
    """Tool after tool, until one is wrong."""

    env_id = ID
    config_class = ProcedureConfig
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Begin with the first step."""
        self.done, self.over = 0, False

    def to_move(self) -> Sequence[str]:
        """Return the seat until it erred or is done."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return all tools."""
        return [f"t{i}" for i in range(TOOLS)]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Take a tool; pay at the end."""
        good = int(moves[SEAT][1:]) == self.config.right[self.done]
        self.done += good
        self.over = not good or self.done == len(self.config.right)
        return {SEAT: self.done / len(self.config.right)} if self.over else {}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Choose the right tool for every step. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the number of the step."""
        return f"Step {self.done}"

    def terse(self, seat: str) -> str:
        """Return the number of the step."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return how far it has got."""
        return f"{self.done} steps"


raw_env = raw_factory(Procedure)
env = aec_factory(Procedure)
register(ID, __name__, "tool after tool", kind="cooperative", seats=1, listed=False)


class Following(nn.Module):
    """A table whose logits begin where instructions say.

    Args:
        rows: of the prompts, to read the instructions in.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.table = Table(rows=1024, moves=TOOLS)
        self._rows, self._named = rows, list[int]()

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows."""
        for key in list(self._rows.of)[len(self._named) :]:
            self._named.append(_named(key))
        named_N = torch.tensor([self._named[row] for row in row_N.tolist()])
        gap = math.log(FOLLOWS / (1 - FOLLOWS) * (TOOLS - 1))
        logits: Tensor = self.table(row_N)
        return logits + gap * nn.functional.one_hot(named_N, TOOLS)


def _named(key: str) -> int:
    """Return the tool that is named in a prompt for its step."""
    (instruction, asked), _ = json.loads(key)
    return int(instruction.split()[int(asked.split()[1])][1:])


def follower() -> MakePolicy:
    """Return what makes such policies."""

    def make(name: str, **given: Any) -> TabularPolicy:
        rows = Rows()
        return TabularPolicy(Following(rows), rows, name=name)

    return make


@config
class Rewriter(Proposer):
    """Names another tool for the first step at which the instructed one never helped."""

    name: Literal["rewriter"] = "rewriter"

    def __call__(
        self,
        run: Any,
        parent: Artifact,
        found: Sequence[tuple[float, Episode]],
        rng: np.random.Generator,
    ) -> Written:
        """Rewrite one step; where no episode says which, any."""
        words = str(parent.payload).split()
        helped: list[Counter[str]] = [Counter() for _ in words]
        failed: list[set[str]] = [set() for _ in words]
        for worth, episode in found:
            moves = [str(t.move) for t in episode.turns]
            right = round(worth * len(words))
            for k, move in enumerate(moves):
                if k < right:
                    helped[k][move] += 1
                else:
                    failed[k].add(move)
        wrong = (k for k, word in enumerate(words) if word in failed[k] and not helped[k][word])
        at = next(wrong, int(rng.integers(len(words))))
        others = [f"t{i}" for i in range(TOOLS) if f"t{i}" not in failed[at] | {words[at]}]
        better = [word for word, _ in helped[at].most_common(1) if word != words[at]]
        words[at] = better[0] if better else str(rng.choice(others or [words[at]]))
        return Written(" ".join(words))
