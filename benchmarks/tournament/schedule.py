"""The schedule of a tournament, as a function of its seed: pairs, tasks and seats.

A task is one start state. Both agents of a pair play it from every side, so that luck falls on both
alike; no two pairs share tasks, so that their results are independent. Tasks are played in blocks:
a block is what is played at once, reseeded, and written down together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from coevo.trainers.collect.rollout import EpisodeSpec

Pair = tuple[str, str]
"""Two agents in order of name; twice the same one for self-play."""
BLOCK_PLAYS = 128
"""Most episodes of a block: what a kill can lose."""
ADAPTIVE_PLAYS = 32
"""The same where the next pair depends on the results so far."""


def pairs(agents: Sequence[str], self_play: bool) -> list[Pair]:
    """List the pairs in order of name, whatever order the agents were given in."""
    listed = combinations_with_replacement if self_play else combinations
    return list(listed(sorted(agents), 2))


def lineups(seats: Sequence[str], pair: Pair) -> list[dict[str, str]]:
    """Return the ways in which a pair sits down to one task: seat -> agent.

    Two seats: both orders. More: one agent sits alone in each seat in turn, copies of the other
    fill the rest, then the other way round. Self-play: all are the same.

    >>> lineups(("x", "y"), ("a", "b"))
    [{'x': 'a', 'y': 'b'}, {'x': 'b', 'y': 'a'}]
    >>> len(lineups(("x", "y", "z"), ("a", "b"))), len(lineups(("x", "y"), ("a", "a")))
    (6, 1)
    """
    low, high = pair
    if low == high:
        return [dict.fromkeys(seats, low)]
    if len(seats) == 2:
        return [dict(zip(seats, pair, strict=True)), dict(zip(seats, (high, low), strict=True))]
    return [
        {**dict.fromkeys(seats, rest), seat: alone}
        for alone, rest in (pair, (high, low))
        for seat in seats
    ]


def first_of(lineup: dict[str, str]) -> str:
    """Name who counts as first: the first seat of two, or the agent that sits alone among more."""
    sitting = list(lineup.values())
    return sitting[0] if len(sitting) == 2 else min(sitting, key=sitting.count)


def episodes_per_task(seats: int) -> int:
    """Count the ways in which two different agents sit down to one task."""
    return 2 if seats == 2 else 2 * seats


def number_of(*words: str) -> int:
    """Turn names into a number that is the same in every process."""
    text = "\0".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


@dataclass(frozen=True)
class Block:
    """Some tasks of one pair, played at once."""

    pair: Pair
    number: int
    """Place among the blocks of the pair."""
    tasks: range

    def seed(self, root: int, agent: str) -> int:
        """Return the seed of an agent's sampling in this block."""
        entropy = [root, number_of(*self.pair), self.number, number_of(agent)]
        drawn = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]
        return int(drawn >> np.uint64(1))


@dataclass(frozen=True)
class Schedule:
    """All blocks that a tournament can play."""

    seats: tuple[str, ...]
    pairs: tuple[Pair, ...]
    tasks: int
    seed: int
    """Root of tasks and sampling."""
    adaptive: bool = False

    @property
    def tasks_per_block(self) -> int:
        most = ADAPTIVE_PLAYS if self.adaptive else BLOCK_PLAYS
        return max(1, most // episodes_per_task(len(self.seats)))

    @property
    def blocks_per_pair(self) -> int:
        return math.ceil(self.tasks / self.tasks_per_block)

    @property
    def episodes(self) -> int:
        return self.tasks * sum(len(lineups(self.seats, pair)) for pair in self.pairs)

    def block(self, pair: Pair, number: int) -> Block:
        start = number * self.tasks_per_block
        return Block(pair, number, range(start, min(start + self.tasks_per_block, self.tasks)))

    def specs(self, block: Block) -> list[tuple[int, EpisodeSpec]]:
        """Return the episodes of a block, each with the number of its task."""
        return [
            (task, EpisodeSpec(self._task_seed(block.pair, task), lineup, stream))
            for task in block.tasks
            for stream, lineup in enumerate(lineups(self.seats, block.pair))
        ]

    def _task_seed(self, pair: Pair, task: int) -> int:
        return int(np.random.default_rng([self.seed, number_of(*pair), task]).integers(2**31))
