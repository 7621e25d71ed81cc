"""Named players for the seats that the single-agent view does not give to its user.

`random` and `first_legal` need nothing but the legal moves. `import coevo.agents` adds the
others (`oracle`, ...) through `register_opponent`, because environments never import agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import unknown
from coevo.envs.core.parsing import answer

Opponent = Callable[[Chat, Mapping[str, Any], np.random.Generator], str]
"""(chat seen, info of the seat, generator) -> reply."""

OPPONENTS: dict[str, Opponent] = {}


def register_opponent(name: str, opponent: Opponent) -> None:
    """Make a player available to `gymnasium.make(..., opponents=name)`."""
    OPPONENTS[name] = opponent


def opponent(name: str) -> Opponent:
    """Look a named player up."""
    if name not in OPPONENTS:
        raise unknown("opponent", name, OPPONENTS)
    return OPPONENTS[name]


def random_reply(chat: Chat, info: Mapping[str, Any], rng: np.random.Generator) -> str:
    """Answer with a uniformly random legal move; with nothing where any text is legal."""
    legal = info["legal_actions"]
    return answer(legal[int(rng.integers(len(legal)))]) if legal else ""


def first_legal_reply(chat: Chat, info: Mapping[str, Any], rng: np.random.Generator) -> str:
    """Answer with the first legal move; with nothing where any text is legal."""
    legal = info["legal_actions"]
    return answer(legal[0]) if legal else ""


register_opponent("random", random_reply)
register_opponent("first_legal", first_legal_reply)
