"""One round of replies: who is asked, who has moved, how often the next seat may try again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Round:
    """A joint move while its replies come in; where seats take turns, one seat is a round."""

    seats: tuple[str, ...] = ()
    """Seats that move without seeing each other's moves; none when the play is over."""
    moves: dict[str, str] = field(default_factory=dict)
    """Seat -> the move it made."""
    attempts: int = 0
    """Bad replies of the seat that is asked now."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """Seats that have not moved yet; the first is asked next.

        >>> Round(("a", "b", "c"), {"a": "bet"}).waiting
        ('b', 'c')
        """
        return tuple(seat for seat in self.seats if seat not in self.moves)

    def accept(self, seat: str, move: str) -> None:
        """Take a move; the seat after it has all its attempts."""
        self.moves[seat] = move
        self.attempts = 0
