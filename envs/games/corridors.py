"""Corridors: a designer builds a level, and two pairs of walkers look for the way through it.

Agents        designer_0; protagonist_0, protagonist_1, antagonist_0, antagonist_1
Observation   chat: the rules, then for the designer nothing more, for a walker its door
Action        designer: text ending in the number of doors, or in [walled]; walker: in a way, [1] to
              [3]
Reward        walker: 1 if it gets through the last door, else 0; designer: 0 by the rules (the
              reward module `regret` pays it what one pair has over the other)
Ends          when all walkers are through or lost
Options       doors: of the longest corridor; ways: at a door, of which one leads on
References    mean payoff of a seat by default: random 0.0364, all through 0.8, both exact

At each door one way leads on, always the same one in all corridors; a wrong one ends the walk. Who
has learnt the first doors can walk short corridors: levels of 1 to `doors` are of rising
difficulty, and the walled one has no way out. After the designer of levels of PAIRED (Dennis et
al., arXiv 2012.02096), whose levels are mazes. Experts know all ways and build the longest corridor
that has an end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

DESIGNER = "designer_0"
WALKERS = ("protagonist_0", "protagonist_1", "antagonist_0", "antagonist_1")
WALLED = "walled"


@config
class CorridorsConfig:
    doors: Annotated[int, whole(1, 20)] = 10
    """Doors of the longest corridor."""
    ways: Annotated[int, whole(2, 9)] = 3
    """Ways at a door."""


class Corridors(ProtocolTask[CorridorsConfig]):
    env_id = "coevo/corridors-v0"
    config_class = CorridorsConfig
    seats = (DESIGNER, *WALKERS)
    payoff_range = (0.0, 1.0)
    draws = False

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.level, self.door = "", 0
        self.walking: Sequence[str] = WALKERS
        levels = [*map(str, range(1, self.config.doors + 1)), WALLED]
        self.level = yield One(DESIGNER, moves=levels)
        ways = [str(way) for way in range(1, self.config.ways + 1)]
        for door in range(1, self.doors + 1):
            self.door = door
            moves = yield All(self.walking, moves=ways)
            self.walking = [seat for seat in self.walking if moves[seat] == self.way(self.door)]
            if not self.walking:
                return
        if self.level != WALLED:
            yield Pay(dict.fromkeys(self.walking, 1.0))

    @property
    def doors(self) -> int:
        """Doors of this corridor; the walled one has as many as the longest, and then a wall."""
        return self.config.doors if self.level == WALLED else int(self.level)

    def way(self, door: int) -> str:
        """Return the way that leads on behind a door."""
        return str(1 + (2 * door + 1) % self.config.ways)

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the longest corridor with an end, or the right way; mostly."""
        best = str(self.config.doors) if seat == DESIGNER else self.way(self.door)
        return mostly(self.moves_of(seat), {best: 1.0}, skill)

    def outcome(self) -> dict[str, float]:
        """Return whether the level has no way out, and how long it is."""
        if not self.level:
            return {}
        return {"unsolvable": float(self.level == WALLED), "level": float(self.doors)}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw anew how the corridor ends, for a walker."""
        if seat == DESIGNER:
            return False
        self.level = str(rng.choice([self.level, str(self.config.doors), WALLED]))
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        lines = [
            f"A designer builds a corridor of 1 to {c.doors} doors, or a walled one, which has "
            f"{c.doors} doors and then a wall. Four walkers go through it, each for itself. Behind "
            f"each door there are {c.ways} ways. One leads on, and it is always the same one for "
            "the first door, the second, and so on; the others are dead ends. A walker that gets "
            "through the last door gets 1 point.",
        ]
        role = "the designer" if seat == DESIGNER else "a walker. You do not see how long it is"
        return "\n".join([*lines, f"You are {seat}, {role}."])

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, self.moves_of(seat)))
        asked = "Which corridor do you build?"
        if seat != DESIGNER:
            asked = f"You are at door {self.door}. Which way do you take?"
        return f"{asked} Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        first, last = (answer(self.moves_of(seat)[i]) for i in (0, -1))
        if seat == DESIGNER:
            return f"Build a corridor of 1 to {self.config.doors} doors. Answer {first} to {last}"
        return f"Door {self.door}. Which way? Answer {first} to {last}"

    def draw(self) -> str:
        if not self.level:
            return "no corridor yet"
        moves = ", ".join(f"{turn.agent}: {turn.move}" for turn in self.turns)
        return f"corridor {self.level}, door {self.door}; walking: {len(self.walking)}; {moves}"


raw_env, env = turn_based(Corridors)
