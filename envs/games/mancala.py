"""Mancala: sow seeds around the pits into your store (Kalah, 1940); OpenSpiel's `mancala`.

Agents        player_0 (moves first), player_1
Observation   chat: rules, then the other's last moves and all pits and stores
Action        text ending in the number of one of the own pits that is not empty, [1] to [6]
Reward        1 to who has more seeds, -1 to the other, 0 each if equal
Ends          when a player's pits are empty; the seeds in the other's pits are then the other's
References    the expert looks two moves ahead at the stores
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.experts import look_ahead
from coevo.envs.games.openspiel import OpenSpielTask

PITS = 6
"""Pits of each player."""


class SowingGame(OpenSpielTask):
    """A game in which seeds are sown around two rows: Mancala, Oware."""

    fixed_names: ClassVar[bool] = True
    terse_joint: ClassVar[str] = " "
    row_word: ClassVar[str]
    kept_word: ClassVar[str]

    @abstractmethod
    def side(self, state: pyspiel.State, player: int) -> tuple[list[int], int]:
        """Return the seeds in a player's row from its left, and those that it keeps."""

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        news = self.news(state, player)
        lines = [news] if news else []
        for who, name in ((player, "Your"), (1 - player, f"player_{1 - player}'s")):
            row, kept = self.side(state, who)
            held = ", ".join(f"{n}: {seeds}" for n, seeds in enumerate(row, start=1))
            lines.append(f"{name} {self.row_word} {held}; {self.kept_word} {kept}.")
        return "\n".join(lines)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        sides = [self.side(state, p) for p in range(2)]
        drawn = [f"{' '.join(map(str, row))} {self.kept_word} {kept}" for row, kept in sides]
        return f"You: {drawn[player]}. Other: {drawn[1 - player]}"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        return look_ahead(state, self._ahead)

    def _ahead(self, state: pyspiel.State, player: int) -> float:
        return float(self.side(state, player)[1] - self.side(state, 1 - player)[1])


class Mancala(SowingGame):
    """Mancala by the rules of Kalah, six pits with four seeds each."""

    env_id = "coevo/mancala-v0"
    default_game: ClassVar[str] = "mancala"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Mancala"
    row_word: ClassVar[str] = "pits"
    kept_word: ClassVar[str] = "store"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Mancala (Kalah) for two players. Each has six pits in a row, numbered 1 to 6 from the "
            "own left, with four seeds each, and a store to the right of pit 6. A move takes all "
            "seeds out of one own pit and sows them one by one to the right: into the next pits, "
            "the own store, then the other's pits from 1 on, and round again, leaving out the "
            "other's store. If the last seed falls into the own store, the same player moves "
            "again. If it falls into an empty own pit, and the other's pit opposite holds seeds, "
            "both go into the own store; opposite of pit 1 is the other's pit 6. When the pits of "
            "one player are empty, the other puts what is left into the own store. Who has more "
            "seeds wins.\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(action - player * (PITS + 1))

    def side(self, state: pyspiel.State, player: int) -> tuple[list[int], int]:
        seeds = [int(n) for n in state.observation_tensor(0)[: 2 * PITS + 2]]
        first = 1 + player * (PITS + 1)
        return seeds[first : first + PITS], seeds[(first + PITS) % (2 * PITS + 2)]

    def draw_state(self, state: pyspiel.State) -> str:
        (below, right), (above, left) = self.side(state, 0), self.side(state, 1)
        rows = ["   ".join(map(str, pits)) for pits in (above[::-1], below)]
        return f"    {rows[0]}\n{left:<3}{'':{len(rows[0]) + 2}}{right}\n    {rows[1]}"


raw_env, env = turn_based(Mancala)
