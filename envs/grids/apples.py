"""Worlds of apples and beams: what gathering and the harvest share."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeVar

from coevo.envs.core.config import config, whole
from coevo.envs.grids.world import Cell, GridConfig, GridWorld

BEAM = "beam"


@config
class BeamConfig(GridConfig):
    length: Annotated[int, whole(1, 40)] = 5
    """Cells that the beam reaches; published 20."""
    hits: Annotated[int, whole(1, 10)] = 1
    """Hits that send a seat out; published 2 in gathering."""
    timeout: Annotated[int, whole(1, 1000)] = 5
    """Steps that it is out; published 25."""


B = TypeVar("B", bound=BeamConfig)


class AppleWorld(GridWorld[B]):
    """A world in which apples pay 1 and a beam sends others out."""

    ground = ("wall", "apple")
    letters = "#a"
    looks: ClassVar = {"#": "a", "a": "#"}
    nouns = ("wall", "apple")
    moves: ClassVar[tuple[str, ...]] = (*GridWorld.moves, BEAM)

    def furnish(self) -> None:
        self.orchard = self.chart == "A"
        self.plane("apple")[self.orchard] = 1
        self.hit = [0] * len(self.seats)
        self.beams = 0

    def act(self, i: int, move: str, paid: list[float]) -> None:
        self.beams += 1
        for j in self.struck(i, self.config.length, 1):
            self.hit[j] += 1
            if self.hit[j] >= self.config.hits:
                self.hit[j] = 0
                self.send_out(j, self.config.timeout)

    def arrive(self, i: int, cell: Cell, paid: list[float]) -> None:
        apples = self.plane("apple")
        if apples[cell]:
            apples[cell] = 0
            paid[i] += 1.0

    def outcome(self) -> dict[str, float]:
        """Return the social outcomes and how many beams were fired."""
        return {**super().outcome(), "beams": float(self.beams)}

    def beam_rule(self) -> str:
        """Return what the beam does, in words."""
        c = self.config
        hits = "once" if c.hits == 1 else f"{c.hits} times"
        return (
            f"A beam reaches {c.length} cells ahead; the first one it meets is hit. Who is hit "
            f"{hits} is out for {c.timeout} steps."
        )

    def legend(self) -> str:
        return "{} is a wall, {} is an apple.".format(*self.letters)
