"""One round of replies: who is asked, who has moved, who forfeits, how often one may try again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Round:
    """A joint move while its replies come in; where seats take turns, one seat is a round."""

    seats: tuple[str, ...] = ()
    """Seats that move without seeing each other's moves; none at the end."""
    moves: dict[str, str] = field(default_factory=dict)
    """Seat -> the move it made."""
    forfeits: dict[str, str] = field(default_factory=dict)
    """Seat -> what was wrong with its last attempt, where that ends the episode."""
    attempts: int = 0
    """Bad replies of the seat that is asked now."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """Seats that have not been judged yet; the first is asked next.

        >>> Round(("a", "b", "c"), {"a": "bet"}, {"b": "is not a legal move now"}).waiting
        ('c',)
        """
        if not (self.moves or self.forfeits):
            return self.seats  # asked for far more often than anybody moves
        return tuple(s for s in self.seats if s not in self.moves and s not in self.forfeits)

    def accept(self, seat: str, move: str) -> None:
        """Take a move; the seat after it has all its attempts."""
        self.moves[seat] = move
        self.attempts = 0

    def forfeit(self, seat: str, detail: str) -> None:
        """Note a forfeit; the seats after it are judged all the same."""
        self.forfeits[seat] = detail
        self.attempts = 0
