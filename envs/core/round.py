"""One round of replies: who is asked, who has moved, who forfeits, how often one may try again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Round:
    """A joint move while its replies come in; where seats take turns, one seat is a round.

    >>> round = Round(("a", "b", "c"))
    >>> round.accept("a", "bet")
    >>> round.forfeit("b", "is not a legal move now")
    >>> round.waiting
    ('c',)
    """

    waiting: tuple[str, ...] = ()
    """Seats that have not been judged yet, of those that move without seeing each other's moves;
    the first is asked next."""
    moves: dict[str, str] = field(default_factory=dict)
    """Seat -> the move it made."""
    forfeits: dict[str, str] = field(default_factory=dict)
    """Seat -> what was wrong with its last attempt, where that ends the episode."""
    attempts: int = 0
    """Bad replies of the seat that is asked now."""

    def accept(self, seat: str, move: str) -> None:
        """Take a move; the seat after it has all its attempts."""
        self.moves[seat] = move
        self._judged(seat)

    def forfeit(self, seat: str, detail: str) -> None:
        """Note a forfeit; the seats after it are judged all the same."""
        self.forfeits[seat] = detail
        self._judged(seat)

    def _judged(self, seat: str) -> None:
        one = self.waiting == (seat,)
        self.waiting = () if one else tuple([s for s in self.waiting if s != seat])
        self.attempts = 0
