"""Gathering: apples grow back after a fixed time, and a beam sends a rival away for a while.

Agents        gatherer_0 .. gatherer_n-1
Observation   chat: rules, then heading, steps left and a window of the map; as numbers, the same
              window as planes (`coevo.envs.grids.parallel`)
Action        text ending in a move: [forward], [back], [left], [right], [turn left], [turn right],
              [beam] or [stay]
Reward        1 for each apple
Ends          after `steps`
Options       see the arguments; map: small, large, or rows of one's own
References    mean return of a seat by default: random 0.62, experts 4, all that grows

Leibo et al. (arXiv 1702.03037), in the small: an apple is back `respawn` steps after it was taken;
who is hit by the beam `hits` times is out for `timeout` steps. Scarce apples make the beam pay.
The outcome has efficiency, equality, sustainability and peace (arXiv 2603.19453). Experts go to the
nearest apple and use no beam. Unlike there, two seats cannot share a cell.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.grids.apples import AppleWorld, BeamConfig
from coevo.envs.grids.maps import GATHERING, rows_of
from coevo.envs.grids.world import STAY, Cell


@config
class GatheringConfig(BeamConfig):
    gatherers: Annotated[int, whole(1, 12)] = 3
    """Seats."""
    map: str = "small"
    """`small` (8 by 8), `large` (18 by 10), or rows, one below the other."""
    respawn: Annotated[int, whole(1, 1000)] = 10
    """Steps after which an apple is back; the published figure is 25."""


class Gathering(AppleWorld[GatheringConfig]):
    env_id = "coevo/gathering-v0"
    config_class = GatheringConfig
    title = "Gathering"

    def __init__(self, config: GatheringConfig) -> None:
        super().__init__(config)
        self.place_seats("gatherer", config.gatherers, rows_of(config.map, GATHERING))
        self.payoff_range = (0.0, float(config.steps))

    def furnish(self) -> None:
        super().furnish()
        self.back_at = np.full(self.chart.shape, -1)

    def grow(self) -> None:
        self.plane("apple")[self.back_at == self.step] = 1

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        if self.plane("apple")[cell]:
            self.back_at[cell] = self.step + self.config.respawn
        super().arrive(i, cell, paid)

    def aim(self, i: int) -> str:
        """Go to the nearest apple; where none is left, to the place of the next one."""
        apples = self.plane("apple")
        if not apples.any():
            soon = np.where(self.orchard, self.back_at, self.config.steps + self.config.respawn)
            apples = (self.orchard & (soon == soon.min())).astype(np.uint8)
        return self.toward(i, apples) or STAY

    def scatter(self, i: int, unseen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        cells = unseen & self.orchard & ~self.taken()
        there = rng.random(cells.shape) < 0.5
        self.plane("apple")[cells] = there[cells]
        later = self.step + rng.integers(self.config.respawn, size=cells.shape)
        self.back_at[cells] = np.where(there, -1, later)[cells]

    def purpose(self) -> str:
        return (
            "Whoever enters the cell of an apple takes it and gets 1 point; a new apple is there "
            f"{self.config.respawn} steps later. {self.beam_rule()}"
        )


raw_env, env, parallel_env = simultaneous(Gathering)
