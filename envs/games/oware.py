"""Oware: sow seeds around the houses and capture twos and threes; OpenSpiel's `oware`.

Agents        player_0 (moves first), player_1
Observation   chat: rules, then the other's last move, all houses and the seeds captured
Action        text ending in the number of one of the own houses that is not empty, e.g. [3]
Reward        1 to who captures more seeds, -1 to the other, 0 each if equal
Ends          when a player has more than half of the seeds, cannot move, or a position comes again
Options       game="oware(num_houses_per_player=6,num_seeds_per_house=4)": 2 to 6 houses, 1 to 4
              seeds
References    the expert looks two moves ahead at the captured seeds
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.mancala import SowingGame


class Oware(SowingGame):
    env_id = "coevo/oware-v0"
    default_game: ClassVar[str] = "oware(num_houses_per_player=4,num_seeds_per_house=3)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "num_houses_per_player": range(2, 7),
        "num_seeds_per_house": range(1, 5),
    }
    title: ClassVar[str] = "Oware"
    row_word: ClassVar[str] = "houses"
    kept_word: ClassVar[str] = "captured"

    def rules_text(self, player: int) -> str:
        size = self.game.get_parameters()
        houses, seeds = size["num_houses_per_player"], size["num_seeds_per_house"]
        order = "first" if player == 0 else "second"
        return (
            f"Oware for two players. Each has {houses} houses in a row, numbered 1 to {houses} "
            f"from the own left, with {seeds} seeds each. A move takes all seeds out of one own "
            "house and sows them one by one to the right: into the next own houses, then the "
            "other's from 1 on, and round again, leaving out the house where it began. If the last "
            "seed falls into a house of the other and makes two or three there, they are captured, "
            "and so are two or three in the other's houses just before it, one after the other; a "
            "move that would capture all seeds of the other captures none. Who can must leave the "
            "other a seed to move. When nobody can go on or a position comes again, each takes the "
            "seeds on the own side. Who has captured more seeds wins.\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(action + 1)

    def side(self, state: pyspiel.State, player: int) -> tuple[list[int], int]:
        numbers = [int(n) for n in re.findall(r"\d+", str(state.observation_string(0)))]
        captured, houses = numbers[1:3], numbers[3:]
        half = len(houses) // 2
        return houses[player * half : (player + 1) * half], captured[player]

    def draw_state(self, state: pyspiel.State) -> str:
        (below, first), (above, second) = self.side(state, 0), self.side(state, 1)
        rows = ["  ".join(f"{n:2}" for n in houses) for houses in (above[::-1], below)]
        return f"{rows[0]}   captured {second}\n{rows[1]}   captured {first}"


raw_env, env = turn_based(Oware)
