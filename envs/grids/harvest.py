"""Harvest: apples grow only beside apples, so that a patch that is picked bare stays bare.

Agents        harvester_0 .. harvester_n-1
Observation   chat: rules, then heading, steps left and a window of the map; as numbers, the same
              window as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [forward], [back], [left], [right], [turn left], [turn right],
              [beam] or [stay]
Reward        1 for each apple
Ends          after `steps`
Options       see the arguments; map: small, large, or rows of one's own
References    mean return of a seat by default: random 2.28, greedy experts 6.7, careful ones 7.4

The commons of Perolat et al. (arXiv 1707.06600): the chance that an apple grows on an empty place
depends on the apples within two cells. `regrowth` has the rates of Melting Pot, for long episodes,
and those of Gallego's code (arXiv 2603.19453). The outcome has efficiency, equality, sustainability
and peace. Experts leave an apple with fewer than `spare` others near it, until the last steps.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.apples import AppleWorld, BeamConfig
from coevo.envs.grids.maps import HARVEST, rows_of
from coevo.envs.grids.world import STAY

NEAR = 2
"""Cells within which apples help an empty place."""
RATES = {
    "melting_pot": ((0, 0.0), (1, 0.0025), (2, 0.005), (3, 0.025)),
    "quick": ((0, 0.0), (1, 0.01), (3, 0.05), (5, 0.1)),
}
"""Name -> apples near an empty place from which on it grows one with a chance a step."""
LAST = 6
"""Steps before the end in which experts take what is left."""


@config
class HarvestConfig(BeamConfig):
    steps: Annotated[int, whole(1, 1000)] = 40
    """Length of an episode."""
    harvesters: Annotated[int, whole(1, 12)] = 3
    """Seats."""
    map: str = "small"
    """`small` (12 by 9), `large` (25 by 17), or rows, one below the other."""
    regrowth: Literal["melting_pot", "quick"] = "quick"
    """Chance of an apple: with 1, 2 or 3 near 0.0025, 0.005 or 0.025 a step within a distance of
    2 (Melting Pot), or with 1, 3 or 5 near 0.01, 0.05 or 0.1 in the square around (quick)."""
    spare: Annotated[int, whole(0, 24)] = 3
    """Apples near one that an expert takes; 0 for greedy experts."""


class Harvest(AppleWorld[HarvestConfig]):
    env_id = "coevo/harvest-v0"
    config_class = HarvestConfig
    title = "Harvest"

    def __init__(self, config: HarvestConfig) -> None:
        super().__init__(config)
        self.place_seats("harvester", config.harvesters, rows_of(config.map, HARVEST))
        self.payoff_range = (0.0, float(config.steps))
        self.places = np.argwhere(self.chart == "A")
        gaps = np.abs(self.places[:, None] - self.places[None, :])
        square = config.regrowth == "quick"
        far = gaps.max(-1) if square else (gaps**2).sum(-1) ** 0.5
        self.beside = ((far <= NEAR) & (far > 0)).astype(np.uint8)
        """Which places of apples are near which."""

    def live(self) -> NDArray[np.uint8]:
        """Return which places of apples hold one."""
        found: NDArray[np.uint8] = self.plane("apple")[self.places[:, 0], self.places[:, 1]]
        return found

    def grow(self) -> None:
        live = self.live()
        near, odds = self.beside @ live, np.zeros(len(live))
        for least, chance in RATES[self.config.regrowth]:
            odds[near >= least] = chance
        free = (live == 0) & ~self.taken()[tuple(self.places.T)]
        grown = (self.rng.random(len(live)) < odds) & free
        self.plane("apple")[tuple(self.places[grown].T)] = 1

    def aim(self, i: int) -> str:
        """Go to the nearest apple that can be spared."""
        live = self.live()
        spared = live.astype(bool)
        if self.config.steps - self.step > LAST:
            spared &= self.beside @ live >= self.config.spare
        goals = np.zeros(self.chart.shape, dtype=np.uint8)
        goals[tuple(self.places[spared].T)] = 1
        return self.toward(i, goals) or STAY

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        cells = unseen & self.orchard & ~self.taken()
        self.plane("apple")[cells] = rng.integers(2, size=cells.shape)[cells]

    def outcome(self) -> dict[str, float]:
        """Return the social outcomes, and the share of places that hold an apple at the end."""
        return {**super().outcome(), "left": float(self.live().mean())}

    def purpose(self) -> str:
        grown = RATES[self.config.regrowth][1:]
        rates = ", ".join(f"{100 * odds:g} percent with {least} or more" for least, odds in grown)
        around = "in the square of two cells around it"
        if self.config.regrowth == "melting_pot":
            around = "within a distance of two cells"
        return (
            "Whoever enters the cell of an apple takes it and gets 1 point. A new one may grow "
            f"where one was and no seat is, by the number of apples {around}: none with no apple, "
            f"{rates}, in each step. {self.beam_rule()}"
        )


raw_env, env, parallel_env = simultaneous(Harvest)
