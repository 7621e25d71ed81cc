"""Ocean: vessels collect drifting plastic and may signal to those around them.

Agents        vessel_0 .. vessel_n-1
Observation   chat: rules, then the steps left and a window of the sea, with the signals of vessels
              in it; as numbers, the same window as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move, with or without a signal: [north], [east], [south], [west],
              [stay], or e.g. [north and signal]
Reward        1 for each unit of plastic that the own vessel collects
Ends          after `steps`
Options       see the arguments
References    mean return of a seat by default: random 2.05, experts 9.8

After Siedler (arXiv 2304.05872), in the small: the sea has no edges, plastic comes up around some
sources and drifts with the current, a vessel sees plastic within `sight` and the others within
`range`. What a signal means is for the vessels to find. There a graph network passes signals on;
here they lie in the window, each at its vessel, or only as their share. Experts see all plastic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.picture import paint
from coevo.envs.grids.world import POINTS, SELF, STAY, STEPS, Array, Cell, GridConfig, GridWorld

SIGNAL = " and signal"
DRIFT = 4
"""Steps in which the current carries plastic one cell."""
SPREAD = 1
"""Cells around a source in which its plastic comes up."""


@config
class OceanConfig(GridConfig):
    steps: Annotated[int, whole(1, 1000)] = 30
    """Length of an episode."""
    ahead: Annotated[int, whole(5, 5)] = 5
    """Fixed: a vessel's window reaches five cells to each side."""
    behind: Annotated[int, whole(5, 5)] = 5
    """Fixed."""
    side: Annotated[int, whole(5, 5)] = 5
    """Fixed."""
    vessels: Annotated[int, whole(1, 12)] = 4
    """Seats."""
    size: Annotated[int, whole(11, 40)] = 12
    """Cells along a side of the sea."""
    sources: Annotated[int, whole(1, 20)] = 3
    """Where plastic comes up."""
    rate: Annotated[int, whole(1, 100)] = 50
    """Chance in percent of a unit at each source in a step."""
    sight: Annotated[int, whole(2, 5)] = 2
    """Cells to each side within which a vessel sees plastic."""
    hear: Literal["each", "mean", "none"] = "each"
    """What a vessel knows of signals: whose in its window, which share of them, or nothing."""


