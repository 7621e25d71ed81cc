"""Scripted speakers of mixed skill, one module per environment where moves are more than a list.

A speaker is `speak(request, skill) -> Speech`: the replies that it might give to what the seat has
seen, and how likely each is. The tutor plays by them, and the seed model learns from them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coevo.agents.agent import Request


class Speech(NamedTuple):
    """What a seat might say."""

    replies: tuple[str, ...]
    """Whole replies, all different."""
    odds: np.ndarray
    """Probability of each; sums to 1."""


Speak = Callable[[Request, float], Speech]
"""From what a seat has seen and a skill in 0..1 to what it might say."""

SPEAKERS: dict[str, str] = {
    "coevo/debate-v0": "coevo.agents.speakers.debate",
    "coevo/iterated_game-v0": "coevo.agents.speakers.iterated_game",
    "coevo/peer_review-v0": "coevo.agents.speakers.peer_review",
    "coevo/search_router-v0": "coevo.agents.speakers.search_router",
    "coevo/search_self_play-v0": "coevo.agents.speakers.search_self_play",
    "coevo/solver_verifier-v0": "coevo.agents.speakers.solver_verifier",
    "coevo/trust_and_split-v0": "coevo.agents.speakers.trust_and_split",
}
"""Environment id -> module with `speak`."""


def speaker(env_id: str) -> Speak | None:
    """Find the speaker of an environment; None where a list of moves is all there is."""
    if env_id not in SPEAKERS:
        return None
    speak: Speak = importlib.import_module(SPEAKERS[env_id]).speak
    return speak
