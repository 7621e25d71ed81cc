"""The legal moves of a state by name, and how a prompt lists them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from coevo.envs.core.parsing import answer
from coevo.envs.games.states import distinct, listing

FULL_MOVES = 400
"""Legal moves written out in a full prompt; `infos` always has all of them."""
MOST = 2048
"""Lists of moves that are remembered."""


class Moves:
    """The legal moves of a player at a state; never changed, since states may share it.

    >>> moves = Moves(["pass", "bet"], [0, 1])
    >>> moves.actions, moves.listed()
    ({'pass': 0, 'bet': 1}, '[pass], [bet]')
    """

    __slots__ = ("_listed", "actions")

    def __init__(self, names: list[str], actions: Sequence[int]) -> None:
        self.actions = dict(zip(distinct(names), actions, strict=True))
        """Name -> OpenSpiel action."""
        self._listed = ""

    def listed(self) -> str:
        """Return the moves as a full prompt lists them."""
        if not self._listed:
            self._listed = listing(list(map(answer, self.actions)), FULL_MOVES)
        return self._listed


_KNOWN: dict[Hashable, Moves] = {}


def known_moves(key: Hashable | None) -> Moves | None:
    """Return the moves that were remembered for a key; None where there are none."""
    return _KNOWN.get(key)


def know_moves(key: Hashable | None, moves: Moves) -> Moves:
    """Remember moves for all that they and their names depend on; a key of None for nothing."""
    if key is not None:
        if len(_KNOWN) >= MOST:
            _KNOWN.clear()
        _KNOWN[key] = moves
    return moves
