"""Quest: find objects in a house of rooms and bring each where it belongs.

Agents        explorer_0
Observation   chat: the rules, then the room, its doors, what lies there, what is carried, the
              errand, the turns left; as numbers, the same (`coevo.envs.bridges.vector`)
Action        text ending in e.g. [go north], [take lamp] or [put lamp]
Reward        1 when the last errand is done, or a share for each (`reward`)
Ends          with the last errand, or after `cap` times the turns of the shortest way
Options       rooms, objects and steps, the three sizes of a TextWorld quest; cap, reward; a reset
              takes `errands`, such as [[lamp, kitchen]]
References    payoff by default: random 0.02, a shortest way 1

Rooms, objects and errands can be varied one at a time, as in studies of agents over many turns
(arXiv 2510.01132), and the shortest way is known, so that success can be plotted against the turns
allowed: the shortest errand by errand, without carrying what a later errand asks for along the way.
One object can be carried at a time. The explorer sees its room alone; experts know the house. The
outcome has the shortest way and how many errands were done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies, Task, mostly
from coevo.envs.grids.picture import paint
from coevo.envs.grids.routes import STEPS, first_step, path_length
from coevo.envs.grids.world import HEADINGS

EXPLORER = "explorer_0"
ROOMS = ("hall", "kitchen", "cellar", "attic", "library", "garden", "studio", "pantry", "bedroom",
         "office", "garage", "chapel", "gallery", "stable", "tower", "workshop")  # fmt: skip
OBJECTS = ("lamp", "key", "book", "cup", "rope", "hat", "coin", "map", "bell", "ring", "brush",
           "shoe", "drum", "flute", "vase", "clock")  # fmt: skip
MORE_DOORS = 0.2
"""Chance of a door that the house would hold together without."""


@config
class QuestConfig:
    rooms: Annotated[int, whole(2, 16)] = 4
    """Rooms of the house."""
    objects: Annotated[int, whole(1, 16)] = 3
    """Objects that lie about."""
    steps: Annotated[int, whole(1, 16)] = 2
    """Errands, one after the other."""
    cap: Annotated[float, real(1, 100)] = 3.0
    """Turns allowed, times those of the shortest way."""
    reward: Literal["end", "step"] = "end"
    """Whether the end alone is paid, or each errand with an equal share."""

    def __post_init__(self) -> None:
        if self.steps > self.objects:
            raise ConfigError(f"steps={self.steps} must be at most objects={self.objects}")


class Quest(Task[QuestConfig]):
    env_id = "coevo/quest-v0"
    config_class = QuestConfig
    seats = (EXPLORER,)
    payoff_range = (0.0, 1.0)

    def __init__(self, config: QuestConfig) -> None:
        super().__init__(config)
        self.objects = OBJECTS[: config.objects]
        self.words = [
            *(f"go {heading}" for heading in HEADINGS),
            *(f"{verb} {thing}" for verb in ("take", "put") for thing in self.objects),
        ]
        self.numbers = len(self.words)

    # ---- The house -----------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        c = self.config
        self.walls, cells = _walls_and_rooms(c.rooms, rng)
        names = [ROOMS[k] for k in rng.permutation(len(ROOMS))[: c.rooms]]
        self.rooms = dict(zip(cells, names, strict=True))
        self.here = cells[int(rng.integers(c.rooms))]
        self.place: dict[str, tuple[int, int] | None] = {
            thing: cells[int(rng.integers(c.rooms))] for thing in self.objects
        }
        self.errands = []
        for k in rng.permutation(c.objects)[: c.steps]:
            thing = self.objects[k]
            others = [cell for cell in cells if cell != self.place[thing]]
            self.errands.append((thing, others[int(rng.integers(len(others)))]))
        self.errands = self._given(options) or self.errands
        self.began, self.laid = dict(self.place), dict[str, tuple[int, int]]()
        self.carried: str | None = None
        self.done, self.turn = 0, 0
        self.shortest = self._shortest()
        self.limit = math.ceil(c.cap * self.shortest)

    def _given(self, options: Mapping[str, Any]) -> list[tuple[str, tuple[int, int]]]:
        """Return the errands of the option `errands`, pairs of an object and a room."""
        cells = {name: cell for cell, name in self.rooms.items()}
        errands, found = options.get("errands", ()), []
        for pair in errands if isinstance(errands, Sequence) else [errands]:
            known = isinstance(pair, Sequence) and len(pair) == 2
            if not known or pair[0] not in self.objects or pair[1] not in list(cells):
                raise ConfigError(
                    f"errands={errands!r}: {pair!r} must be one of "
                    f"{', '.join(self.objects)} and one of {', '.join(cells)}, as a pair"
                )
            found.append((pair[0], cells[pair[1]]))
        return found

    def _shortest(self) -> int:
        """Return the turns of the shortest way to every errand in turn."""
        at, turns = self.here, 0
        for thing, room in self.errands:
            lies = self.place[thing]
            assert lies is not None
            turns += self._doors(at, lies) + 1 + self._doors(lies, room) + 1
            at = room
        return turns

    def _doors(self, start: tuple[int, int], end: tuple[int, int]) -> int:
        """Return how many rooms one goes on from a room to another; a room is two cells apart."""
        return (path_length(self.walls, start, self._only(end)) or 0) // 2

    def _only(self, cell: tuple[int, int]) -> NDArray[np.uint8]:
        goal = np.zeros_like(self.walls)
        goal[cell] = 1
        return goal

    @property
    def over(self) -> bool:
        """Whether all errands are done, or the turns are used up."""
        return self.done == len(self.errands) or self.turn >= self.limit

    def to_move(self) -> Sequence[str]:
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        return [*self.numbered(seat).values()]

    def numbered(self, seat: str) -> Mapping[int, str]:
        fits = [
            *(bool(not self.walls[self._beyond(h, 1)]) for h in range(4)),
            *(self.carried is None and self.place[thing] == self.here for thing in self.objects),
            *(self.carried == thing for thing in self.objects),
        ]
        return {k: word for k, (word, fit) in enumerate(zip(self.words, fits, strict=True)) if fit}

    def _beyond(self, heading: int, cells: int) -> tuple[int, int]:
        down, across = STEPS[heading]
        return self.here[0] + cells * down, self.here[1] + cells * across

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        verb, _, what = moves[EXPLORER].partition(" ")
        self.turn += 1
        if verb == "go":
            self.here = self._beyond(HEADINGS.index(what), 2)
        elif verb == "take":
            self.carried, self.place[what] = what, None
        else:
            self.carried, self.place[what] = None, self.here
            self.laid.pop(what, None)
            self.laid[what] = self.here
            if (what, self.here) == self.errands[self.done]:
                self.done += 1
                return {EXPLORER: self._worth()}
        return {}

    def _worth(self) -> float:
        """Return what the errand that was just done is worth."""
        if self.config.reward == "step":
            return 1 / len(self.errands)
        return float(self.done == len(self.errands))

    def worst_left(self, seat: str, earned: float) -> float:
        return 0.0

    def aim(self) -> str:
        """Return the next turn of a shortest way to the errand."""
        thing, room = self.errands[self.done]
        lies = self.place[thing]
        if self.carried == thing:
            return f"put {thing}" if self.here == room else self._toward(room)
        if self.carried is not None:
            return f"put {self.carried}"
        return f"take {thing}" if lies == self.here else self._toward(lies or room)

    def _toward(self, cell: tuple[int, int]) -> str:
        return f"go {HEADINGS[first_step(self.walls, self.here, self._only(cell)) or 0]}"

    def expert(self, seat: str, skill: float) -> Replies:
        return mostly(self.legal(seat), {self.aim(): 1.0}, skill)

    def outcome(self) -> dict[str, float]:
        """Return the turns of the shortest way and of this one, and how many errands were done."""
        return {
            "shortest": float(self.shortest),
            "turns": float(self.turn),
            "done": float(self.done),
        }

    def achieved(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return as errands what was laid down last, elsewhere than it was; at most `steps`."""
        moved = {t: cell for t, cell in self.laid.items() if cell != self.began[t]}
        errands = [[thing, self.rooms[cell]] for thing, cell in moved.items()]
        return {"errands": errands[-self.config.steps :]} if errands else {}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Lay the objects that are not in this room into other rooms."""
        others = [cell for cell in self.rooms if cell != self.here]
        for thing, lies in self.place.items():
            if lies is not None and lies != self.here:
                self.place[thing] = others[int(rng.integers(len(others)))]
        return len(others) > 1 or None in self.place.values()

    # ---- What the explorer sees ------------------------------------------------------------------

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0, 1, (2 * len(ROOMS) + 4 + 3 * len(self.objects) + 2,), np.float32)

    def array(self, seat: str) -> NDArray[np.float32]:
        """Return the room, its doors, what lies here, is carried or wanted, where, the turns."""
        if self.over:
            return self.no_array()
        thing, room = self.errands[self.done]
        known = [
            *(self.rooms[self.here] == name for name in ROOMS),
            *(not self.walls[self._beyond(h, 1)] for h in range(4)),
            *(self.place[t] == self.here for t in self.objects),
            *(self.carried == t for t in self.objects),
            *(thing == t for t in self.objects),
            *(self.rooms[room] == name for name in ROOMS),
            1 - self.done / len(self.errands),
            1 - self.turn / self.limit,
        ]
        return np.array(known, dtype=np.float32)

    def info(self, seat: str) -> dict[str, Any]:
        thing, room = self.errands[self.done]
        return {
            "room": self.rooms[self.here],
            "here": [t for t in self.objects if self.place[t] == self.here],
            "carried": self.carried,
            "errand": [thing, self.rooms[room]],
            "turns_left": self.limit - self.turn,
        }

    def rules(self, seat: str) -> str:
        paid = "when the last one is done" if self.config.reward == "end" else "shared by them"
        return (
            f"A house of {self.config.rooms} rooms, in which objects lie about. You are "
            f"{EXPLORER} and do {len(self.errands)} errands, one after the other: find an object "
            "and put it down in the room where it belongs. You carry one object at a time. You get "
            f"1 point, {paid}; you have {self.limit} turns."
        )

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, self.legal(seat)))
        return f"{self._in_words()} {self.limit - self.turn} turns left.\nLegal moves: {moves}"

    def _in_words(self) -> str:
        thing, room = self.errands[self.done]
        doors = [h for k, h in enumerate(HEADINGS) if not self.walls[self._beyond(k, 1)]]
        lying = [t for t in self.objects if self.place[t] == self.here]
        return (
            f"You are in the {self.rooms[self.here]}. Doors: {', '.join(doors)}. Here: "
            f"{', '.join(lying) or 'nothing'}. You carry {self.carried or 'nothing'}. Errand "
            f"{self.done + 1} of {len(self.errands)}: put the {thing} down in the "
            f"{self.rooms[room]}."
        )

    def terse(self, seat: str) -> str:
        moves = ", ".join(self.legal(seat))
        return f"{self._in_words()} {self.limit - self.turn} left. Moves: {moves}. Answer [move]"

    def draw(self) -> str:
        letters = np.where(self.walls, "#", ".")
        for lying in self.place.values():
            if lying is not None:
                letters[lying] = "*"
        rows = [" ".join(row) for row in letters]
        lies = [
            f"{name}: {', '.join(t for t in self.objects if self.place[t] == cell) or 'empty'}"
            for cell, name in self.rooms.items()
        ]
        wanted = [f"{thing} to {self.rooms[room]}" for thing, room in self.errands]
        y, x = self.here
        explorer = f"{EXPLORER}: row {y}, column {x}, carries {self.carried or 'nothing'}"
        state = f"errands: {'; '.join(wanted)}; done {self.done}; turn {self.turn}"
        return "\n".join([*rows, explorer, *lies, state])

    def image(self) -> NDArray[np.uint8]:
        things = np.zeros_like(self.walls)
        for lies in self.place.values():
            if lies is not None:
                things[lies] = 1
        return paint(("wall", "key"), np.stack([self.walls, things]), [(0, self.here, None)])


def _walls_and_rooms(
    rooms: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], list[tuple[int, int]]]:
    """Return walls and the cells of rooms: a random tree of doors, and some more."""
    side = math.ceil(math.sqrt(rooms))
    walls = np.ones((2 * math.ceil(rooms / side) + 1, 2 * side + 1), dtype=np.uint8)
    cells = [(2 * (k // side) + 1, 2 * (k % side) + 1) for k in range(rooms)]
    joined = {cells[0]}
    walls[cells[0]] = 0
    while len(joined) < rooms:
        edges = [(a, b) for a in sorted(joined) for b in _beside(a, cells) if b not in joined]
        a, b = edges[int(rng.integers(len(edges)))]
        walls[(a[0] + b[0]) // 2, (a[1] + b[1]) // 2] = walls[b] = 0
        joined.add(b)
    for a in cells:
        for b in _beside(a, cells):
            if rng.random() < MORE_DOORS / 2:  # each pair is met twice
                walls[(a[0] + b[0]) // 2, (a[1] + b[1]) // 2] = 0
    return walls, cells


def _beside(cell: tuple[int, int], cells: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found = ((cell[0] + 2 * down, cell[1] + 2 * across) for down, across in STEPS)
    return [other for other in found if other in cells]


raw_env, env = turn_based(Quest)
