"""What grid worlds share: a state in planes, moves, windows, and two views, in text and numbers.

The state is a stack of planes, one per kind of ground and one per heading of seats. A seat sees a
window of it, turned so that its own heading is up, and a few whole numbers (`facts`). `array` gives
the window as numbers, `lines` makes text of these numbers and of nothing else: the two views tell
the same. The inverted skin exchanges letters and words of things (AutoEnv, arXiv 2511.19304): who
has learnt what they mean is disturbed, who reads the rules is not. Coordinates are rows and columns
of the planes, walls around the map included.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies, Task, mostly
from coevo.envs.grids.picture import paint
from coevo.envs.grids.routes import STEPS, Cell, first_step

Planes = NDArray[np.uint8]
Array = NDArray[np.float32]
"""What a seat sees as numbers from 0 to 1."""

HEADINGS = ("north", "east", "south", "west")
COMPASS = np.eye(4, dtype=int).tolist()
"""Facts of each heading."""
ARROWS = "^>v<"
"""Letters of seats by heading."""
POINTS = dict(zip(HEADINGS, range(4), strict=True))
"""Moves to a next cell in worlds without headings."""
WALKS = {"forward": 0, "right": 1, "back": 2, "left": 3}
"""Moves to a next cell, as quarter turns from the own heading; the heading stays."""
TURNS = {"turn left": 3, "turn right": 1}
STAY = "stay"
SELF = "@"


@config
class GridConfig:
    """Arguments that all grid worlds have."""

    steps: Annotated[int, whole(1, 1000)] = 30
    """Length of an episode."""
    ahead: Annotated[int, whole(0, 20)] = 5
    """Cells that a seat sees ahead of it."""
    behind: Annotated[int, whole(0, 20)] = 1
    """Cells that it sees behind."""
    side: Annotated[int, whole(0, 20)] = 3
    """Cells that it sees to each side."""
    skin: Literal["plain", "inverted"] = "plain"
    """Letters and words of things: their own, or those of others; all else is the same."""


G = TypeVar("G", bound=GridConfig)


class GridWorld(Task[G]):
    """A world of seats on a grid that move at once; a world adds what grows there and who is paid.

    A world is a subclass with `ground`, `letters` and `moves`, the hooks `grow` and `aim`, `arrive`
    where a cell pays and `act` for moves that neither walk nor turn.
    """

    config_class = GridConfig
    simultaneous = True
    title: ClassVar[str]
    """Name of the world in prompts."""
    ground: ClassVar[tuple[str, ...]] = ("wall",)
    """Kinds of ground, a plane each; of two on one cell the later is shown."""
    letters: str = "#"
    """A letter for each kind of ground."""
    moves: ClassVar[tuple[str, ...]] = (*WALKS, *TURNS, STAY)
    others: str = ARROWS
    """A letter for each way that another seat is seen; four are headings, and turn the window."""
    looks: ClassVar[Mapping[str, str]] = {}
    """Letter -> the one that stands for the same in the inverted skin."""
    nouns: ClassVar[tuple[str, str] | None] = None
    """Two words for things, without their plural s, that change places in the inverted skin."""
    fact_names: ClassVar[tuple[str, ...]] = (*HEADINGS, "steps left")

    def place_seats(
        self, role: str, number: int, rows: Sequence[str], *, edge: bool = True
    ) -> None:
        """Set what an episode starts from: seats of a role, and the map they live on.

        Args:
            role: of all seats.
            number: of seats.
            rows: the map, see `coevo.envs.grids.maps`.
            edge: whether the world ends in walls.
        """
        self.seats = tuple(f"{role}_{i}" for i in range(number))
        c = self.config
        self.pad = max(c.ahead, c.behind, c.side) if edge else 0
        self.chart = np.pad(np.array([list(row) for row in rows]), self.pad, constant_values="#")
        self.starts = self.cells_of("P")
        self.compass = self.others == ARROWS
        if self.config.skin == "inverted":
            changed = str.maketrans(dict(self.looks))
            self.letters, self.others = (x.translate(changed) for x in (self.letters, self.others))
        kinds, ways = len(self.ground), len(self.others)
        self.order = [
            [*range(kinds), *(kinds + (h + k * self.compass) % ways for h in range(ways))]
            for k in range(ways)
        ]
        """Planes as a seat with each heading sees them."""
        if len(self.starts) < number:
            raise ConfigError(
                f"{number} {role}s need as many places P, the map has {len(self.starts)}"
            )

    def cells_of(self, letter: str) -> list[Cell]:
        """Return the cells of the map with a letter."""
        return [(int(y), int(x)) for y, x in np.argwhere(self.chart == letter)]

    # ---- Play ----------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        number = len(self.seats)
        self.rng, self.step = rng, 0
        kinds = len(self.ground) + len(self.others)
        self.planes: Planes = np.zeros((kinds, *self.chart.shape), dtype=np.uint8)
        self.planes[0] = self.chart == "#"
        self.at: list[Cell | None] = [None] * number
        """Cell of each seat; None while it is out."""
        self.heading = [int(h) for h in rng.integers(4 if self.compass else 1, size=number)]
        self.out = [0] * number
        """Steps that each seat stays out."""
        self.earned = [0.0] * number
        self.paid_at: list[list[int]] = [[] for _ in self.seats]
        self.steps_out = 0
        self._shown: Planes | None = None
        self.furnish()
        for i, k in enumerate(rng.permutation(len(self.starts))[:number]):
            self.put(i, self.starts[k])

    def furnish(self) -> None:
        """Lay what the ground holds at the start."""

    def to_move(self) -> Sequence[str]:
        if self.over:
            return ()
        return tuple(s for s, at in zip(self.seats, self.at, strict=True) if at is not None)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.step >= self.config.steps

    def legal(self, seat: str) -> Sequence[str]:
        return self.moves

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        paid, waiting = [0.0] * len(self.seats), self._waiting()
        for i in self.rng.permutation(len(self.seats)).tolist():
            if (move := moves.get(self.seats[i])) is not None and self.at[i] is not None:
                self._move(i, move, paid)
        self._pass_time(paid, waiting)
        while not self.over and not any(self.at):
            self._pass_time(paid, self._waiting())
        return dict(zip(self.seats, paid, strict=True))

    def _move(self, i: int, move: str, paid: list[float]) -> None:
        if move in WALKS:
            self.walk(i, (self.heading[i] + WALKS[move]) % 4)
        elif move in TURNS:
            self.face(i, (self.heading[i] + TURNS[move]) % 4)
        elif move in POINTS:
            self.walk(i, POINTS[move])
        elif move != STAY:
            self.act(i, move, paid)

    def _waiting(self) -> list[int]:
        return [i for i, at in enumerate(self.at) if at is None]

    def _pass_time(self, paid: list[float], waiting: Sequence[int]) -> None:
        """Let what grows grow, pay the seats for their cells, bring back who has waited enough."""
        before = list(paid)
        self.grow()
        for i, at in enumerate(self.at):
            if at is not None:
                self.arrive(i, at, paid)
        for i, amount in enumerate(paid):
            self.earned[i] += amount - before[i]
            if amount > before[i]:
                self.paid_at[i].append(self.step)
        self.step += 1
        for i in waiting:
            self.steps_out += 1
            self.out[i] -= 1
            if not self.out[i]:
                self._come_back(i)
        self._shown = None

    def _come_back(self, i: int) -> None:
        free = [cell for cell in self.starts if cell not in self.at]
        self.put(i, free[int(self.rng.integers(len(free)))])

    def walk(self, i: int, heading: int) -> None:
        """Move a seat to the next cell in a heading, if neither a wall nor a seat is there."""
        at = self.at[i]
        assert at is not None
        cell = self.next_cell(at, heading)
        if not self.planes[0][cell] and cell not in self.at:
            self.take(i)
            self.put(i, cell)

    def next_cell(self, cell: Cell, heading: int) -> Cell:
        """Return the cell beside a cell."""
        down, across = STEPS[heading]
        return cell[0] + down, cell[1] + across

    def face(self, i: int, heading: int) -> None:
        """Turn a seat."""
        at = self.at[i]
        assert at is not None
        self.take(i)
        self.heading[i] = heading
        self.put(i, at)

    def put(self, i: int, cell: Cell) -> None:
        """Set a seat on a free cell."""
        self.at[i] = cell
        self.planes[len(self.ground) + self.heading[i]][cell] = 1

    def take(self, i: int) -> None:
        """Take a seat off its cell."""
        cell = self.at[i]
        assert cell is not None
        self.planes[len(self.ground) + self.heading[i]][cell] = 0
        self.at[i] = None

    def beam(self, i: int, length: int, width: int) -> list[list[Cell]]:
        """Return the lanes of a beam ahead of a seat, each up to the next wall, nearest first."""
        at, heading = self.at[i], self.heading[i]
        assert at is not None
        (down, across), lanes = STEPS[heading], []
        for k in range(-(width // 2), width // 2 + 1):
            y, x = at[0] + k * STEPS[(heading + 1) % 4][0], at[1] + k * STEPS[(heading + 1) % 4][1]
            lane: list[Cell] = []
            if not k or not self.planes[0][y, x]:
                for n in range(1, length + 1):
                    cell = (y + n * down, x + n * across)
                    if self.planes[0][cell]:
                        break
                    lane.append(cell)
            lanes.append(lane)
        return lanes

    def struck(self, i: int, length: int, width: int) -> list[int]:
        """Return the seats that a beam of a seat meets: the nearest one in each lane."""
        found = []
        for lane in self.beam(i, length, width):
            met = [self.at.index(cell) for cell in lane if cell in self.at]
            found += met[:1]
        return found

    def send_out(self, i: int, steps: int) -> None:
        """Take a seat out of the world for some steps."""
        self.take(i)
        self.out[i] = steps

    def act(self, i: int, move: str, paid: list[float]) -> None:
        """Carry out a move that neither walks nor turns, such as a beam."""

    def grow(self) -> None:
        """Change the ground after the moves."""

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        """Pay a seat for what is on its cell, and take that away."""

    def plane(self, ground: str) -> Planes:
        """Return the plane of a kind of ground."""
        found: Planes = self.planes[self.ground.index(ground)]
        return found

    # ---- What a seat sees ------------------------------------------------------------------------

    @property
    def numbers(self) -> int:  # type: ignore[override]  # the world says how many there are
        return len(self.moves)

    @property
    def array_space(self) -> spaces.Box:
        c = self.config
        kinds = len(self.ground) + len(self.others) + len(self.fact_names)
        return spaces.Box(0, 1, (kinds, c.ahead + c.behind + 1, 2 * c.side + 1), np.float32)

    @property
    def state_space(self) -> spaces.Box:
        rows, columns = (n - 2 * self.pad for n in self.chart.shape)
        kinds = len(self.ground) + len(self.seats) + 1
        return spaces.Box(0, 1, (kinds, rows, columns), np.float32)

    def facts(self, i: int) -> list[int]:
        """Return what a seat knows beside its window, by `fact_names`: whole numbers from 0 on."""
        left = self.config.steps - self.step
        return [*COMPASS[self.heading[i]], left] if self.compass else [left]

    @property
    def largest(self) -> list[int]:
        """The largest number of each fact, by which arrays divide it."""
        return [1, 1, 1, 1, self.config.steps] if self.compass else [self.config.steps]

    def array(self, seat: str) -> Array:
        """Return planes of ground, of others by heading as the seat sees it, and of facts."""
        i = self.seats.index(seat)
        c, facts = self.config, self.facts(i)
        ground, kinds = len(self.ground), len(self.ground) + len(self.others)
        shape = (kinds + len(facts), c.ahead + c.behind + 1, 2 * c.side + 1)
        seen = np.zeros(shape, dtype=np.float32)
        if self.at[i] is not None:
            seen[:kinds] = self.window(i, self.shown)[self.order[self.heading[i]]]
            seen[ground:kinds, c.ahead, c.side] = 0  # itself
        seen[kinds:] = np.divide(facts, self.largest)[:, None, None]
        return seen

    def window(self, i: int, planes: NDArray[Any]) -> NDArray[Any]:
        """Return what planes hold around a seat, turned so that its heading is up."""
        (y, x), c = self.at[i] or (0, 0), self.config
        a, b, s = c.ahead, c.behind, c.side
        h = self.heading[i] if self.compass else 0
        up, down, left, right = ((a, b, s, s), (s, s, b, a), (b, a, s, s), (s, s, a, b))[h]
        return turned(planes[:, y - up : y + down + 1, x - left : x + right + 1], h)

    @property
    def shown(self) -> Planes:
        """The planes as they are seen: of all that is on a cell only the uppermost."""
        if self._shown is None:
            kinds = len(self.ground)
            self._shown = self.planes.copy()
            for cell in self.at:
                if cell is not None:
                    self._shown[:kinds, cell[0], cell[1]] = 0
            for k in range(2, kinds):
                self._shown[1:k, self._shown[k] > 0] = 0
        return self._shown

    def state_array(self) -> Array:
        """Return planes of the whole map: ground, a plane per seat with its heading, steps left."""
        inner = np.s_[self.pad : -self.pad or None, self.pad : -self.pad or None]
        seats = np.zeros((len(self.seats) + 1, *self.chart.shape), dtype=np.float32)
        for i, cell in enumerate(self.at):
            if cell is not None:
                seats[i][cell] = (1 + self.heading[i]) / len(self.others)
        seats[-1] = 1 - self.step / self.config.steps
        return np.concatenate([self.planes[: len(self.ground)], seats])[:, inner[0], inner[1]]

    def lines(self, array: Array) -> list[str]:
        """Return the window of an array as rows of letters; the seat is in it, facing up."""
        letters = np.full(array.shape[1:], ord("."), dtype=np.uint8)
        for k, letter in enumerate((self.letters + self.others).encode("ascii")):
            letters[array[k] > 0] = letter
        letters[self.config.ahead, self.config.side] = ord(SELF)
        return [row.tobytes().decode("ascii") for row in letters]

    def encoded(self, lines: Sequence[str], facts: Mapping[str, int]) -> Array:
        """Return the array that rows of letters and facts stand for, the inverse of `lines`."""
        kinds = len(self.letters) + len(self.others)
        letters = np.array([list(line) for line in lines])
        made = np.empty(self.array_space.shape, dtype=np.float32)
        for k, letter in enumerate(self.letters + self.others):
            made[k] = letters == letter
        known = [facts[name] for name in self.fact_names]
        made[kinds:] = np.divide(known, self.largest)[:, None, None]
        return made

    def facts_in(self, array: Array) -> dict[str, int]:
        """Return the facts of an array."""
        first = len(self.ground) + len(self.others)
        values = array[first:, 0, 0] * self.largest
        return dict(zip(self.fact_names, map(round, values.tolist()), strict=True))

    def nearest(self, array: Array, most: int = 2) -> dict[str, list[Cell]]:
        """Return the nearest things in a window by kind, as rows down and columns to the right."""
        c, found = self.config, dict[str, list[Cell]]()
        kinds = [*self.ground, *("other" for _ in self.others)]
        for k, y, x in np.argwhere(array[1 : len(kinds)]).tolist():
            found.setdefault(kinds[k + 1], []).append((y - c.ahead, x - c.side))
        return {
            kind: sorted(places, key=lambda p: (abs(p[0]) + abs(p[1]), p))[:most]
            for kind, places in found.items()
        }

    # ---- Prompts -------------------------------------------------------------------------------

    @abstractmethod
    def purpose(self) -> str:
        """Return the rules of this world, which follow on what all grid worlds say."""

    @abstractmethod
    def legend(self) -> str:
        """Return what the letters of the ground mean."""

    def worded(self, text: str) -> str:
        if self.nouns is None or self.config.skin == "plain":
            return text
        return exchanged(text, *self.nouns)

    def rules(self, seat: str) -> str:
        walking = (
            f"All {len(self.seats)} move at once: forward, back, left and right go to the next "
            "cell and keep your heading; a wall or another stops you."
        )
        c = self.config
        return (
            f"{self.title}: a world of square cells. {self.purpose()} {walking} The episode has "
            f"{c.steps} steps.\n"
            f"You see {c.ahead} cells ahead, {c.behind} behind and {c.side} to each side. In the "
            f"picture ahead is up. {SELF} is you, {self.legend()} ^ > v < are others: ^ faces as "
            f"you do, v faces towards you, > to your right, < to your left. A dot is free.\n"
            f"You are {seat}."
        )

    def situation(self, seat: str) -> str:
        array = self.array(seat)
        facts = self.facts_in(array)
        window = "\n".join(" ".join(line) for line in self.lines(array))
        moves = ", ".join(map(answer, self.moves))
        return (
            f"{self.in_words(facts)}\n{window}\nNear you: {self.near(array)}.\nLegal moves: {moves}"
        )

    def in_words(self, facts: Mapping[str, int]) -> str:
        """Return the facts as sentences."""
        left = facts["steps left"]
        said = f"{left} step{'s' * (left != 1)} left."
        if not self.compass:
            return said
        return f"You face {next(name for name in HEADINGS if facts[name])}. {said}"

    def near(self, array: Array, most: int = 2) -> str:
        """Return the nearest things in words."""
        found, names = self.nearest(array, most), SIDES if self.compass else POINTS
        said = [
            f"{kind} {'; '.join(where(p, names) for p in places)}" for kind, places in found.items()
        ]
        return ", ".join(said) or "nothing"

    def terse(self, seat: str) -> str:
        array = self.array(seat)
        moves = ", ".join(self.moves)
        return (
            f"{self.title}. {self.in_words(self.facts_in(array))} Near: {self.near(array)}. "
            f"Moves: {moves}. Answer [move]"
        )

    def draw(self) -> str:
        inner = slice(self.pad, -self.pad or None)
        letters = np.full(self.chart.shape, ".")
        for k, letter in enumerate(self.letters + self.others):
            letters[self.planes[k] > 0] = letter
        rows = [" ".join(row) for row in letters[inner, inner]]
        return "\n".join([*rows, f"step {self.step}", *map(self.line_of, range(len(self.seats)))])

    def line_of(self, i: int) -> str:
        """Return where a seat is and what it has earned."""
        cell, points = self.at[i], f"points {self.earned[i]:g}"
        if cell is None:
            return f"{self.seats[i]}: out, {points}"
        y, x = cell[0] - self.pad, cell[1] - self.pad
        faces = f"faces {HEADINGS[self.heading[i]]}, " if self.compass else ""
        return f"{self.seats[i]}: row {y}, column {x}, {faces}{points}"

    def image(self) -> NDArray[np.uint8]:
        inner = slice(self.pad, -self.pad or None)
        ground = self.planes[: len(self.ground), inner, inner]
        seats = [
            (i, (cell[0] - self.pad, cell[1] - self.pad), self.heading[i] if self.compass else None)
            for i, cell in enumerate(self.at)
            if cell is not None
        ]
        return paint(self.ground, ground, seats)

    # ---- Experts, information, outcome -----------------------------------------------------------

    @abstractmethod
    def aim(self, i: int) -> str:
        """Return the expert's move for a seat, from the whole state."""

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the move that the world's expert aims at, mostly."""
        return mostly(self.moves, {self.aim(self.seats.index(seat)): 1.0}, skill)

    def toward(self, i: int, goals: Planes) -> str | None:
        """Return the walk on a shortest way to the nearest goal; None where there is none."""
        at = self.at[i]
        assert at is not None
        heading = first_step(self.planes[0], at, goals, {c for c in self.at if c is not None})
        if heading is None:
            return None
        if not self.compass:
            return HEADINGS[heading]
        return next(move for move, k in WALKS.items() if (self.heading[i] + k) % 4 == heading)

    def info(self, seat: str) -> dict[str, Any]:
        array = self.array(seat)
        return {"window": self.lines(array), "facts": self.facts_in(array)}

    def worst_left(self, seat: str, earned: float) -> float:
        return self.payoff_range[0] * (1 - self.step / self.config.steps)

    def outcome(self) -> dict[str, float]:
        """Return efficiency, equality, sustainability and peace (arXiv 2603.19453).

        U = sum R_i / T, E = 1 - sum_ij |R_i - R_j| / (2 N sum R_i) if the sum is positive, S = mean
        step at which a seat was paid, over seats, P = N less the seats that are out on average.
        """
        returns, number, steps = np.array(self.earned), len(self.seats), max(self.step, 1)
        total = float(returns.sum())
        found = {"efficiency": total / steps, "peace": number - self.steps_out / steps}
        if total > 0:
            gaps = np.abs(returns[:, None] - returns[None, :]).sum()
            found["equality"] = float(1 - gaps / (2 * number * total))
        if paid := [float(np.mean(at)) for at in self.paid_at if at]:
            found["sustainability"] = float(np.mean(paid))
        return found

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw anew what lies outside the window of a seat, and who is there."""
        i = self.seats.index(seat)
        unseen = self.unseen(i)
        for j, cell in enumerate(self.at):
            if j != i and cell is not None and unseen[cell]:
                self.take(j)
                free = np.argwhere(unseen & ~self.planes[0].astype(bool) & ~self.taken())
                y, x = free[int(rng.integers(len(free)))]
                self.heading[j] = int(rng.integers(len(self.others)))
                self.put(j, (int(y), int(x)))
        self.scatter(i, unseen, rng)
        self._shown = None
        return True

    def taken(self) -> NDArray[np.bool_]:
        """Return which cells a seat stands on."""
        found: NDArray[np.bool_] = np.any(self.planes[len(self.ground) :], axis=0)
        return found

    def unseen(self, i: int) -> NDArray[np.bool_]:
        """Return which cells a seat does not see."""
        numbers = np.arange(self.chart.size).reshape(1, *self.chart.shape)
        found = np.ones(self.chart.size, dtype=bool)
        found[self.window(i, numbers).ravel()] = False
        return found.reshape(self.chart.shape)

    @abstractmethod
    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Draw anew the ground of the cells that a seat does not see."""


