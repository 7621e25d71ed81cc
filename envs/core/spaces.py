"""Gymnasium spaces for chats and free text.

`gymnasium.spaces.Text` accepts only characters of a fixed set and cannot be flattened for
others, so both spaces here define membership by type and length, and sample printable ASCII.
Text flattens to its code points; a chat has no vector form, and Gymnasium says so.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from coevo.envs.core.chat import ROLES, Chat, Message

_SAMPLED = np.array(list(string.ascii_letters + string.digits + " []"))


class TextSpace(spaces.Text):
    """Any Unicode string of at most `max_length` characters."""

    def __init__(
        self, max_length: int = 65_536, *, seed: int | np.random.Generator | None = None
    ) -> None:
        """Args: max_length: characters. seed: of `sample`."""
        super().__init__(max_length=max_length, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a string that is short enough; characters do not matter."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw up to 24 printable ASCII characters; masks have no meaning here."""
        size = int(self.np_random.integers(1, 25))
        return "".join(self.np_random.choice(_SAMPLED, size=min(size, self.max_length)))

    def __repr__(self) -> str:
        """Show the limit only: the character set is all of Unicode."""
        return f"TextSpace({self.max_length})"

    def __eq__(self, other: object) -> bool:
        """Two spaces are equal when their limits are."""
        return isinstance(other, TextSpace) and other.max_length == self.max_length

    __hash__ = None  # type: ignore[assignment]


@spaces.flatten_space.register(TextSpace)
def _flatten_space(space: TextSpace) -> spaces.Box:
    return spaces.Box(-1, 0x10FFFF, shape=(space.max_length,), dtype=np.int32)


@spaces.flatten.register(TextSpace)
def _flatten(space: TextSpace, x: str) -> NDArray[np.int32]:  # type: ignore[misc]
    points = np.full(space.max_length, -1, dtype=np.int32)
    points[: len(x)] = [ord(character) for character in x]
    return points


@spaces.unflatten.register(TextSpace)
def _unflatten(space: TextSpace, x: NDArray[np.int32]) -> str:  # type: ignore[misc]
    return "".join(chr(point) for point in x if point >= 0)


class ChatSpace(spaces.Space[Chat]):
    """A tuple of `{"role", "content"}` messages, at most `max_messages` long."""

    def __init__(
        self,
        max_messages: int = 4096,
        max_length: int = 65_536,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Args: max_messages: entries. max_length: characters of one entry. seed: of `sample`."""
        self.max_messages = max_messages
        self.text = TextSpace(max_length)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Chats have no fixed-size vector form."""
        return False

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a tuple of well-formed messages."""
        return (
            isinstance(x, tuple) and len(x) <= self.max_messages and all(map(self._is_message, x))
        )

    def _is_message(self, m: Any) -> bool:
        return (
            isinstance(m, dict)
            and m.keys() == {"role", "content"}
            and m["role"] in ROLES
            and self.text.contains(m["content"])
        )

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Chat:
        """Draw one user message of printable ASCII."""
        size = int(self.np_random.integers(1, 25))
        size = min(size, self.text.max_length)
        message = Message(role="user", content="".join(self.np_random.choice(_SAMPLED, size=size)))
        return (message,)[: self.max_messages]

    def to_jsonable(self, sample_n: Iterable[Chat]) -> list[Any]:
        """Turn chats into lists that `json` can write."""
        return [list(chat) for chat in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Chat]:
        return [tuple(chat) for chat in sample_n]

    def __repr__(self) -> str:
        return f"ChatSpace({self.max_messages}, {self.text.max_length})"

    def __eq__(self, other: object) -> bool:
        """Two spaces are equal when their limits are."""
        return (
            isinstance(other, ChatSpace)
            and other.max_messages == self.max_messages
            and other.text == self.text
        )

    __hash__ = None  # type: ignore[assignment]
