"""From a reply to a move: the last thing of the reply must be the move in square brackets.

Anchoring at the end matters: a rule that takes any bracket plays moves that an agent only
thinks about. Reasoning may precede the answer; think blocks are skipped, and a block that is
never closed (the reply ran out of tokens) is thought to its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from coevo.envs.core.quoting import quote_line

ANSWER_FORMAT = (
    "End your reply with your move in square brackets, spelled exactly as in the list of "
    "legal moves, for example {example}. You may think before it."
)
_ANSWER = re.compile(r"\[([^\[\]\n]{1,200})\]\s*\Z")
_THINK, _THINK_END = "<think>", "</think>"


class Status(StrEnum):
    """What became of one reply."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    """A move was given in the right form, but it is not legal now."""
    UNPARSABLE = "unparsable"
    """No move in the right form at the end of the reply."""


@dataclass(frozen=True, slots=True)
class Parse:
    """The move read from one reply."""

    move: str | None
    """The legal move in its canonical spelling; None when there is none."""
    status: Status
    detail: str = ""
    """For the agent and for the log: what was found and what was expected."""

    @property
    def ok(self) -> bool:
        """Whether the reply can be played."""
        return self.status is Status.LEGAL


def answer(move: str) -> str:
    """Spell a move the way an agent has to answer it.

    >>> answer("bet")
    '[bet]'
    """
    return f"[{move}]"


def normalise(move: str) -> str:
    """Fold case and white space, so that `[ Bet ]` is the move `bet`.

    Where legal moves differ in case alone (chess: `bxc3`, `Bxc3`), the reply must match exactly.
    """
    return " ".join(move.split()).casefold()


def parse_move(text: str, legal: Sequence[str] | None) -> Parse:
    """Read the move at the end of a reply.

    Args:
        text: the whole reply.
        legal: moves that may be played now; None where any text is legal.

    >>> parse_move("I hold the king. [Bet]", ["pass", "bet"]).move
    'bet'
    >>> parse_move("[bet] or [pass]?", ["pass", "bet"]).status
    <Status.UNPARSABLE: 'unparsable'>
    """
    said = text.rpartition(_THINK_END)[2].partition(_THINK)[0]
    if legal is None:
        return Parse(said.strip(), Status.LEGAL)
    found = _ANSWER.search(said)
    if found is None:
        why = "the reply does not end with a move in square brackets"
        return Parse(None, Status.UNPARSABLE, why)
    wanted = " ".join(found.group(1).split())
    same = [m for m in legal if normalise(m) == normalise(wanted)]
    exact = [m for m in same if " ".join(m.split()) == wanted]
    if exact or len(same) == 1:
        return Parse((exact or same)[0], Status.LEGAL)
    why = f"could be any of {', '.join(same)}" if same else "is not a legal move now"
    return Parse(None, Status.ILLEGAL, f"{quote_line(wanted, 100)} {why}")
