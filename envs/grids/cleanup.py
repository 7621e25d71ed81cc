"""Cleanup: apples grow only while the river is clean, and nobody is paid for cleaning it.

Agents        agent_0 .. agent_n-1
Observation   chat: rules, then heading, steps left, the dirt of the river and a window of the map;
              as numbers, the same window as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [forward], [back], [left], [right], [turn left], [turn right],
              [clean], [beam] or [stay]
Reward        1 for each apple; minus the costs of cleaning, of the beam and of being hit, by
              default none
Ends          after `steps`
Options       see the arguments; map: small, large, or rows of one's own
References    mean return of a seat by default, 400 games: random 0.012, experts 7.58

Hughes et al. (arXiv 1803.08884) with the figures of Gallego (arXiv 2603.19453): waste comes to the
river with `pollution` a step while less than `limit` of it is dirty; each empty place of an apple
grows one with `growth` (1 - dirt / limit), and none from `limit` on.
Costs are those of Melting Pot, none; there cleaning and firing cost 1 and being hit 50. Experts:
the first `cleaners` clean while over a tenth of the river is waste, else all go to the nearest
apple. Of three seats none, one, two or three clean: 0, 5.4, 7.6 and 2.2 apples a seat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.apples import BEAM
from coevo.envs.grids.maps import CLEANUP, rows_of
from coevo.envs.grids.world import STAY, STEPS, TURNS, Cell, GridConfig, GridWorld

CLEAN = "clean"
DIRTY = 0.1
"""Share of waste from which an expert cleans."""


@config
class CleanupConfig(GridConfig):
    steps: Annotated[int, whole(1, 1000)] = 40
    """Length of an episode."""
    agents: Annotated[int, whole(1, 12)] = 3
    """Seats."""
    map: str = "small"
    """`small` (12 by 9), `large` (18 by 25), or rows, one below the other."""
    pollution: Annotated[float, real(0, 1)] = 0.5
    """Chance of new waste in a step."""
    growth: Annotated[float, real(0, 1)] = 0.1
    """Chance of an apple on an empty place in a step, with a clean river; published 0.05."""
    dirty: Annotated[float, real(0, 1)] = 0.5
    """Share of waste at the start; published 1."""
    limit: Annotated[float, real(0, 1, above=0)] = 0.4
    """Share of waste from which nothing grows."""
    clean_length: Annotated[int, whole(1, 10)] = 3
    """Cells ahead that cleaning reaches; published 5."""
    clean_width: Annotated[int, whole(1, 9)] = 1
    """Cells across; published 3."""
    length: Annotated[int, whole(1, 40)] = 5
    """Cells that the beam reaches."""
    timeout: Annotated[int, whole(1, 1000)] = 5
    """Steps that who is hit is out; published 25."""
    clean_cost: Annotated[float, real(0)] = 0.0
    """Points that cleaning costs; published 1."""
    beam_cost: Annotated[float, real(0)] = 0.0
    """Points that the beam costs; published 1."""
    hit_cost: Annotated[float, real(0)] = 0.0
    """Points that being hit costs; published 50."""
    cleaners: Annotated[int, whole(0, 12)] = 2
    """Experts that clean, the first seats; the others only gather."""

    def __post_init__(self) -> None:
        if not self.clean_width % 2:
            raise ConfigError(f"clean_width={self.clean_width} must be odd: 1, 3, 5, 7 or 9")


class Cleanup(GridWorld[CleanupConfig]):
    env_id = "coevo/cleanup-v0"
    config_class = CleanupConfig
    title = "Cleanup"
    ground = ("wall", "apple", "river", "waste")
    letters = "#a~w"
    looks: ClassVar = {"#": "a", "a": "#"}
    nouns = ("wall", "apple")
    moves: ClassVar[tuple[str, ...]] = (*GridWorld.moves, CLEAN, BEAM)
    fact_names = (*GridWorld.fact_names, "percent of waste")

    def __init__(self, config: CleanupConfig) -> None:
        super().__init__(config)
        self.place_seats("agent", config.agents, rows_of(config.map, CLEANUP))
        self.orchard, self.river = self.chart == "A", self.chart == "R"
        self.river_cells = max(1, int(self.river.sum()))
        self.payoff_range = (self.least(config.steps), float(config.steps))

    def least(self, steps: int) -> float:
        """Return the least that a seat may earn in so many steps."""
        c = self.config
        hits = -(-steps // (c.timeout + 1)) if len(self.seats) > 1 else 0
        return -(steps * max(c.clean_cost, c.beam_cost) + hits * c.hit_cost)

    def worst_left(self, seat: str, earned: float) -> float:
        return self.least(self.config.steps - self.step)

    def furnish(self) -> None:
        self.plane("river")[self.river] = 1
        cells = np.flatnonzero(self.river)
        dirty = self.rng.permutation(cells)[: round(self.config.dirty * len(cells))]
        self.plane("waste").flat[dirty] = 1
        self.cleaned = [0] * len(self.seats)
        self.beams = 0

    @property
    def dirt(self) -> float:
        """Share of the river that is waste."""
        return int(np.count_nonzero(self.plane("waste"))) / self.river_cells

    def act(self, i: int, move: str, paid: list[float]) -> None:
        c = self.config
        if move == BEAM:
            self.beams += 1
            paid[i] -= c.beam_cost
            for j in self.struck(i, c.length, 1):
                paid[j] -= c.hit_cost
                self.send_out(j, c.timeout)
            return
        paid[i] -= c.clean_cost
        waste = self.plane("waste")
        for cell in (cell for lane in self.beam(i, c.clean_length, c.clean_width) for cell in lane):
            self.cleaned[i] += int(waste[cell])
            waste[cell] = 0

    def grow(self) -> None:
        c, waste, dirt = self.config, self.plane("waste"), self.dirt
        if dirt < c.limit:
            empty = np.flatnonzero(self.orchard & (self.plane("apple") == 0) & ~self.taken())
            grown = empty[self.rng.random(len(empty)) < c.growth * (1 - dirt / c.limit)]
            self.plane("apple").flat[grown] = 1
            clean = np.flatnonzero(self.river & (waste == 0))
            if len(clean) and self.rng.random() < c.pollution:
                waste.flat[clean[int(self.rng.integers(len(clean)))]] = 1

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        apples = self.plane("apple")
        if apples[cell]:
            apples[cell] = 0
            paid[i] += 1.0

    def aim(self, i: int) -> str:
        if i < self.config.cleaners and self.dirt > DIRTY:
            return self.aim_to_clean(i)
        apples = self.plane("apple")
        if not apples.any():
            apples = self.orchard.astype(np.uint8)
            if self.at[i] is not None and apples[self.at[i]]:
                return STAY
        return self.toward(i, apples) or STAY

    def aim_to_clean(self, i: int) -> str:
        """Clean if waste is ahead, else turn to waste beside, else go to the nearest."""
        waste, at = self.plane("waste"), self.at[i]
        assert at is not None
        for move, turn in ((CLEAN, 0), *TURNS.items()):
            down, across = STEPS[(self.heading[i] + turn) % 4]
            for n in range(1, self.config.clean_length + 1):
                cell = (at[0] + n * down, at[1] + n * across)
                if self.planes[0][cell]:
                    break
                if waste[cell]:
                    return move
        return self.toward(i, waste) or "turn right"

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        free = unseen & ~self.taken()
        apples, places = self.plane("apple"), free & self.orchard
        apples[places] = rng.integers(2, size=apples.shape)[places]
        waste, cells = self.plane("waste"), np.flatnonzero(free & self.river)
        waste.flat[cells] = rng.permutation(waste.flat[cells])

    def outcome(self) -> dict[str, float]:
        """Return the social outcomes, beams, the dirt left, and cells that were cleaned."""
        found = {"beams": float(self.beams), "dirt": self.dirt, "cleaned": float(sum(self.cleaned))}
        return {**super().outcome(), **found}

    # ---- Prompts -------------------------------------------------------------------------------

    def facts(self, i: int) -> list[int]:
        return [*super().facts(i), round(100 * self.dirt)]

    @property
    def largest(self) -> list[int]:
        return [*super().largest, 100]

    def in_words(self, facts: Mapping[str, int]) -> str:
        return f"{super().in_words(facts)} The river is {facts['percent of waste']} percent waste."

    def purpose(self) -> str:
        c = self.config
        costs = [
            f"{what} costs {cost:g}"
            for what, cost in (
                ("cleaning", c.clean_cost),
                ("a beam", c.beam_cost),
                ("being hit", c.hit_cost),
            )
            if cost
        ]
        return (
            "Whoever enters the cell of an apple takes it and gets 1 point. Apples grow in the "
            f"orchard, the faster the cleaner the river is; from {100 * c.limit:g} percent of "
            "waste on none grows. Waste keeps coming to the river. Clean takes the waste off the "
            f"{c.clean_length} cells ahead"
            + (f" and {c.clean_width} across" if c.clean_width > 1 else "")
            + f". A beam reaches {c.length} cells ahead; the first one it meets is out for "
            f"{c.timeout} steps." + (f" In points {', '.join(costs)}." if costs else "")
        )

    def legend(self) -> str:
        said = "{} is a wall, {} is an apple, {} is the river, {} is waste in it."
        return said.format(*self.letters)


raw_env, env, parallel_env = simultaneous(Cleanup)
