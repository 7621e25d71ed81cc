"""Policies whose tokens are whole moves: what a table and a network over arrays share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from coevo.agents.agent import Reply, Request
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.logit_processors import LogitProcessor
from coevo.agents.policy import Policy, Writing
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer, parse_move


class MovePolicy(Policy):
    """Base of the policies that say a legal move in one token, guided or not."""

    kind: ClassVar[str]
    """What it is, in words: `a table`."""

    @property
    def processors(self) -> tuple[LogitProcessor, ...]:
        """Return none: its tokens are the legal moves, guided or not."""
        if self.sampling.thoughts:
            raise ConfigError(
                f"sampling.thoughts={self.sampling.thoughts}: {self.kind} says its move at once; "
                "leave it out"
            )
        return ()

    def _in_moves(self, request: Request) -> bool:
        return True

    @abstractmethod
    def _prompt(self, request: Request) -> Prompt:
        """Return the prompt of a request; its choices are the tokens of the legal moves."""

    @abstractmethod
    def _move(self, request: Request, token: int) -> str:
        """Return the legal move that a token is."""

    def _noted(self, request: Request, ids: Sequence[int]) -> None:
        """Remember what was read and said in a conversation; here nothing."""

    def _write(self, requests: Sequence[Request]) -> Writing:
        prompts = [self._prompt(r) for r in requests]
        samples = yield from self._drawn(requests, prompts)
        replies = []
        for r, p, s in zip(requests, prompts, samples, strict=True):
            self._noted(r, [*p.ids, *s.ids])
            text = answer(self._move(r, s.ids[0]))
            replies.append(Reply(text, list(p.ids), s.ids, s.logprobs, policy=self.ref))
        return replies

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        return [np.exp(logp) for logp in self.move_logprobs(requests)]

    @abstractmethod
    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of every legal move, in the order of `legal_actions`."""

    def reread(self, request: Request, reply: Reply) -> list[int]:
        return list(self._prompt(request).ids)

    def spell(self, request: Request, text: str) -> Reply:
        legal = request.info["legal_actions"] or ()
        move = text if text in legal else parse_move(text, legal).move
        if move not in legal:
            raise ConfigError(
                f"{self.kind} has no move for {text[:60]!r}; expected one of {legal[:6]}"
            )
        prompt = self._prompt(request)
        (token,) = prompt.choices[list(legal).index(move)]
        return Reply(text, list(prompt.ids), [token], [0.0])
