"""Trash and keys: two walkers fetch a key, open a door, find the trash and bring it to the bin.

Agents        walker_0, walker_1; with `managers` also manager_0 and manager_1
Observation   chat: rules, then what is held and the world around the walker; as numbers, the same
              as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [north], [east], [south], [west] or [stay]; of a manager, one
              of [key], [door], [trash], [bin], those that its walker can do now, or else [wait]
Reward        1 for each seat when trash is in the bin; with `managers` these earn that, and walkers
              1 whenever they reach what they were told
Ends          when all trash is in the bin, or after `steps`
Options       see the arguments
References    mean return by default: random 0.003, experts 1

The key, door and trash world of subgoal learning (GMAH, arXiv 2408.11416), in the small: two rooms
of 2 by 5 cells. A manager names a subgoal of its walker, which stands until it is reached or
`every` steps have passed. Which subgoals can be named follows from the tree key, door, trash, bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies, mostly
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
HELD = ("key", "trash")
GOALS = ("key", "door", "trash", "bin", "wait")


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
    managers: Annotated[bool, Field(strict=True)] = False
    """Whether a manager names subgoals for each walker."""
    every: Annotated[int, whole(1, 1000)] = 12
    """Steps that a subgoal stands at most."""


class TrashKeys(GridWorld[TrashKeysConfig]):
    env_id = "coevo/trash_keys-v0"
    config_class = TrashKeysConfig
    title = "Trash and keys"
    ground = ("wall", "door", "bin", "key", "trash")
    letters = "#DBkt"
    others = "o"
    moves: ClassVar[tuple[str, ...]] = (*POINTS, STAY)
    fact_names = (
        "steps left",
        *(f"you hold {thing}" for thing in HELD),
        *(f"other holds {thing}" for thing in HELD),
        *(f"subgoal {goal}" for goal in GOALS),
    )

    def __init__(self, config: TrashKeysConfig) -> None:
        super().__init__(config)
        self.place_seats("walker", WALKERS, ROOMS.strip().split("\n"))
        self.simultaneous = not config.managers
        self.walkers = self.seats
        self.managers = tuple(f"manager_{i}" for i in range(WALKERS)) if config.managers else ()
        self.seats = (*self.walkers, *self.managers)
        self.payoff_range = (0.0, float(config.steps if config.managers else config.trash))

    def body(self, seat: str) -> int:
        return (self.walkers + self.managers).index(seat) % WALKERS

    def furnish(self) -> None:
        c = self.config
        self.holds: list[str | None] = [None] * WALKERS
        self.subgoals: list[str | None] = [None] * WALKERS
        self.since = [0] * WALKERS
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

    def to_move(self) -> Sequence[str]:
        if self.over:
            return ()
        untold = [m for m, goal in zip(self.managers, self.subgoals, strict=False) if goal is None]
        return tuple(untold) or self.walkers

    def legal(self, seat: str) -> Sequence[str]:
        if seat in self.managers:
            return self._open(self.body(seat))
        return self.moves

    def numbered(self, seat: str) -> Mapping[int, str]:
        every = GOALS if seat in self.managers else self.moves
        return {every.index(move): move for move in self.legal(seat)}

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        if chosen := [m for m in self.managers if m in moves]:
            for manager in chosen:
                i = self.body(manager)
                self.subgoals[i], self.since[i] = moves[manager], self.step
            return dict.fromkeys(self.seats, 0.0)
        before = self.binned
        super().play(moves)
        team = float(self.binned - before)
        if not self.managers:
            return dict.fromkeys(self.seats, team)
        paid = dict.fromkeys(self.managers, team)
        for i, walker in enumerate(self.walkers):
            goal = self.subgoals[i]
            reached = goal is not None and self._reached(i, goal)
            paid[walker] = float(reached)
            if reached or self.step - self.since[i] >= self.config.every:
                self.subgoals[i] = None
        return paid

    def _waiting(self) -> list[int]:
        return []

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

    def _open(self, i: int) -> list[str]:
        """Return the subgoals that a walker can do now: to wait, where there is no other."""
        through, free = not self.plane("door").any(), self.holds[i] is None
        can = {
            "key": free and self.plane("key").any(),
            "door": not through and self.holds[i] == "key",
            "trash": through and free and self.plane("trash").any(),
            "bin": self.holds[i] == "trash",
        }
        return [goal for goal, open_ in can.items() if open_] or ["wait"]

    def _reached(self, i: int, goal: str) -> bool:
        """Return whether a walker has just done a subgoal; waiting is never done."""
        if goal in HELD:
            return self.holds[i] == goal
        if goal == "door":
            return self.holds[i] is None
        return goal == "bin" and self.holds[i] is None

    # ---- What a seat sees ------------------------------------------------------------------------

    def facts(self, i: int) -> list[int]:
        mine, its = self.holds[i], self.holds[1 - i]
        held = [int(holder == thing) for holder in (mine, its) for thing in HELD]
        return [*super().facts(i), *held, *(int(self.subgoals[i] == goal) for goal in GOALS)]

    @property
    def largest(self) -> list[int]:
        return [*super().largest, *[1] * (2 * len(HELD) + len(GOALS))]

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw anew what the other walker was told."""
        j = 1 - self.body(seat)
        if self.subgoals[j] is None or (seat in self.to_move() and seat in self.managers):
            return False
        open_ = self._open(j)
        self.subgoals[j] = open_[int(rng.integers(len(open_)))]
        return len(open_) > 1

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Change nothing: all is in sight."""

    # ---- Prompts -------------------------------------------------------------------------------

    def in_words(self, facts: Mapping[str, int]) -> str:
        mine, its = (
            next((f"the {t}" if t == "key" else t for t in HELD if facts[f"{who} {t}"]), "nothing")
            for who in ("you hold", "other holds")
        )
        goal = next((goal for goal in GOALS if facts[f"subgoal {goal}"]), "")
        said = f" Subgoal: {goal}." if goal else ""
        return f"{super().in_words(facts)} You hold {mine}, the other {its}.{said}"

    def purpose(self) -> str:
        pieces = f"{self.config.trash} piece{'s' * (self.config.trash != 1)} of trash"
        return (
            f"Two walkers bring {pieces} to the bin. Who enters the cell of a key or of trash with "
            "free hands takes it; the key opens the door, once and for all; trash is left in the "
            "bin when its holder enters that."
        )

    def legend(self) -> str:
        return "D is the door, B the bin, k the key, t is trash, o the other walker."

    def rules(self, seat: str) -> str:
        return (
            f"{self.title}: two rooms of square cells. {self.purpose()} Both walkers move at once: "
            "north, east, south, west or not at all; a wall, a closed door or another walker stops "
            f"them. The episode has {self.config.steps} steps.\n{self._role(seat)}\n"
            f"In the picture north is up. @ is {self.walkers[self.body(seat)]}, {self.legend()} A "
            f"dot is free.\nYou are {seat}."
        )

    def _role(self, seat: str) -> str:
        """Return what a seat does and what it is paid for."""
        if not self.managers:
            return "Each piece in the bin pays 1 point to both."
        stands = f"It stands until it is reached, and at most {self.config.every} steps."
        if seat in self.managers:
            return (
                f"You name a subgoal of {self.walkers[self.body(seat)]}. {stands} Each piece in "
                "the bin pays you 1 point."
            )
        return f"You are told a subgoal. {stands} You earn 1 point whenever you reach it."

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, self.legal(seat)))
        return f"{super().situation(seat).rpartition('Legal moves:')[0]}Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        moves = ", ".join(self.legal(seat))
        return f"{super().terse(seat).rpartition('Moves:')[0]}Moves: {moves}. Answer [move]"

    def line_of(self, i: int) -> str:
        if self.seats[i] in self.managers:
            return self.seats[i]
        goal = f", subgoal {self.subgoals[i]}" if self.managers else ""
        return f"{super().line_of(i)}, holds {self.holds[i] or 'nothing'}{goal}"

    # ---- Experts and outcome ---------------------------------------------------------------------

    def aim(self, i: int) -> str:
        """Go to the next thing of the tree; where there is none, out of the way to a corner."""
        goal = self.subgoals[i] or self._next(i)
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
        """Return the subgoal that an expert names."""
        return self._open(i)[-1]

    def expert(self, seat: str, skill: float) -> Replies:
        if seat in self.managers:
            return mostly(self.legal(seat), {self._next(self.body(seat)): 1.0}, skill)
        return super().expert(seat, skill)

    def outcome(self) -> dict[str, float]:
        """Return the share of the trash that is in the bin, and the steps."""
        return {"binned": self.binned / self.config.trash, "steps": float(self.step)}


raw_env, env, parallel_env = simultaneous(TrashKeys)
