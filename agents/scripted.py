"""Players without a model: random, first legal, fixed texts; and drawing a reply from odds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies

NEUTRAL = "I have nothing to add."
"""Reply of a scripted player where any text is legal and the environment has no expert."""


class MoveAgent(Agent):
    """Draws its move from the odds it gives; subclasses define `odds`.

    Where moves are texts it draws among the replies of the environment's expert at its `skill`.
    """

    insider = True
    skill: float = 0.0
    """Skill of the expert that speaks for it where moves are texts, 0..1."""

    def odds(self, request: Request) -> np.ndarray:
        """Return the probability of each entry of `legal_actions`, which is not empty."""
        raise NotImplementedError(f"{type(self).__name__} must define odds")  # abstract

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(r) for r in requests]

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        for request in requests:
            if not request.info["legal_actions"]:
                raise ConfigError(f"seat {request.seat} has no list of legal moves to weigh")
        return [self.odds(r) for r in requests]

    def speech(self, request: Request) -> Replies:
        """Return what it might reply and how likely each reply is."""
        legal = request.info["legal_actions"]
        if legal:
            return Replies(tuple(map(answer, legal)), self.odds(request))
        return expert_replies(request, self.skill) or Replies((NEUTRAL,), np.ones(1))

    def _reply(self, request: Request) -> Reply:
        replies, odds = self.speech(request)
        edge = np.cumsum(odds)
        drawn = np.searchsorted(edge, request.rng.random() * edge[-1], side="right")
        return Reply(replies[min(int(drawn), len(replies) - 1)])


class RandomAgent(MoveAgent):
    """Plays a uniformly random legal move; where any text is legal, the expert's at skill 0."""

    name = "random"

    def odds(self, request: Request) -> np.ndarray:
        return uniform(request)


class FirstLegalAgent(MoveAgent):
    """Plays the first legal move."""

    name = "first_legal"

    def odds(self, request: Request) -> np.ndarray:
        return np.eye(1, len(request.info["legal_actions"]))[0]


class FixedTextAgent(Agent):
    """Says given texts in order, one per request, and starts again after the last."""

    def __init__(self, texts: str | Sequence[str], name: str = "fixed_text") -> None:
        self.texts = (texts,) if isinstance(texts, str) else tuple(texts)
        if not self.texts:
            raise ConfigError("texts=() must hold at least one text")
        self.name = name
        self._next = itertools.cycle(self.texts)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(next(self._next)) for _ in requests]


def expert_replies(request: Request, skill: float) -> Replies | None:
    """Return what the environment's expert might reply; None where there is none."""
    return None if request.inside is None else request.inside.expert(skill)


def uniform(request: Request) -> np.ndarray:
    """Return equal probabilities for all legal moves of a request."""
    count = len(request.info["legal_actions"])
    return np.full(count, 1 / count)
