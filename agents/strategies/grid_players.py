"""Scripted players of grid worlds, who know what their seat sees and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from coevo.agents.agent import Agent, Request
from coevo.agents.scripted import MoveAgent
from coevo.envs.core.errors import ConfigError
from coevo.envs.grids.routes import Cell, first_step
from coevo.envs.grids.world import SELF, WALKS

FREE = ".a~w@"
"""Letters of cells that can be entered."""
WALK_OF = {turns: move for move, turns in WALKS.items()}


class GridPlayer(MoveAgent):
    """A player of a grid world with headings; it turns where it sees nothing that it wants."""

    wants = "a"
    """Letters of the cells that it goes to."""

    def odds(self, request: Request) -> np.ndarray:
        info = request.info
        if "window" not in info or "turn right" not in (info["legal_actions"] or ()):
            raise ConfigError(
                f"{self.name} plays grid worlds with headings, such as coevo/gathering-v0, not "
                f"{info.get('env_id') or 'this'}"
            )
        rows: list[str] = info["window"]
        y = next(k for k, row in enumerate(rows) if SELF in row)
        wanted = self.move(rows, (y, rows[y].index(SELF)))
        legal = list(info["legal_actions"])
        return np.eye(len(legal))[legal.index(wanted if wanted in legal else "stay")]

    def move(self, rows: Sequence[str], me: Cell) -> str:
        """Return the move in a window whose upper side is ahead."""
        return self.toward(self.wants, rows, me) or self.wander(rows, me)

    def toward(self, wanted: str, rows: Sequence[str], me: Cell) -> str | None:
        """Return the walk to the nearest cell with one of these letters; None if it sees none."""
        letters = np.pad(np.array([list(row) for row in rows]), 1, constant_values="#")
        goals = np.isin(letters, list(wanted)).astype(np.uint8)
        walls = (~np.isin(letters, list(FREE))).astype(np.uint8)
        return WALK_OF.get(first_step(walls, (me[0] + 1, me[1] + 1), goals))  # type: ignore[arg-type]

    def wander(self, rows: Sequence[str], me: Cell) -> str:
        """Return the way ahead, or a turn where it is closed."""
        y, x = me
        return "forward" if y and rows[y - 1][x] in FREE else "turn right"

    def ahead(self, rows: Sequence[str], me: Cell) -> str:
        """Return the letters ahead, the nearest first."""
        return "".join(rows[y][me[1]] for y in range(me[0] - 1, -1, -1))


class Forager(GridPlayer):
    """Goes to the nearest apple that it sees, and uses no beam."""

    name = "forager"


class Guard(GridPlayer):
    """Fires its beam at whoever is ahead, and gathers apples else."""

    name = "guard"

    def move(self, rows: Sequence[str], me: Cell) -> str:
        line = self.ahead(rows, me).partition("#")[0]
        return "beam" if set(line) & set("^>v<") else super().move(rows, me)


class RiverCleaner(GridPlayer):
    """Cleans the river and leaves the apples to others; where there is none it wanders."""

    name = "river_cleaner"
    wants = "w~"

    def move(self, rows: Sequence[str], me: Cell) -> str:
        if "w" in self.ahead(rows, me)[:3].partition("#")[0]:
            return "clean"
        return self.toward("w", rows, me) or super().move(rows, me)


GRID_PLAYERS: dict[str, Callable[[], Agent]] = {
    "forager": Forager,
    "guard": Guard,
    "river_cleaner": RiverCleaner,
}
