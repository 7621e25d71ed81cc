"""Mazes for two walkers, built by a designer: PAIRED's levels as text and as arrays.

Agents        designer_0; protagonist_0, antagonist_0, each alone in a copy of the maze
Observation   chat: the rules, then for the designer what it has built, for a walker its heading,
              the steps left and a window of the maze; as numbers, the same
              (`coevo.envs.bridges.arrays`)
Action        designer: text ending in a cell, e.g. [c2], or in [nothing]; walker: in [forward],
              [turn left] or [turn right]
Reward        walker: 1 - 0.9 t / T when it reaches the goal at step t of T, else 0; designer: 0 by
              the rules (the reward module `regret` pays it what one walker has over the other)
Ends          when both walkers are at the goal, or after `steps` of theirs
Options       see the arguments; level: a maze of one's own, or rooms, labyrinth, zigzag, empty, in
              which the designer has nothing to do
References    mean payoff of a seat by default: random 0.086, experts 0.467

Dennis et al. (arXiv 2012.02096), in the small: there 13 by 13 cells, 50 walls and 250 steps. The
designer places first the goal, then the walkers, then walls; a cell that is taken stays as it is,
and if it is the walkers', another is drawn. Expert walkers take a shortest way, expert designers
put goal and walkers into opposite corners and build no wall. The outcome has the shortest path (0
where there is none) and the number of walls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies, mostly
from coevo.envs.grids.maps import MAZES, rows_of
from coevo.envs.grids.routes import first_step, path_length
from coevo.envs.grids.world import TURNS, Array, Cell, GridConfig, GridWorld

DESIGNER, WALKERS = "designer_0", ("protagonist_0", "antagonist_0")
NOTHING, FORWARD = "nothing", "forward"
LOSS = 0.9
"""Share of the reward that a walker who arrives with the last step loses."""


@config
class MazePairedConfig(GridConfig):
    ahead: Annotated[int, whole(1, 20)] = 2
    """Cells that a walker sees ahead of it."""
    behind: Annotated[int, whole(0, 20)] = 0
    """Cells that it sees behind."""
    side: Annotated[int, whole(0, 20)] = 1
    """Cells that it sees to each side."""
    size: Annotated[int, whole(2, 20)] = 5
    """Cells along a side, without the walls around."""
    walls: Annotated[int, whole(0, 200)] = 8
    """Walls that the designer may place."""
    level: str = ""
    """A maze in which P is the start and G the goal: its rows, or the name of one; empty for the
    designer's."""