class Ocean(GridWorld[OceanConfig]):
    env_id = "coevo/ocean-v0"
    config_class = OceanConfig
    title = "Ocean"
    ground = ("rock", "plastic")
    letters = "#p"
    others = "oO"
    looks: ClassVar = {"p": "O", "O": "p"}
    moves: ClassVar[tuple[str, ...]] = (
        *POINTS,
        STAY,
        *(move + SIGNAL for move in (*POINTS, STAY)),
    )
    fact_names = ("steps left", "percent of signals")

    def __init__(self, config: OceanConfig) -> None:
        super().__init__(config)
        self.place_seats("vessel", config.vessels, ["P" * config.size] * config.size, edge=False)
        self.payoff_range = (0.0, float(config.steps))

    def furnish(self) -> None:
        c = self.config
        self.current = int(self.rng.integers(4))
        self.sources = self.rng.integers(c.size, size=(c.sources, 2))
        self.signalled = 0
        for _ in range(DRIFT):
            self._come_up()

    def _come_up(self) -> None:
        c, plastic = self.config, self.plane("plastic")
        for y, x in self.sources:
            down, across = self.rng.integers(-SPREAD, SPREAD + 1, size=2)
            if self.rng.integers(100) < c.rate:
                plastic[(y + down) % c.size, (x + across) % c.size] = 1

    def next_cell(self, cell: Cell, heading: int) -> Cell:
        down, across = STEPS[heading]
        return (cell[0] + down) % self.config.size, (cell[1] + across) % self.config.size

    def _move(self, i: int, move: str, paid: list[float]) -> None:
        signals = move.endswith(SIGNAL)
        self.signalled += signals
        self.face(i, int(signals))
        super()._move(i, move.removesuffix(SIGNAL), paid)

    def grow(self) -> None:
        if (self.step + 1) % DRIFT == 0:
            moved = np.roll(self.plane("plastic"), STEPS[self.current], axis=(0, 1))
            self.plane("plastic")[:] = moved
            self.sources = (self.sources + STEPS[self.current]) % self.config.size
        self._come_up()

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        plastic = self.plane("plastic")
        if plastic[cell]:
            plastic[cell] = 0
            paid[i] += 1.0

    # ---- What a vessel sees ----------------------------------------------------------------------

    def window(self, i: int, planes: NDArray[Any]) -> NDArray[Any]:
        (y, x), c = self.at[i] or (0, 0), self.config
        near = np.arange(-c.ahead, c.ahead + 1)
        rows = planes.take(y + near, axis=1, mode="wrap")
        return rows.take(x + near, axis=2, mode="wrap")

    def array(self, seat: str) -> Array:
        seen, c = super().array(seat), self.config
        plastic, (silent, signalling) = seen[1], (seen[2], seen[3])
        kept = plastic.copy()
        plastic[:] = 0
        near = slice(c.ahead - c.sight, c.ahead + c.sight + 1)
        plastic[near, near] = kept[near, near]
        vessels = int(silent.sum() + signalling.sum())
        if c.hear == "mean" and vessels:
            seen[-1] = round(100 * int(signalling.sum()) / vessels) / 100
        if c.hear != "each":
            silent += signalling
            signalling[:] = 0
        return seen

    def facts(self, i: int) -> list[int]:
        return [*super().facts(i), 0]

    @property
    def largest(self) -> list[int]:
        return [*super().largest, 100]

    def aim(self, i: int) -> str:
        """Go to the plastic that no other is nearer to; signal if plastic is in sight."""
        size, places = self.config.size, np.argwhere(self.plane("plastic"))
        if not len(places):
            return STAY
        here = np.array([self.at[j] or (0, 0) for j in range(len(self.seats))])
        gaps = (places[None] - here[:, None] + size // 2) % size - size // 2
        far = np.abs(gaps).sum(-1)
        mine = far[i] <= far.min(axis=0)
        k = int(np.argmin(np.where(mine, far[i], far[i] + 2 * size)))
        (down, across), signal = gaps[i, k], SIGNAL if far[i].min() <= self.config.sight else ""
        if abs(down) >= abs(across):
            return ("south" if down > 0 else "north" if down else STAY) + signal
        return ("east" if across > 0 else "west") + signal

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        c, at = self.config, self.at[i] or (0, 0)
        near = np.arange(-c.sight, c.sight + 1)
        hidden = ~self.taken()
        hidden[np.ix_((at[0] + near) % c.size, (at[1] + near) % c.size)] = False
        self.plane("plastic")[hidden] = (rng.random(hidden.shape) < 0.1)[hidden]

    def image(self) -> NDArray[np.uint8]:
        plastic = self.plane("plastic")
        seats = [(i, cell, None) for i, cell in enumerate(self.at) if cell is not None]
        return paint(("water", "plastic"), np.stack([np.ones_like(plastic), plastic]), seats)

    def outcome(self) -> dict[str, float]:
        """Return the social outcomes, and the share of moves with a signal."""
        asked = max(1, self.step * len(self.seats))
        return {**super().outcome(), "signals": self.signalled / asked}

    # ---- Prompts -------------------------------------------------------------------------------

    def in_words(self, facts: Mapping[str, int]) -> str:
        said = super().in_words(facts)
        if self.config.hear != "mean":
            return said
        return f"{said} {facts['percent of signals']} percent of the vessels near you signal."

    def purpose(self) -> str:
        c = self.config
        return (
            "It has no edges: who leaves it on one side comes back on the other. Plastic comes up "
            f"around {c.sources} sources and drifts with a current. A vessel that enters a cell of "
            "plastic collects it and gets 1 point. With any move a vessel may signal; what that "
            "means is for the vessels to find."
        )

    def legend(self) -> str:
        said = "{} is plastic, {} is another vessel, {} is one that signals."
        return said.format(self.letters[1], *self.others)

    def rules(self, seat: str) -> str:
        c = self.config
        return (
            f"{self.title}: a sea of {c.size} by {c.size} cells. {self.purpose()} All "
            f"{len(self.seats)} vessels move at once; no two can be in one cell. The episode has "
            f"{c.steps} steps.\n"
            f"You see plastic up to {c.sight} cells to each side, vessels up to {c.ahead}. In the "
            f"picture north is up. {SELF} is you, {self.legend()} A dot is free, or out of sight.\n"
            f"You are {seat}."
        )


raw_env, env, parallel_env = simultaneous(Ocean)
