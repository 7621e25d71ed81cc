"""Chat messages. What one seat shows another is quoted first: see `quoting`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, TypedDict

Role = Literal["system", "user", "assistant"]


class Message(TypedDict):
    """One entry of a chat, in the form that chat templates and API servers take."""

    role: Role
    content: str


Chat = tuple[Message, ...]


class Span:
    """A part of a list of messages to which others are only ever added: a chat in one line.

    >>> log = [Message(role="user", content="1+1?"), Message(role="assistant", content="2")]
    >>> len(Span(log, 0, 1)), Span(log, 0, 1) == tuple(log[:1])
    (1, True)
    """

    __slots__ = ("log", "start", "stop")

    def __init__(self, log: list[Message], start: int, stop: int) -> None:
        self.log, self.start, self.stop = log, start, stop

    def __iter__(self) -> Iterator[Message]:
        return islice(self.log, self.start, self.stop)

    def __len__(self) -> int:
        return self.stop - self.start

    def __eq__(self, other: object) -> bool:
        """Return whether another chat, in either form, has the same messages."""
        return isinstance(other, Span | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


ROLES: tuple[Role, ...] = ("system", "user", "assistant")


def copy_chat(chat: Iterable[Message]) -> Chat:
    """Return a copy whose messages share no object with the original."""
    return tuple(map(dict.copy, chat))  # type: ignore[arg-type]  # a Message is a dict