def turned(planes: NDArray[Any], quarters: int) -> NDArray[Any]:
    """Return planes with their rows and columns turned to the left; as `np.rot90`, in less time.

    >>> turned(np.array([[[1, 2], [3, 4]]]), 1).tolist()
    [[[2, 4], [1, 3]]]
    """
    if quarters == 2:
        return planes[:, ::-1, ::-1]
    if quarters == 1:
        return planes[:, :, ::-1].transpose(0, 2, 1)
    return planes.transpose(0, 2, 1)[:, :, ::-1] if quarters else planes


def exchanged(text: str, one: str, other: str) -> str:
    """Return a text in which two words for things have changed places.

    >>> exchanged("Walls stop you; an apple pays.", "wall", "apple")
    'Apples stop you; a wall pays.'
    """

    def turned_round(found: re.Match[str]) -> str:
        article, word = found["article"] or "", found["word"]
        new = other if word.lower() == one else one
        if article:
            article = article[0] + "n" * (new[0] in "aeiou") + " "
        return article + (new.capitalize() if word[0].isupper() else new)

    pattern = rf"\b(?P<article>[Aa]n? )?(?P<word>{one}|{other})(?=s?\b)"
    return re.sub(pattern, turned_round, text, flags=re.IGNORECASE)


SIDES = ("ahead", "right", "behind", "left")


def where(place: Cell, names: Iterable[str] = SIDES) -> str:
    """Return in words where a thing is: rows down, columns to the right.

    Args:
        place: the thing, from the seat.
        names: of the four directions, up first and then clockwise.

    >>> where((-2, -1)), where((1, 0), HEADINGS), where((0, 0))
    ('2 ahead 1 left', '1 south', 'here')
    """
    up, right, down, left = names
    y, x = place
    said = [f"{abs(y)} {down if y > 0 else up}"] if y else []
    said += [f"{abs(x)} {right if x > 0 else left}"] if x else []
    return " ".join(said) or "here"
