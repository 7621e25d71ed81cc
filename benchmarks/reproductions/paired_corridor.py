"""PAIRED: a designer that earns regret leaves the unsolvable level alone; a minimax one builds it.

Setting   Corridors of 1 to 10 doors: at each of them one of three ways leads on, and a wrong one
          ends the walk; whoever gets through earns 1. An eleventh level has no way out. A designer
          chooses the level, two protagonists and two antagonists walk it; each role has a table,
          and a walker sees how far it has come. The record `paired` and its variants `minimax`
          and `random` (levels drawn alike) by the shipped loop: 32 levels an update, 150 updates.
Measured  How often the designer chooses the unsolvable level in the last 25 updates; in how many
          of the ten corridors the protagonist gets through more often than not, at the end and on
          average over all updates. No bound on these: doors are the same in all corridors and a
          table knows nothing of a door that it has not met, so that nothing can be transferred.
Chosen    Sizes and step sizes, after a look at 64 levels and 250 updates. The bounds cut a designer
          that has given the level up (below 1/11, the share of chance) from one that does nothing
          else (above 0.9); they were set before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import torch

from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import QUICKLY, started
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import NoArguments, Task
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates

ID = "coevo/corridors-v0"
DESIGNER = "designer_0"
WALKERS = ("protagonist_0", "protagonist_1", "antagonist_0", "antagonist_1")
LEVELS, WAYS = 10, 3
STEPS, LAST = 150, 25
SETTINGS = {**QUICKLY, "collect.episodes": 32, "optim.lr": 0.2, "optim.grad_norm": 10.0}


def way(door: int) -> int:
    """Return the way that leads through a door."""
    return (2 * door + 1) % WAYS


class Corridors(Task[NoArguments]):
    """One level, walked by everybody at once."""

    env_id = ID
    seats = (DESIGNER, *WALKERS)
    payoff_range = (0.0, 1.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Wait for the level."""
        self.level, self.door, self.walking = 0, 0, list(WALKERS)

    def to_move(self) -> Sequence[str]:
        """Return the designer, then all who are still on their way."""
        return tuple(self.walking) if self.level else (DESIGNER,)

    def legal(self, seat: str) -> Sequence[str]:
        """Return the levels, or the ways."""
        names = range(1, LEVELS + 2) if seat == DESIGNER else range(WAYS)
        return tuple(map(str, names))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Build the level, or go through a door; pay at the end of the corridor."""
        if not self.level:
            self.level = int(moves[DESIGNER])
            return {}
        self.walking = [seat for seat in self.walking if int(moves[seat]) == way(self.door)]
        self.door += 1
        if self.level > LEVELS and self.door == LEVELS:
            self.walking = []  # the last door is a wall
        if self.door < self.level:
            return {}
        through, self.walking = self.walking, []
        return dict.fromkeys(through, 1.0)

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"A designer chooses a corridor, walkers look for its doors. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return how far a walker has come."""
        return "Which level?" if seat == DESIGNER else f"door {self.door}"

    def terse(self, seat: str) -> str:
        """Return the same."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the level and who walks."""
        return f"level {self.level}, door {self.door}: {', '.join(self.walking)}"

    def outcome(self) -> dict[str, float]:
        """Return whether nobody could have got through."""
        return {"unsolvable": float(self.level > LEVELS), "level": float(self.level)}


raw_env = raw_factory(Corridors)
env = aec_factory(Corridors)
register(ID, __name__, "corridors of doors", kind="mixed", seats=5, listed=False)


@dataclass(frozen=True)
class Course:
    """What a run comes to."""

    unsolvable: float
    """Share of the level without a way out in the last updates."""
    solved: float
    """Corridors solved at the end."""
    on_the_way: float
    """Corridors solved, on average over all updates."""


def course(variant: str | None, seed: int, steps: int = STEPS) -> Course:
    """Train, and return what the designer built and what the protagonist can do.

    Args:
        variant: of the record `paired`.
        seed: of the run.
        steps: updates.
    """
    with started(algorithm("paired", variant, SETTINGS), ID, seed=seed, steps=steps) as run:
        protagonist = run.learners["protagonist"].agent
        assert isinstance(protagonist, TabularPolicy)  # --model table
        built, through = [], []
        for done in updates(run):
            built.append(done.metrics["outcome/unsolvable"])
            through.append(solved(protagonist))
    return Course(fmean(built[-LAST:]), through[-1], fmean(through))


@torch.no_grad()
def solved(walker: TabularPolicy) -> float:
    """Return in how many corridors a walker gets through more often than not."""
    rows = {json.loads(key)[0][-1]: row for key, row in walker.rows.of.items()}
    through, count = 1.0, 0
    for door in range(LEVELS):
        row = rows.get(f"door {door}")
        odds = 1 / WAYS
        if row is not None:
            logits_A = walker.model(torch.tensor([row]))[0, :WAYS]
            odds = float(logits_A.softmax(-1)[way(door)])
        through *= odds
        count += through > 0.5
    return float(count)


def run(seeds: Sequence[int]) -> Outcome:
    """Train with regret, against a minimax designer and under random levels."""
    regret, minimax, random = (
        [course(v, seed) for seed in seeds] for v in (None, "minimax", "random")
    )
    arms = {"PAIRED": regret, "minimax": minimax, "random": random}
    built = {name: tuple(c.unsolvable for c in arm) for name, arm in arms.items()}
    return Outcome(
        (
            Row("PAIRED: unsolvable", built["PAIRED"], 0.0, high=1 / (LEVELS + 1)),
            Row("minimax: unsolvable", built["minimax"], 1.0, low=0.9),
            Row("random: unsolvable", built["random"], 1 / (LEVELS + 1)),
            *(Row(f"{n}: corridors solved", tuple(c.solved for c in a)) for n, a in arms.items()),
            *(
                Row(f"{n}: solved on the way", tuple(c.on_the_way for c in a))
                for n, a in arms.items()
            ),
        ),
        note="levels drawn alike teach these doors sooner; no gain in transfer is shown",
    )


REPRODUCTION = Reproduction(
    name="paired_corridor",
    property="A designer that earns regret leaves the unsolvable level alone, which a minimax "
    "designer builds nearly always; that players get further under it is measured, not claimed.",
    source="Dennis et al. 2020, PAIRED, arXiv 2012.02096 (regret, minimax, domain randomisation); "
    "references: what each designer's reward is highest for",
    minutes=6.0,
    run=run,
    on="table",
)