class MazePaired(GridWorld[MazePairedConfig]):
    env_id = "coevo/maze_paired-v0"
    config_class = MazePairedConfig
    simultaneous = False
    title = "Maze"
    ground = ("wall", "goal")
    letters = "#G"
    looks: ClassVar = {"#": "G", "G": "#"}
    nouns = ("wall", "goal")
    moves: ClassVar[tuple[str, ...]] = (FORWARD, *TURNS)
    payoff_range = (0.0, 1.0)

    def __init__(self, config: MazePairedConfig) -> None:
        super().__init__(config)
        n = config.size
        empty = ["#" * (n + 2), *["#" + "P" * n + "#"] * n, "#" * (n + 2)]
        rows = rows_of(config.level, MAZES, "#.PG") if config.level else empty
        self.place_seats("walker", 1, rows)
        if config.level and sum(row.count("G") for row in rows) != 1:
            raise ConfigError(f"level={config.level!r} must have one goal, the letter G")
        self.seats = (DESIGNER, *WALKERS)
        self.inner = [(int(y), int(x)) for y, x in np.argwhere(self.chart != "#")]
        """Cells inside of the maze, row by row."""
        self.names = {self.name(cell): cell for cell in self.inner}
        self.items = 2 + config.walls
        rows_, columns = (k - 2 * self.pad for k in self.chart.shape)
        self.array_shape = (
            len(self.ground) + 1 + len(self.fact_names) + 1,
            max(rows_, n + 2, config.ahead + config.behind + 1),
            max(columns, n + 2, 2 * config.side + 1),
        )
        """Of `array`; a level that is not larger than `size` has that of the designer's."""

    def name(self, cell: Cell) -> str:
        """Return what a cell is called: a letter for its column, a number for its row."""
        return f"{chr(ord('a') + cell[1] - self.pad - 1)}{cell[0] - self.pad}"

    # ---- Play ----------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.start: Cell | None = None
        self.goal: Cell | None = None
        self.placed = 0
        super().reset(rng, options)
        self.at = [None] * 3
        self.planes[len(self.ground) :] = 0
        if self.config.level:
            self.placed = self.items
            self.goal = self.cells_of("G")[0]
            self.plane("goal")[self.goal] = 1
            self.start = self.starts[0]
            self._begin()

    def _begin(self) -> None:
        """Let both walkers stand at the start, with one heading."""
        heading = int(self.rng.integers(4))
        for i in (1, 2):
            self.heading[i], self.at[i] = heading, self.start
        self.length = path_length(self.planes[0], self.start or (0, 0), self.plane("goal"))

    def to_move(self) -> Sequence[str]:
        if self.placed < self.items:
            return (DESIGNER,)
        return () if self.over else tuple(s for i, s in enumerate(self.seats) if self.at[i])

    @property
    def over(self) -> bool:
        return self.placed >= self.items and (self.step >= self.config.steps or not any(self.at))

    def legal(self, seat: str) -> Sequence[str]:
        return self.moves if seat != DESIGNER else [*self.names, NOTHING]

    @property
    def numbers(self) -> int:  # type: ignore[override]  # a cell each, or a walker's moves
        return max(len(self.names) + 1, len(self.moves))

    def numbered(self, seat: str) -> Mapping[int, str]:
        return dict(enumerate(self.legal(seat)))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        self._shown = None
        if DESIGNER in moves:
            self._place(moves[DESIGNER])
            return {}
        self.step += 1
        paid: dict[str, float] = {}
        for seat, move in moves.items():
            i = self.seats.index(seat)
            if move in TURNS:
                self.heading[i] = (self.heading[i] + TURNS[move]) % 4
                continue
            cell = self.next_cell(self.at[i] or (0, 0), self.heading[i])
            if not self.planes[0][cell]:
                self.at[i] = cell
            if cell == self.goal:
                self.at[i] = None
                paid[seat] = 1 - LOSS * self.step / self.config.steps
                self.earned[i] += paid[seat]
        return paid

    def _place(self, said: str) -> None:
        """Place the goal, the walkers, then walls; draw the first two where the cell is none."""
        cell, turn = self.names.get(said), self.placed
        taken = (self.goal, self.start)
        if turn < 2 and (cell is None or cell in taken):
            free = [c for c in self.inner if c not in taken]
            cell = free[int(self.rng.integers(len(free)))]
        if turn == 0 and cell is not None:
            self.goal = cell
            self.plane("goal")[cell] = 1
        elif turn == 1:
            self.start = cell
        elif cell is not None and cell not in taken:
            self.planes[0][cell] = 1
        self.placed += 1
        if self.placed == self.items:
            self._begin()

    @property
    def walls(self) -> int:
        """Walls inside of the maze."""
        return sum(int(self.planes[0][cell]) for cell in self.inner)

    def worst_left(self, seat: str, earned: float) -> float:
        return 0.0

    # ---- What a seat sees ------------------------------------------------------------------------

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0, 1, self.array_shape, np.float32)

    @property
    def state_space(self) -> spaces.Box:
        rows, columns = (n - 2 * self.pad for n in self.chart.shape)
        return spaces.Box(0, 1, (len(self.ground) + 3, rows, columns), np.float32)

    def array(self, seat: str) -> Array:
        """Return walls, goal and start, then facts and whether this is the designer.

        A walker's window is in the first rows and columns; the rest of its planes is empty.
        """
        i, made = self.seats.index(seat), np.zeros(self.array_shape, dtype=np.float32)
        if i == 0:
            inner = slice(self.pad, -self.pad or None)
            whole_map = self.planes[: len(self.ground), inner, inner]
            made[: len(self.ground), : whole_map.shape[1], : whole_map.shape[2]] = whole_map
            if self.start is not None:
                made[2, self.start[0] - self.pad, self.start[1] - self.pad] = 1
            made[-2] = 1 - self.placed / self.items
            made[-1] = 1
        elif self.at[i] is not None:
            window = self.window(i, self.planes[: len(self.ground)])
            made[: len(self.ground), : window.shape[1], : window.shape[2]] = window
            made[3:-1] = np.divide(self.facts(i), self.largest)[:, None, None]
        return made

    def picture_of(self, seat: str) -> list[str]:
        """Return the rows of letters that a seat sees, from its array."""
        array, c = self.array(seat), self.config
        letters = np.full(array.shape[1:], ".")
        for k, letter in enumerate(f"{self.letters}P"):
            letters[array[k] > 0] = letter
        if seat != DESIGNER:
            letters = letters[: c.ahead + c.behind + 1, : 2 * c.side + 1]
            letters[c.ahead, c.side] = "@"
        return ["".join(row) for row in letters]

    def state_array(self) -> Array:
        inner = slice(self.pad, -self.pad or None)
        seats = np.zeros((3, *self.chart.shape), dtype=np.float32)
        for i, cell in enumerate(self.at):
            if cell is not None:
                seats[i][cell] = (1 + self.heading[i]) / 4
        made: Array = np.concatenate([self.planes[: len(self.ground)], seats])[:, inner, inner]
        return made

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the walls anew that a walker does not see, and where the other one is."""
        i = self.seats.index(seat)
        if i == 0:
            return False
        unseen = self.unseen(i)
        for cell in self.inner:
            if unseen[cell] and not self.plane("goal")[cell]:
                self.planes[0][cell] = int(rng.integers(2))
        if self.at[3 - i] is not None:
            self.at[3 - i] = self.inner[int(rng.integers(len(self.inner)))]
        return True

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Is not asked: `hide` does it all."""

    # ---- Expert and outcome ----------------------------------------------------------------------

    def expert(self, seat: str, skill: float) -> Replies:
        return mostly(self.legal(seat), {self.aim(self.seats.index(seat)): 1.0}, skill)

    def aim(self, i: int) -> str:
        """Return what the expert does: walk a shortest way, or build an empty maze."""
        if i == 0:
            return (self.name(self.inner[0]), self.name(self.inner[-1]), *[NOTHING] * self.items)[
                self.placed
            ]
        heading = first_step(self.planes[0], self.at[i] or (0, 0), self.plane("goal"))
        if heading is None or heading == self.heading[i]:
            return FORWARD
        return "turn left" if (self.heading[i] - heading) % 4 == 1 else "turn right"

    def outcome(self) -> dict[str, float]:
        """Return the shortest path, 0 where there is none, and the number of walls."""
        if self.placed < self.items:
            return {}
        return {
            "shortest_path": float(self.length or 0),
            "solvable": float(self.length is not None),
            "walls": float(self.walls),
        }

    def info(self, seat: str) -> dict[str, Any]:
        facts = {"placed": self.placed} if seat == DESIGNER else self._facts_of(seat)
        return {"window": self.picture_of(seat), "facts": facts}

    # ---- Prompts -------------------------------------------------------------------------------

    def purpose(self) -> str:
        return (
            "A designer builds it, then two walkers look for the goal, each alone in a copy of it. "
            f"A walker gets 1 - {LOSS} t / {self.config.steps} points when it reaches the goal at "
            f"its step t, and nothing after {self.config.steps} steps."
        )

    def legend(self) -> str:
        return "{} is a wall, {} is the goal.".format(*self.letters)

    def rules(self, seat: str) -> str:
        c, n, legend = self.config, self.config.size, "{} is a wall, {} the goal"
        if seat == DESIGNER:
            return (
                f"A maze of {n} by {n} cells. {self.purpose()} You name one cell a turn: first "
                f"that of the goal, then that of the walkers, then of up to {c.walls} walls. "
                "Columns are letters from the left, rows are numbers from the top; on a cell that "
                "is taken nothing is built.\n"
                f"You are {seat}. {legend.format(*self.letters)}, P where walkers begin, a dot is "
                "free."
            )
        return (
            f"A maze. {self.purpose()} Forward goes to the cell ahead, if no wall is there. You "
            f"see {c.ahead} cells ahead and {c.side} to each side; in the picture ahead is up, @ "
            f"is you, {self.legend()} A dot is free.\n"
            f"You are {seat}, a walker."
        )

    def asks(self) -> str:
        """Return what the designer is asked for."""
        turn = self.placed
        if turn < 2:
            return ("Where is the goal?", "Where do the walkers begin?")[turn]
        left = self.items - turn
        return f"Where is a wall? You may place {left} more."

    def situation(self, seat: str) -> str:
        rows = "\n".join(" ".join(row) for row in self.picture_of(seat))
        moves = ", ".join(map(answer, self.legal(seat)))
        said = self.asks() if seat == DESIGNER else self.in_words(self._facts_of(seat))
        return f"{said}\n{rows}\nLegal moves: {moves}"

    def _facts_of(self, seat: str) -> dict[str, int]:
        return dict(zip(self.fact_names, self.facts(self.seats.index(seat)), strict=True))

    def terse(self, seat: str) -> str:
        rows = " / ".join(self.picture_of(seat))
        if seat == DESIGNER:
            first, last = self.inner[0], self.inner[-1]
            cells = f"{answer(self.name(first))} to {answer(self.name(last))}"
            return f"Maze: {rows} ; {self.asks()} Answer {cells}, or {answer(NOTHING)}"
        moves = ", ".join(self.moves)
        known = self.in_words(self._facts_of(seat))
        return (
            f"{known} Ahead is up: {rows} ; go to {self.letters[1]}. Moves: {moves}. Answer [move]"
        )

    def draw(self) -> str:
        inner = slice(self.pad, -self.pad or None)
        letters = np.full(self.chart.shape, ".")
        if self.start is not None:
            letters[self.start] = "P"
        for k, letter in enumerate(self.letters):
            letters[self.planes[k] > 0] = letter
        rows = [" ".join(row) for row in letters[inner, inner]]
        return "\n".join(
            [*rows, f"placed {self.placed}, step {self.step}", *map(self.line_of, range(3))]
        )


raw_env, env = turn_based(MazePaired)
