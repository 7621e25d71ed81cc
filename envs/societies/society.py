"""What tasks of societies share: rounds of named phases, and words for moves and points.

The social outcomes of an episode (`coevo.benchmarks.statistics.social`) read two notes of the reply
that closes a phase: `sanctioned`, the seats that were punished in it, and `overused`, the seats
that took more than what lasts. A task without punishment or stock writes neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from coevo.envs.core.episode import Turn
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import ProtocolTask

C = TypeVar("C")


class Society(ProtocolTask[C]):
    """A protocol in rounds, whose records and infos name the round and the phase."""

    round = 0
    """Number of the round, from 0."""

    lasts = 0
    """Rounds that are paid one by one; 0 where what was paid may be lost again."""

    def worst_left(self, seat: str, earned: float) -> float:
        if not self.lasts:
            return super().worst_left(seat, earned)
        return min(0.0, self.payoff_range[0]) * (1 - self.round / self.lasts)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.round
        turn.notes["phase"] = self.phase

    def info(self, seat: str) -> dict[str, Any]:
        return {"player": self.seats.index(seat), "round": self.round, "phase": self.phase}


def listed(moves: Sequence[str], most: int = 12) -> str:
    """Return legal moves in one line; of many only the first two and the last.

    >>> listed(["0", "1"]), listed(["0", "1", "2", "3"], most=3)
    ('[0], [1]', '[0], [1], ..., [3]')
    """
    if len(moves) > max(most, 3):
        return f"{answer(moves[0])}, {answer(moves[1])}, ..., {answer(moves[-1])}"
    return ", ".join(map(answer, moves))


def points(number: float) -> str:
    """Return a number of points in words.

    >>> points(1), points(2.5)
    ('1 point', '2.5 points')
    """
    return f"{number:g} point{'s' * (number != 1)}"
