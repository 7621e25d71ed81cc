"""Text that an artifact adds to the prompts of a seat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coevo.envs.core.chat import Chat
from coevo.envs.core.quoting import quote_line

Trained = Literal["as_seen", "stripped", "hidden"]
"""The prompt that a reply is learnt under: with the injected text, or without it; a `hidden` text
is not shown to the seat either, and only the reference reads it."""


@dataclass(frozen=True, slots=True)
class Injected:
    """Text beside what a seat, or its reference, sees: before it, as the system's, or behind it."""

    id: str
    """Of the artifact that the text is from; it is part of what makes a group."""
    text: str
    """Of the trainer; what it holds of others was quoted before."""
    trained: Trained = "as_seen"
    behind: bool = False
    """Whether it ends the first message of the user instead: small models pass over what a system
    message says of a task that they have not read yet."""

    def added(self, chat: Chat) -> Chat:
        """Return a chat with the text, before it in its system message if it has one.

        >>> Injected("i", "Be brief.").added(({"role": "user", "content": "2+2?"},))[0]
        {'role': 'system', 'content': 'Be brief.'}
        >>> Injected("i", "It is 4.", behind=True).added(({"role": "user", "content": "2+2?"},))
        ({'role': 'user', 'content': '2+2? It is 4.'},)
        """
        asked = next((at for at, m in enumerate(chat) if m["role"] == "user"), None)
        if self.behind and asked is not None:
            text = f"{chat[asked]['content']} {self.text}"
            return (*chat[:asked], {"role": "user", "content": text}, *chat[asked + 1 :])
        if chat and chat[0]["role"] == "system":
            text = f"{self.text}\n\n{chat[0]['content']}"
            return ({"role": "system", "content": text}, *chat[1:])
        return ({"role": "system", "content": self.text}, *chat)


def moves_shown(moves: Mapping[str, str]) -> Injected:
    """Return text that shows a seat the moves of others in the round that it moves in.

    >>> moves_shown({"player_0": "A"}).text
    'In this round player_0 has moved: "A".'
    """
    lines = [f"In this round {s} has moved: {quote_line(move, 200)}." for s, move in moves.items()]
    return Injected("parents", "\n".join(lines))
