"""Battleship: place ships in secret, then shoot in turn (Farina et al., 2020); OpenSpiel's.

Agents        player_0 (places and shoots first), player_1
Observation   chat: rules, then the own ships with the other's shots, and the own shots
Action        text ending in a place for a ship, [across b2] or [down b2], later in a cell, [b2]
Reward        1 for each ship of the other that is sunk, -1 for each own one; zero-sum
Ends          when all shots are spent or all ships of a player are sunk
References    the expert shoots where most placements of the ships agree with all it has seen
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import lettered
from coevo.envs.games.experts import best
from coevo.envs.games.openspiel import OpenSpielTask

LETTERS = "abcdefghij"
HIT, MISS, UNKNOWN = "X", "o", "."
HIT_WORTH = 20.0
"""How much more a placement counts for the expert with every hit that it explains."""


class Battleship(OpenSpielTask):
    """Battleship on four by four cells with a ship of two cells and one of three."""

    env_id = "coevo/battleship-v0"
    default_game: ClassVar[str] = (
        "battleship(board_width=4,board_height=4,ship_sizes=[2;3],ship_values=[1;1],num_shots=8,"
        "allow_repeated_shots=false)"
    )
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {"num_shots": range(1, 17)}
    title: ClassVar[str] = "Battleship"
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        high, wide = board_size(self.game)
        sizes = " and ".join(map(str, ship_sizes(self.game)))
        order = "first" if player == 0 else "second"
        return (
            f"Battleship for two players. Each has a board of {high} rows and {wide} columns that "
            f"the other does not see, and places ships of {sizes} cells on it, in this order: "
            "[across b2] puts the left end of a ship on b2, [down b2] its upper end. Then the "
            f"players shoot in turn, {self.game.get_parameters()['num_shots']} shots each, at "
            "cells of the other's board, and are told whether they hit. A ship is sunk when all "
            "its cells are hit. Each sunk ship of the other is worth 1 point, each own one -1.\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return move_name(state, player, action)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        ships, shots = boards(state, player)
        placed = len(own_moves(state, player))
        sizes = ship_sizes(self.game)
        own = f"Your ships (capitals are hit, * is a shot into the water):\n{lettered(ships)}"
        if placed < len(sizes):
            return f"{own}\nPlace your ship of {sizes[placed]} cells."
        return (
            f"{own}\nYour shots ({HIT} hit, {MISS} water):\n{lettered(shots)}\n"
            f"Shots left: {self._left(state, player)}."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        ships, shots = boards(state, player)
        placed, sizes = len(own_moves(state, player)), ship_sizes(self.game)
        if placed < len(sizes):
            return f"Board {' '.join(ships)}, place a ship of {sizes[placed]}"
        return f"Shots {' '.join(shots)}, ships {'-'.join(map(str, sizes))}"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        high, wide = board_size(self.game)
        cells = f"a1 to {LETTERS[wide - 1]}{high}"
        if len(own_moves(state, player)) < len(ship_sizes(self.game)):
            return f"across or down and a cell, {cells}"
        return f"a cell not shot at, {cells}"

    def draw_state(self, state: pyspiel.State) -> str:
        shown = (f"player_{p}:\n{lettered(boards(state, p)[0])}" for p in range(2))
        return "\n".join(shown)

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Place anywhere; shoot where most placements agree with what was seen."""
        legal = state.legal_actions()
        sizes = ship_sizes(self.game)
        if len(own_moves(state, player)) < len(sizes):
            return dict.fromkeys(legal, 1.0)
        shots = boards(state, player)[1]
        worth = dict.fromkeys(legal, 0.0)
        wide = len(shots[0])
        for cells in (cells for size in sizes for cells in placements(shots, size)):
            weight = HIT_WORTH ** sum(shots[r][c] == HIT for r, c in cells)
            for r, c in cells:
                if shots[r][c] == UNKNOWN:
                    worth[r * wide + c] += weight
        return best(worth)

    def _left(self, state: pyspiel.State, player: int) -> int:
        made = len(own_moves(state, player)) - len(ship_sizes(self.game))
        return int(self.game.get_parameters()["num_shots"]) - made


def board_size(game: pyspiel.Game) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    settings = game.get_parameters()
    return int(settings["board_height"]), int(settings["board_width"])


def ship_sizes(game: pyspiel.Game) -> list[int]:
    """Return the lengths of the ships in the order in which they are placed."""
    return [int(n) for n in re.findall(r"\d+", str(game.get_parameters()["ship_sizes"]))]


def own_moves(state: pyspiel.State, player: int) -> list[int]:
    """Return the actions of a player so far."""
    return [entry.action for entry in state.full_history() if entry.player == player]


def move_name(state: pyspiel.State, player: int, action: int) -> str:
    """Name a cell to shoot at, or a direction and a cell for a ship."""
    said = str(state.action_to_string(player, action))
    row, column = map(int, re.findall(r"\d+", said.partition(":")[2]))
    way = "" if "shoot" in said else "across " if "horizontally" in said else "down "
    return f"{way}{LETTERS[column]}{row + 1}"


def boards(state: pyspiel.State, player: int) -> tuple[list[str], list[str]]:
    """Return the rows of a player's own board, then those of its shots."""
    seen = str(state.observation_string(player)).partition("Player's shot outcomes")
    own, shots = (re.findall(r"^\|(.*)\|$", part, re.MULTILINE) for part in (seen[0], seen[2]))
    marks = str.maketrans({" ": UNKNOWN, "@": MISS, "#": HIT})
    high, wide = board_size(state.get_game())
    rows = [row.translate(marks) for row in shots] or [UNKNOWN * wide] * high
    return [row.translate(marks) for row in own], rows


def placements(shots: Sequence[str], size: int) -> Iterator[list[tuple[int, int]]]:
    """Return the cells of every placement of a ship that no shot into the water rules out.

    >>> len(list(placements(["...", ".o.", "..."], 3)))
    4
    """
    high, wide = len(shots), len(shots[0])
    for r in range(high):
        for c in range(wide):
            for down, right in ((0, 1), (1, 0)):
                cells = [(r + down * i, c + right * i) for i in range(size)]
                y, x = cells[-1]
                if y < high and x < wide and all(shots[i][j] != MISS for i, j in cells):
                    yield cells


raw_env, env = turn_based(Battleship)
