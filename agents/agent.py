"""The contract between whoever acts and whoever plays them: `act(requests) -> replies`.

Always batched: one call carries every seat that waits at this moment, of all running plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Request:
    """One seat that waits for a reply."""

    seat: str
    """Name of the seat in its environment."""
    chat: Chat
    """What the seat has seen."""
    info: Mapping[str, Any]
    """The environment's info for this seat: legal_actions, task_id, parse, ..."""
    rng: np.random.Generator
    """Randomness for agents that are not policies; owned by the play."""
    conversation: str = ""
    """Equal for all turns of one seat in one play, so that a growing chat only appends tokens."""
    masked: bool = False
    """Whether the reply must be one of the legal strings (illegal-move policy `mask`)."""


@dataclass(slots=True)
class Reply:
    """What an agent answers; the token fields are set by policies only (see Turn)."""

    text: str
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    allowed: list[list[int]] | None = None


class Agent:
    """Anybody who can take a seat: script, policy, server, program or person."""

    name: str = "agent"
    """Shown in records and tables."""
    version: int = -1
    """Update count of a learning policy; -1 for everybody else."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, in order."""
        raise NotImplementedError(f"{type(self).__name__} must define act")  # abstract

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Give the probability of every legal move of each request, for exact evaluation.

        Returns:
            One float array per request, in the order of its `legal_actions`, summing to 1.

        Raises:
            ConfigError: this kind of agent has no probabilities to give.
        """
        raise ConfigError(
            f"{self.name} ({type(self).__name__}) gives no move probabilities; exact evaluation "
            "needs a policy, a scripted agent or an oracle"
        )
