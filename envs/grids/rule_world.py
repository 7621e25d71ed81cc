"""Rule worlds: small generated worlds of things with rules, each with its exact maximum.

Agents        walker_0
Observation   chat: the rules of the things, then what is held, the steps left and a window of the
              world; as numbers, the same window as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [north], [east], [south], [west] or [stay]
Reward        what the things pay
Ends          after `steps`
Options       see the arguments
References    mean return by default, over all worlds: random 1.09, exact maximum 6.97

After AutoEnv (arXiv 2511.19304): a world is a number from 0 to `worlds` - 1, which draws walls and
things of a few of eleven kinds. A search over all states gives the most that can be earned, so the
outcome has the share of it (`normalised`), and experts play exactly that. The skin exchanges the
letters of the kinds, and `reveal` keeps their rules from the player: who reads rules is not
disturbed by the first, who has learnt what letters mean is.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.routes import STEPS, Cell
from coevo.envs.grids.world import POINTS, SELF, STAY, Array, GridConfig, GridWorld, Planes

KINDS = {
    "coin": "A {} pays 1 point and is gone.",
    "gem": "A {} pays 3 points and is gone.",
    "trap": "A {} costs 1 point each time that you enter it.",
    "bomb": "A {} costs 2 points and is gone.",
    "dust": "A {} pays nothing and is gone.",
    "key": "A {} can be held and opens a chest.",
    "chest": "A {} lets only one who holds a key enter, takes the key, pays 5 points and is gone.",
    "fruit": "A {} pays 2 points and is gone, but only from step 6 on; before, it pays nothing.",
    "mud": "In {} you are held for one step: your next move does nothing.",
    "spring": "A {} throws you back to where you began.",
    "crate": "A {} stops you once, and then is gone.",
}
"""Kind of thing -> its rule; the gap is for its name."""
PAYS = {"coin": 1.0, "gem": 3.0, "trap": -1.0, "bomb": -2.0, "chest": 5.0}
GONE = ("coin", "gem", "bomb", "dust", "key", "chest", "crate")
RIPE = 6
"""Step from which on fruit is ripe."""
LETTERS = "cgtbdkhfmsx"
SIZE = 7
"""Cells along a side of the picture; worlds have four to six."""


class Level(NamedTuple):
    """One world: what does not change while it is played."""

    open: frozenset[Cell]
    """Cells that are no walls."""
    start: Cell
    things: tuple[tuple[Cell, str], ...]
    """Cell and kind of each thing."""


class Situation(NamedTuple):
    """What changes while a world is played."""

    at: Cell
    there: int
    """A bit for each thing that is there."""
    keys: int
    held: bool
    """Whether the next move does nothing."""


@config
class RuleWorldConfig(GridConfig):
    steps: Annotated[int, whole(1, 40)] = 14
    """Length of an episode."""
    ahead: Annotated[int, whole(0, 6)] = 3
    """Cells that the walker sees to the north."""
    behind: Annotated[int, whole(0, 6)] = 3
    """To the south."""
    worlds: Annotated[int, whole(1, 100_000)] = 36
    """Worlds of which each episode draws one; the reset option `world` names one."""
    things: Annotated[int, whole(2, 8)] = 6
    """Things in a world; with more, its maximum takes longer to find."""
    reveal: Annotated[bool, Field(strict=True)] = True
    """Whether the walker is given the rules."""


class RuleWorld(GridWorld[RuleWorldConfig]):
    env_id = "coevo/rule_world-v0"
    config_class = RuleWorldConfig
    title = "Rule world"
    ground = ("wall", *KINDS)
    letters = f"#{LETTERS}"
    looks: ClassVar = dict(zip(LETTERS, LETTERS[::-1], strict=True))
    others = "o"
    moves: ClassVar[tuple[str, ...]] = (*POINTS, STAY)
    fact_names = ("steps left", "keys", "held")

    def __init__(self, config: RuleWorldConfig) -> None:
        super().__init__(config)
        row = "#" + "P" * SIZE + "#"
        edge = "#" * (SIZE + 2)
        self.place_seats("walker", 1, [edge, *[row] * SIZE, edge])
        self.payoff_range = (-2.0 * config.steps, 5.0 * config.things)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        drawn = int(rng.integers(self.config.worlds))
        given = options.get("world", drawn)
        if type(given) is not int or given < 0:
            raise ConfigError(f"world={given!r} of a reset must be a whole number from 0")
        self.number = given
        self.level = level(self.number, self.config.things)
        self.now = Situation(self.level.start, (1 << len(self.level.things)) - 1, 0, False)
        super().reset(rng, options)

    def furnish(self) -> None:
        self._show()

    def _show(self) -> None:
        """Set the planes to the situation."""
        self.planes[:] = 0
        self.planes[0] = 1
        for y, x in self.level.open:
            self.planes[0, y + self.pad, x + self.pad] = 0
        for k, ((y, x), kind) in enumerate(self.level.things):
            if self.now.there >> k & 1:
                self.plane(kind)[y + self.pad, x + self.pad] = 1
        self.at = [(self.now.at[0] + self.pad, self.now.at[1] + self.pad)]

    @property
    def shown(self) -> Planes:
        """The planes without what the walker stands on; no two things are on one cell."""
        seen, (y, x) = self.planes.copy(), self.now.at
        seen[: len(self.ground), y + self.pad, x + self.pad] = 0
        return seen

    def put(self, i: int, cell: Cell) -> None:
        """Change nothing: the walker begins where its world says."""

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        seat, before = self.seats[0], self.now
        self.now, paid = advance(self.level, before, POINTS.get(moves[seat]), self.step)
        self.step += 1
        self.earned[0] += paid
        self.at[0] = (self.now.at[0] + self.pad, self.now.at[1] + self.pad)
        if gone := before.there ^ self.now.there:
            (y, x), kind = self.level.things[gone.bit_length() - 1]
            self.plane(kind)[y + self.pad, x + self.pad] = 0
        return {seat: paid}

    def aim(self, i: int) -> str:
        """Return a move that leads to the maximum."""
        left = self.config.steps - self.step
        return max(self.moves, key=lambda move: self._worth(POINTS.get(move), left))

    def _worth(self, heading: int | None, left: int) -> float:
        following, paid = advance(self.level, self.now, heading, self.step)
        return paid + best(self.level, self.config.steps)(following, left - 1)

    @property
    def maximum(self) -> float:
        """The most that can be earned in this world."""
        start = Situation(self.level.start, (1 << len(self.level.things)) - 1, 0, False)
        return best(self.level, self.config.steps)(start, self.config.steps)

    def outcome(self) -> dict[str, float]:
        """Return the number of the world, its maximum, and the share of it that was earned."""
        most = self.maximum
        found = {"world": float(self.number), "maximum": most}
        return found | ({"normalised": self.earned[0] / most} if most > 0 else {})

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Lay the things that are out of sight elsewhere out of sight."""
        seen = ~self.unseen(0)
        taken = {cell for cell, _ in self.level.things}
        free = [c for c in sorted(self.level.open - taken - {self.now.at}) if not self._in(seen, c)]
        things = []
        for cell, kind in self.level.things:
            if free and not self._in(seen, cell):
                cell = free.pop(int(rng.integers(len(free))))
            things.append((cell, kind))
        moved = tuple(things) != self.level.things
        self.level = self.level._replace(things=tuple(things))
        self._show()
        return moved

    def _in(self, mask: NDArray[np.bool_], cell: Cell) -> bool:
        return bool(mask[cell[0] + self.pad, cell[1] + self.pad])

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Is not asked: `hide` does it all."""

    def facts(self, i: int) -> list[int]:
        return [*super().facts(i), self.now.keys, int(self.now.held)]

    @property
    def largest(self) -> list[int]:
        return [*super().largest, self.config.things, 1]

    # ---- Prompts -------------------------------------------------------------------------------

    def in_words(self, facts: Mapping[str, int]) -> str:
        keys = f"You hold {facts['keys'] or 'no'} key{'s' * (facts['keys'] != 1)}."
        held = " Your next move does nothing." if facts["held"] else ""
        return f"{super().in_words(facts)} {keys}{held}"

    def near(self, array: Array, most: int = 2) -> str:
        """Return the nearest things in words, by their letters."""
        said = super().near(array, most)
        for kind, letter in zip(self.ground, self.letters, strict=True):
            said = said.replace(f"{kind} ", f"{letter} ")
        return said

    def terse(self, seat: str) -> str:
        said = super().terse(seat)
        if not self.config.reveal:
            return said
        array = self.array(seat)  # names tell the rules
        return said.replace(self.near(array), super().near(array))

    def purpose(self) -> str:
        return "You earn points by entering the cells of things."

    def legend(self) -> str:
        present = {kind for _, kind in self.level.things}
        letters = dict(zip(self.ground[1:], self.letters[1:], strict=True))
        if not self.config.reveal:
            named = ", ".join(sorted(letters[kind] for kind in present))
            return f"# is a wall; {named} are things, and what they do is for you to find out."
        rules = " ".join(rule.format(letters[k]) for k, rule in KINDS.items() if k in present)
        return f"# is a wall. {self._with_names(rules)}"

    def _with_names(self, rules: str) -> str:
        """Return rules in which the thing that opens a chest has its letters too."""
        letters = dict(zip(self.ground[1:], self.letters[1:], strict=True))
        for kind in ("key", "chest"):
            rules = rules.replace(f"a {kind} ", f"a {letters[kind]} ")
            rules = rules.replace(f"a {kind}.", f"a {letters[kind]}.")
        return rules.replace("the key,", f"the {letters['key']},")

    def rules(self, seat: str) -> str:
        c = self.config
        return (
            f"{self.title}: a world of square cells. {self.purpose()} You go north, east, south or "
            f"west, or stay; a wall stops you. The episode has {c.steps} steps.\n"
            f"You see {c.ahead} cells to the north, {c.behind} to the south and {c.side} to each "
            f"side. In the picture north is up. {SELF} is you, {self.legend()} A dot is free.\n"
            f"You are {seat}."
        )


def advance(
    world: Level, now: Situation, heading: int | None, step: int
) -> tuple[Situation, float]:
    """Return the situation after a move, and what it pays.

    Args:
        world: the level.
        now: the situation before.
        heading: of the move; None stays.
        step: number of the move, from 0.
    """
    if now.held or heading is None:
        return now._replace(held=False), 0.0
    cell = (now.at[0] + STEPS[heading][0], now.at[1] + STEPS[heading][1])
    if cell not in world.open:
        return now, 0.0
    k = next((k for k, (at, _) in enumerate(world.things) if at == cell), None)
    if k is None or not now.there >> k & 1:
        return now._replace(at=cell), 0.0
    kind, rest = world.things[k][1], now.there & ~(1 << k)
    if kind == "crate":
        return now._replace(there=rest), 0.0
    if kind == "chest" and not now.keys:
        return now, 0.0
    if kind == "fruit":
        ripe = step + 1 >= RIPE
        return Situation(cell, rest if ripe else now.there, now.keys, False), 2.0 * ripe
    keys = now.keys + (kind == "key") - (kind == "chest")
    at = world.start if kind == "spring" else cell
    there = rest if kind in GONE else now.there
    return Situation(at, there, keys, kind == "mud"), PAYS.get(kind, 0.0)


@functools.lru_cache(maxsize=4)
def best(world: Level, steps: int) -> Any:
    """Return the function (situation, steps left) -> the most that can still be earned."""

    @functools.lru_cache(maxsize=1_000_000)
    def most(now: Situation, left: int) -> float:
        if not left:
            return 0.0
        found = 0.0
        for heading in (None, 0, 1, 2, 3):
            following, paid = advance(world, now, heading, steps - left)
            if following != now or heading is None:
                found = max(found, paid + most(following, left - 1))
        return found

    return most


@functools.lru_cache(maxsize=1024)
def level(number: int, things: int) -> Level:
    """Return a generated world; the same number gives the same one."""
    rng = np.random.default_rng([number, 11])
    while True:
        side = int(rng.integers(4, SIZE))
        cells = [(y, x) for y in range(1, side + 1) for x in range(1, side + 1)]
        open_ = {cell for cell in cells if rng.random() > 0.15}
        start = cells[int(rng.integers(len(cells)))]
        inside = sorted(_reached(open_ | {start}, start) - {start})
        if len(inside) < things:
            continue
        kinds = _kinds(things, rng)
        places = [inside[k] for k in rng.permutation(len(inside))[:things]]
        return Level(frozenset([start, *inside]), start, tuple(zip(places, kinds, strict=True)))


def _kinds(things: int, rng: np.random.Generator) -> list[str]:
    """Return kinds of things: a coin, a gem, any others, and a key for each chest."""
    kinds = ["coin", "gem"]
    while len(kinds) < things:
        drawn = [*KINDS][int(rng.integers(len(KINDS)))]
        kinds += ["key", "chest"] if drawn == "chest" else [drawn]
    return kinds[:things]


def _reached(open_: set[Cell], start: Cell) -> set[Cell]:
    found, edge = {start}, [start]
    while edge:
        y, x = edge.pop()
        for down, across in STEPS:
            cell = (y + down, x + across)
            if cell in open_ and cell not in found:
                found.add(cell)
                edge.append(cell)
    return found


raw_env, env, parallel_env = simultaneous(RuleWorld)
