"""A room with a key and a door, for claims about sparse rewards in tasks of several moves."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Table, TabularPolicy
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, ReadRows, world
from coevo.envs.core.config import config, whole
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly

STEPS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
WAYS = tuple(STEPS)
Place = tuple[int, int]


@config
class KeyDoorConfig:
    """What the room takes."""

    size: Annotated[int, whole(2, 16)] = 4
    """Squares on a side."""
    moves: Annotated[int, whole(1, 64)] = 9
    """Moves of an episode at most."""
    least: Annotated[int, whole(0)] = 0
    """Moves of the shortest way from where an episode begins."""


class KeyDoor(Micro[KeyDoorConfig]):
    """A walker fetches a key and brings it to a door; it earns 1 there, and nothing on the way."""

    env_id = "coevo/key_door-v0"
    config_class = KeyDoorConfig
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)
    about = "Fetch the key, then walk to the door."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        last = self.config.size - 1
        self.key, self.door, self.carries = (last, 0), (0, last), False
        squares = [(x, y) for x in range(last + 1) for y in range(last + 1)]
        far = [at for at in squares if self.distance(at, False) >= self.config.least]
        self.at = far[int(rng.integers(len(far)))]
        for number in range(self.config.moves):
            self.carries |= self.at == self.key
            if self.carries and self.at == self.door:
                break
            x, y = self.at
            terse = f"{number}: at {x} {y}, {'with' if self.carries else 'no'} key"
            way = yield One(SEAT, terse=terse, moves=WAYS, expert=self.best)
            beyond = self.beyond(self.at, way)
            nearer = self.distance(beyond, self.carries) < self.distance(self.at, self.carries)
            self.note("good", 1.0 if nearer else -1.0)
            self.at = beyond
        if (self.carries or self.at == self.key) and self.at == self.door:
            yield Pay({SEAT: 1.0})

    def beyond(self, at: Place, way: str) -> Place:
        """Return where a step leads; walls stop it."""
        last, (dx, dy) = self.config.size - 1, STEPS[way]
        return min(max(at[0] + dx, 0), last), min(max(at[1] + dy, 0), last)

    def distance(self, at: Place, carries: bool) -> int:
        """Return the moves that are left on the shortest way."""
        between = abs(self.key[0] - self.door[0]) + abs(self.key[1] - self.door[1])
        goal, rest = (self.door, 0) if carries else (self.key, between)
        return abs(at[0] - goal[0]) + abs(at[1] - goal[1]) + rest

    def best(self, seat: str, skill: float) -> Replies:
        left = {way: self.distance(self.beyond(self.at, way), self.carries) for way in WAYS}
        good = {way: 1.0 for way in WAYS if left[way] == min(left.values())}
        return mostly(WAYS, good, skill)


raw_env, env = world(KeyDoor, "a key and a door", kind="cooperative", seats=1)
PROMPT = re.compile(r"(\d+): at (\d+) (\d+), (no|with) key")
MOST = 16
"""Squares on a side, and moves, that a walker tells apart."""


class WalkerRows(ReadRows[tuple[int, int]]):
    """What a walker reads of a prompt: where it stands, and the move that it is advised to make."""

    def __init__(self) -> None:
        super().__init__(lambda read: (int(read[0]), int(read[1])))

    def key(self, messages: Sequence[str], legal: Sequence[str]) -> str:
        number, x, y, key = PROMPT.search(messages[-1]).groups()  # type: ignore[union-attr]
        at = ((int(number) * MOST + int(x)) * MOST + int(y)) * 2 + (key == "with")
        plan = messages[-1].partition("one a turn: ")[2].rstrip(".").split(", ")
        advised = next((WAYS.index(way) for way in plan[int(number) :][:1] if way in WAYS), -1)
        return json.dumps([[str(at), str(advised)], list(legal)])


class Walker(nn.Module):
    """A table of places whose logits are raised for the move that is advised."""

    def __init__(self, rows: WalkerRows, follows: float) -> None:
        super().__init__()
        self.table, self._rows = Table(2 * MOST**3, len(WAYS)), rows
        self.gap = math.log(follows / (1 - follows) * (len(WAYS) - 1))

    def forward(self, row_N: Tensor) -> Tensor:
        at_N, advised_N = torch.tensor(self._rows.seen(row_N)).T
        raised_NA = nn.functional.one_hot(advised_N + 1, len(WAYS) + 1)[:, 1:]
        logits_NA: Tensor = self.table(at_N) + self.gap * raised_NA
        return logits_NA


def walkers(follows: float) -> Callable[[int], MakePolicy]:
    """Return what makes walkers that follow advice with some probability, at the start."""

    def maker(seed: int) -> MakePolicy:
        rows = WalkerRows()

        def make(name: str, **given: Any) -> TabularPolicy:
            return TabularPolicy(Walker(rows, follows), rows, name=name)

        return make

    return maker
