"""A person at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from coevo.agents.agent import Agent, Reply, Request
from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import CoevoError
from coevo.envs.core.parsing import ANSWER_FORMAT, answer, normalise, parse_move
from coevo.envs.core.quoting import visible


class HumanLeft(CoevoError):
    """The person at the terminal ended the input."""

    exit_code = 130


class HumanAgent(Agent):
    """Shows what a seat sees and reads its move: a number, a move's name, or a whole reply.

    Where moves are numbers themselves, they are listed without numbers of ours. `read` raises
    EOFError when there is no more.
    """

    name = "human"

    def __init__(
        self,
        read: Callable[[str], str] = input,
        write: Callable[[str], object] = sys.stdout.write,
    ) -> None:
        self._read = read
        self._write = write

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(self._ask(r)) for r in requests]

    def _ask(self, request: Request) -> str:
        legal = request.info["legal_actions"]
        said = latest(request.chat)
        asked = f"\n--- {request.seat} ---\n{for_a_person(said) if legal else said}\n{menu(legal)}"
        self._write(visible(asked))  # what others said cannot steer the terminal
        while True:
            try:
                line = self._read("your move: " if legal else "your text: ")
            except EOFError:
                raise HumanLeft("the input ended before the play did") from None
            reply = reply_for(line, legal)
            if reply is not None:
                return reply
            wanted = "a number or name from the list" if legal else "some text"
            self._write(f"not understood: {line.strip()!r}; expected {wanted}\n")


def latest(chat: Chat) -> str:
    """Return the text of all messages after the seat's own last one."""
    own = [i for i, m in enumerate(chat) if m["role"] == "assistant"]
    return "\n\n".join(m["content"] for m in chat[own[-1] + 1 if own else 0 :])


def for_a_person(text: str) -> str:
    r"""Leave out how a model has to answer, and the moves, which follow in a list.

    >>> for_a_person(f"Your card: jack.\n{ANSWER_FORMAT}\nLegal moves: [check], [bet]")
    'Your card: jack.'
    """
    lines = text.split("\n")
    return "\n".join(x for x in lines if x != ANSWER_FORMAT and not x.startswith("Legal moves: "))


def menu(legal: Sequence[str] | None) -> str:
    """List the legal moves, one per line."""
    if not legal:
        return ""
    if _numbered(legal):
        return "".join(f"  {i}) {move}\n" for i, move in enumerate(legal, start=1))
    return "".join(f"  {move}\n" for move in legal)


def reply_for(line: str, legal: Sequence[str] | None) -> str | None:
    """Turn a line into a reply; None if it has to be asked again.

    >>> reply_for("2", ["check", "bet"])
    '[bet]'
    >>> reply_for("Check", ["check", "bet"])
    '[check]'
    >>> reply_for("raise", ["check", "bet"]) is None
    True
    """
    line = line.strip()
    if not legal:
        return line or None
    for move in legal:
        if normalise(move) == normalise(line):
            return answer(move)
    if _numbered(legal) and line.isdecimal() and 1 <= int(line) <= len(legal):
        return answer(legal[int(line) - 1])
    return line if parse_move(line, legal).ok else None


def _numbered(legal: Sequence[str]) -> bool:
    return not any(move.strip().isdecimal() for move in legal)
