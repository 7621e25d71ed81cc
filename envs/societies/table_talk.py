"""What games of deduction share: talk that all hear, news for some seats or all, and votes.

Seats are `player_0`, `player_1`, ...; what they hide is drawn over them, so that neither a name nor
the order of the seats tells it. A full chat holds everything that a seat heard, each line once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from coevo.envs.core.protocol import All, One, Stage
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies
from coevo.envs.dilemmas.rounds import MESSAGE_LENGTH, TERSE_MESSAGE, message
from coevo.envs.societies.society import Society, listed

C = TypeVar("C")
K = TypeVar("K", bound=Hashable)
Expert = Callable[[str, float], Replies]


class Statement(NamedTuple):
    """What a seat said to all."""

    round: int
    seat: str
    text: str


class News(NamedTuple):
    """A line of the full style."""

    after: int
    """Replies before it."""
    to: tuple[str, ...]
    """Seats that read it."""
    text: str


class TableTalk(Society[C]):
    """A protocol in which seats talk in public and vote."""

    def open_table(self) -> None:
        """Begin an episode in which nothing was said."""
        self.round = 0
        self.statements: list[Statement] = []
        self.votes: dict[str, str] = {}
        self._news: list[News] = []

    def announce(self, text: str, to: Sequence[str] | None = None) -> None:
        """Add a line to the next prompt of some seats, by default of all."""
        self._news.append(News(len(self.turns), tuple(to or self.seats), text))

    def discuss(self, speakers: Sequence[str], expert: Expert, phase: str = "talk") -> Stage[None]:
        """Let seats speak one after the other; all others hear it."""
        for seat in speakers:
            said = yield One(seat, phase=phase, read=message, expert=expert)
            self.statements.append(Statement(self.round, seat, said))
            others = [other for other in self.seats if other != seat]
            self.announce(f"{seat} said: {quote_line(said, MESSAGE_LENGTH)}", others)

    def vote(self, voters: Sequence[str], expert: Expert) -> Stage[str | None]:
        """Let seats vote for another one of them at once; return who has most votes, if one has."""
        found = yield All(voters, phase="vote", moves=lambda s: without(voters, s), expert=expert)
        self.votes = found
        self.announce(f"Votes: {', '.join(f'{s} for {v}' for s, v in found.items())}.")
        return most_voted(found)

    def situation(self, seat: str) -> str:
        return "\n".join([*self.news(seat), self.question(seat)])

    @abstractmethod
    def question(self, seat: str) -> str:
        """Return what a seat is asked now, with the legal moves."""

    def choice(self, seat: str, question: str) -> str:
        """Return a question with its legal moves."""
        return f"{question} Legal moves: {listed(self.moves_of(seat))}"

    def news(self, seat: str) -> list[str]:
        """Return what a seat heard since its last reply."""
        last = max((i for i, turn in enumerate(self.turns) if turn.agent == seat), default=-1)
        return [n.text for n in self._news if n.after > last and seat in n.to]

    def heard(self, seat: str) -> list[Statement]:
        """Return what the others said in this round."""
        return [s for s in self.statements if s.round == self.round and s.seat != seat]

    def heard_tersely(self, seat: str) -> str:
        """Return the beginnings of what the others said in this round, in one line."""
        return " ".join(f"{s.seat}: {quote_line(s.text, TERSE_MESSAGE)}" for s in self.heard(seat))


def seats_of(players: int) -> tuple[str, ...]:
    """Return the names of seats.

    >>> seats_of(2)
    ('player_0', 'player_1')
    """
    return tuple(f"player_{i}" for i in range(players))


def without(seats: Sequence[str], seat: str) -> list[str]:
    """Return all seats but one, in order."""
    return [other for other in seats if other != seat]


def most_voted(votes: dict[str, str]) -> str | None:
    """Return the one with most votes; None where two have as many.

    >>> most_voted({"a": "b", "b": "c", "c": "b"}), most_voted({"a": "b", "b": "a"})
    ('b', None)
    """
    first, *others = Counter(votes.values()).most_common(2)
    return None if others and others[0][1] == first[1] else first[0]


def says(skill: float, text: str, otherwise: str) -> Replies:
    """Return one text with the probability `skill`, else the other."""
    return Replies((text, otherwise), np.array([skill, 1 - skill]))


def best(worth: Mapping[K, float]) -> dict[K, float]:
    """Return equal weights for the keys of the highest worth.

    >>> best({"a": 1.0, "b": 2.0, "c": 2.0})
    {'b': 1.0, 'c': 1.0}
    """
    most = max(worth.values())
    return {key: 1.0 for key, value in worth.items() if value > most - 1e-9}
