"""What tasks of societies share: phases of a round, and notes of what befell whom.

The social outcomes of an episode (`coevo.benchmarks.statistics.social`) read two notes of the reply
that closes a phase: `sanctioned`, the seats that were punished in it, and `overused`, the seats
that took more than what lasts. A task without punishment or stock writes neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from coevo.envs.core.episode import Turn
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Task

C = TypeVar("C")


class Society(Task[C]):
    """Base of tasks in rounds of named phases."""

    round: int
    """Number of the round, from 0."""
    phase: str
    """What is asked now."""

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.round
        turn.notes["phase"] = self.phase
        self._reply = turn

    def note(self, key: str, seats: Iterable[str]) -> None:
        """Write on the reply that is carried out now whom something befell."""
        self._reply.notes[key] = list(seats)

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
