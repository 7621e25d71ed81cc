"""Dots and boxes: draw the last side of a box (Lucas, 1889); OpenSpiel's `dots_and_boxes`.

Agents        player_0 (X, moves first), player_1 (O)
Observation   chat: rules, then the other's last moves, the drawing and the boxes of each
Action        text ending in the number of a side that is not drawn yet
Reward        1 to who has more boxes, -1 to the other, 0 each if equal
Ends          when all sides are drawn
Options       game="dots_and_boxes(num_rows=3,num_cols=3)": 1 to 5 rows and columns of boxes;
              utility_margin true pays the difference of boxes
References    2 x 2 boxes: minimax finds a win for player_0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, BoardGame

DRAWN = -1
"""Stands for a side that is drawn."""


class DotsAndBoxes(BoardGame):
    env_id = "coevo/dots_and_boxes-v0"
    default_game: ClassVar[str] = "dots_and_boxes"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "num_rows": range(1, 6),
        "num_cols": range(1, 6),
        "utility_margin": (False, True),
    }
    title: ClassVar[str] = "Dots and boxes"
    opening: ClassVar[str] = "Nothing is drawn yet."
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        rows, columns = size(self.game)
        order = "first" if player == 0 else "second"
        paid = (
            "Your payoff is your boxes less those of the other."
            if self.game.get_parameters()["utility_margin"]
            else "Who has more boxes in the end wins."
        )
        return (
            f"Dots and boxes for two players: {rows} rows of {columns} boxes between dots. Sides "
            "that are not drawn yet have numbers. In turn a player draws one side; who draws the "
            "last side of a box owns it, which is marked, and has to draw again at once. "
            f"{paid}\n"
            f"You are player_{player}, your boxes are marked {MARKS[player]}, and you move {order}."
        )

    def board(self, state: pyspiel.State) -> str:
        rows, columns = size(self.game)
        sides, owners = drawing(state)
        lines = []
        for r in range(rows + 1):
            across = sides[r * columns : (r + 1) * columns]
            lines.append("+" + "+".join(_number(n, "---") for n in across) + "+")
            if r == rows:
                break
            start = (rows + 1) * columns + r * (columns + 1)
            down = [_number(n, "|").strip().ljust(2) for n in sides[start : start + columns + 1]]
            boxes = [f"{owners.get((r, c), ' ')} " for c in range(columns)]
            lines.append("".join(d + b for d, b in zip(down, [*boxes, ""], strict=True)).rstrip())
        return "\n".join(lines)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        owned = list(drawing(state)[1].values())
        mine, other = owned.count(MARKS[player]), owned.count(MARKS[1 - player])
        return f"{super().describe_fully(state, player)} Boxes: you {mine}, the other {other}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        rows, columns = size(self.game)
        sides, owners = drawing(state)
        owned = list(owners.values())
        mine, other = owned.count(MARKS[player]), owned.count(MARKS[1 - player])
        free = [
            " ".join(str(sides[i]) for i in around(r, c, rows, columns) if sides[i] != DRAWN)
            for r in range(rows)
            for c in range(columns)
            if (r, c) not in owners
        ]
        return f"You {mine}, other {other}. Open: {', '.join(free)}"


def size(game: pyspiel.Game) -> tuple[int, int]:
    """Return the numbers of rows and columns of boxes."""
    settings = game.get_parameters()
    return int(settings["num_rows"]), int(settings["num_cols"])


def around(row: int, column: int, rows: int, columns: int) -> tuple[int, int, int, int]:
    """Return the indices of the sides of a box: above, below, left, right.

    >>> around(0, 0, 2, 2)
    (0, 2, 6, 7)
    """
    above = row * columns + column
    left = (rows + 1) * columns + row * (columns + 1) + column
    return above, above + columns, left, left + 1


def drawing(state: pyspiel.State) -> tuple[list[int], dict[tuple[int, int], str]]:
    """Return the number of every side, or DRAWN, and the owners of the closed boxes."""
    rows, columns = size(state.get_game())
    sides = list(range(1, 2 * rows * columns + rows + columns + 1))
    owners: dict[tuple[int, int], str] = {}
    for entry in state.full_history():
        sides[entry.action] = DRAWN
        for r in range(rows):
            for c in range(columns):
                closed = all(sides[i] == DRAWN for i in around(r, c, rows, columns))
                if closed:
                    owners.setdefault((r, c), MARKS[entry.player])
    return sides, owners


def _number(side: int, line: str) -> str:
    return line if side == DRAWN else f"{side:^3}"


raw_env, env = turn_based(DotsAndBoxes)
