"""Trash and keys: two walkers fetch a key, open a door, find the trash and bring it to the bin.

Agents        walker_0, walker_1
Observation   chat: rules, then what is held and the world around the walker; as numbers, the same
              as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [north], [east], [south], [west] or [stay]
Reward        1 for each seat when trash is in the bin
Ends          when all trash is in the bin, or after `steps`
Options       see the arguments
References    mean return by default: random 0.003, experts 1

The key, door and trash world of subgoal learning (GMAH, arXiv 2408.11416), in the small: two rooms
of 2 by 5 cells, without managers that name subgoals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.world import POINTS, STAY, Cell, GridConfig, GridWorld

ROOMS = """
#######
#K.#..#
#.P#..#
#..D.T#
#.P#..#
#B.#..#
#######"""
CORNERS = ((1, 2), (5, 2), (1, 5), (5, 5))
"""Where an expert waits."""
WALKERS = 2
NEXT = {"key": "door", "trash": "bin"}
"""Where who holds a thing goes."""
HELD = tuple(NEXT)


@config
class TrashKeysConfig(GridConfig):
    steps: Annotated[int, whole(1, 1000)] = 40
    """Length of an episode."""
    ahead: Annotated[int, whole(4, 4)] = 4
    """Fixed: walkers see both rooms."""
    behind: Annotated[int, whole(4, 4)] = 4
    """Fixed."""
    side: Annotated[int, whole(4, 4)] = 4
    """Fixed."""
    trash: Annotated[int, whole(1, 6)] = 1
    """Pieces of trash."""
    drawn: Annotated[bool, Field(strict=True)] = True
    """Whether key and trash lie anywhere in their rooms, or where the map says, and then trash
    beside it."""


class TrashKeys(GridWorld[TrashKeysConfig]):
    env_id = "coevo/trash_keys-v0"
    config_class = TrashKeysConfig
    title = "Trash and keys"
    ground = ("wall", "door", "bin", "key", "trash")
    letters = "#DBkt"
    others = "o"
    looks: ClassVar = {"D": "B", "B": "D"}
    nouns = ("door", "bin")
    moves: ClassVar[tuple[str, ...]] = (*POINTS, STAY)
    fact_names = (
        "steps left",
        *(f"you hold {thing}" for thing in HELD),
        *(f"other holds {thing}" for thing in HELD),
    )

    def __init__(self, config: TrashKeysConfig) -> None:
        super().__init__(config)
        self.place_seats("walker", WALKERS, ROOMS.strip().split("\n"))
        self.payoff_range = (0.0, float(config.trash))

    def furnish(self) -> None:
        c = self.config
        self.holds: list[str | None] = [None] * WALKERS
        self.binned = 0
        for letter, thing in (("D", "door"), ("B", "bin")):
            self.plane(thing)[self.cells_of(letter)[0]] = 1
        (_, wall), (key,), (trash,) = self.cells_of("D")[0], self.cells_of("K"), self.cells_of("T")
        self.corners = np.zeros(self.chart.shape, dtype=np.uint8)
        for down, across in CORNERS:
            self.corners[self.pad + down, self.pad + across] = 1
        free = self.cells_of(".")
        beside = [cell for cell in free if cell[1] > wall]
        far, near = [*beside, trash], [cell for cell in free if cell[1] < wall] + [key]
        if c.drawn:
            key = near[int(self.rng.integers(len(near)))]
            places = [far[k] for k in self.rng.permutation(len(far))[: c.trash]]
        else:
            places = [trash, *beside][: c.trash]
        self.plane("key")[key] = 1
        for cell in places:
            self.plane("trash")[cell] = 1

    # ---- Play ----------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return super().over or self.binned == self.config.trash

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        before = self.binned
        super().play(moves)
        return dict.fromkeys(self.seats, float(self.binned - before))

    def walk(self, i: int, heading: int) -> None:
        at, door = self.at[i], self.plane("door")
        assert at is not None
        cell = self.next_cell(at, heading)
        if door[cell]:
            if self.holds[i] != "key":
                return
            door[cell], self.holds[i] = 0, None
        super().walk(i, heading)

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        for thing in HELD:
            if self.plane(thing)[cell] and self.holds[i] is None:
                self.plane(thing)[cell] = 0
                self.holds[i] = thing
        if self.plane("bin")[cell] and self.holds[i] == "trash":
            self.holds[i] = None
            self.binned += 1
            paid[i] += 1.0

    # ---- What a seat sees ------------------------------------------------------------------------

    def facts(self, i: int) -> list[int]:
        mine, its = self.holds[i], self.holds[1 - i]
        held = [int(holder == thing) for holder in (mine, its) for thing in HELD]
        return [*super().facts(i), *held]

    @property
    def largest(self) -> list[int]:
        return [*super().largest, *[1] * (2 * len(HELD))]

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Change nothing: all is in sight."""
        return False

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Change nothing: all is in sight."""

    # ---- Prompts -------------------------------------------------------------------------------

    def in_words(self, facts: Mapping[str, int]) -> str:
        mine, its = (
            next((f"the {t}" if t == "key" else t for t in HELD if facts[f"{who} {t}"]), "nothing")
            for who in ("you hold", "other holds")
        )
        return f"{super().in_words(facts)} You hold {mine}, the other {its}."

    def purpose(self) -> str:
        pieces = f"{self.config.trash} piece{'s' * (self.config.trash != 1)} of trash"
        return (
            f"Two walkers bring {pieces} to the bin. Who enters the cell of a key or of trash with "
            "free hands takes it; the key opens the door, once and for all; trash is left in the "
            "bin when its holder enters that."
        )

    def legend(self) -> str:
        said = "{} is the door, {} the bin, {} the key, {} is trash, {} the other walker."
        return said.format(*self.letters[1:], self.others)

    def rules(self, seat: str) -> str:
        return (
            f"{self.title}: two rooms of square cells. {self.purpose()} Both walkers move at once: "
            "north, east, south, west or not at all; a wall, a closed door or another walker stops "
            f"them. The episode has {self.config.steps} steps.\n"
            "Each piece in the bin pays 1 point to both.\n"
            f"In the picture north is up. @ is {seat}, {self.legend()} A dot is free.\n"
            f"You are {seat}."
        )

    def line_of(self, i: int) -> str:
        return f"{super().line_of(i)}, holds {self.holds[i] or 'nothing'}"

    # ---- Experts and outcome ---------------------------------------------------------------------

    def aim(self, i: int) -> str:
        """Go to the next thing of the tree; where there is none, out of the way to a corner."""
        goal = self._next(i)
        goals = self.corners if goal == "wait" else self.plane(goal)
        at = self.at[i]
        assert at is not None
        if goals[at]:
            return STAY
        walls = self.planes[0].copy()
        if goal != "door":
            self.planes[0] |= self.plane("door")
        found = self.toward(i, goals)
        other = self.at[1 - i]
        gives_way = not self.corners[at] if i else other is not None and self.corners[other]
        if found is None and gives_way:
            found = self.toward(i, self.corners)
        self.planes[0] = walls
        return found or STAY

    def _next(self, i: int) -> str:
        """Return what a walker can do next, of key, door, trash and bin; else to wait."""
        if (held := self.holds[i]) is not None:
            return NEXT[held]
        goal = "key" if self.plane("door").any() else "trash"
        return goal if self.plane(goal).any() else "wait"

    def outcome(self) -> dict[str, float]:
        """Return the share of the trash that is in the bin, and the steps."""
        return {"binned": self.binned / self.config.trash, "steps": float(self.step)}


raw_env, env, parallel_env = simultaneous(TrashKeys)
