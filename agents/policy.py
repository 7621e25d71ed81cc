"""A trainable agent, which asks an engine for the tokens of its replies.

Three objects take part. The policy turns chats into prompts of token ids and samples into replies.
The engine samples for every parameter set that was published to it. The weights are what a learner
moves and a checkpoint keeps; the learner publishes them after its update.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeAlias

from torch import nn

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.engines.engine import Ask, Engine, Prompt, Sample
from coevo.agents.engines.logit_processors import LogitProcessor
from coevo.agents.sampling import SamplingConfig
from coevo.agents.weights import Weights
from coevo.envs.core.episode import PolicyRef

Writing: TypeAlias = Generator[Ask, list[Sample], list[Reply]]
"""Writes replies: yields what the engine is asked, is sent the samples, and returns the replies."""


class Policy(Agent, ABC):
    """Base of the agents that can be trained; policies of other names may share its engine."""

    plays_ahead: bool = True
    """Whether a copy of it may play while it learns, or in another process."""

    def __init__(
        self,
        weights: Weights,
        engine: Engine,
        *,
        name: str = "policy",
        sampling: SamplingConfig | None = None,
        seed: int = 0,
    ) -> None:
        self.weights, self.engine, self.name = weights, engine, name
        self.sampling = sampling or SamplingConfig()
        self.sampled_tokens = 0
        """Tokens written so far, for budgets and rates."""
        self.ref = PolicyRef(name)
        self.publish(self.ref.version)
        self.reseed(seed)
        self.forget()

    @property
    def model(self) -> Any:
        """The torch module of its weights."""
        return self.weights.model

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
        drawn = self.sampling
        heat, longest = drawn.temperature, drawn.max_new_tokens
        return {
            "temperature": heat,
            "max_new_tokens": longest,
            **drawn.guidance,
            **drawn.filters,
        }

    @property
    def processors(self) -> tuple[LogitProcessor, ...]:
        """What changes the scores of its tokens, for its engine and for its learner."""
        return ()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Sample one reply per request; the ids given are the ids that were sampled.

        Where replies are whole moves, one that has begun is complete, and nothing is sampled.
        """
        (replies,) = act_together([(self, requests)])
        return replies

    def writing(self, requests: Sequence[Request]) -> Writing:
        """Ask once, take the samples, and return one reply per request; see `act_together`."""
        whole = [bool(r.begins) and self._in_moves(r) for r in requests]
        left = [r for r, given in zip(requests, whole, strict=True) if not given]
        written = iter((yield from self._write(left)))
        return [
            Reply(r.begins, policy=self.ref) if given else next(written)
            for r, given in zip(requests, whole, strict=True)
        ]

    @abstractmethod
    def _write(self, requests: Sequence[Request]) -> Writing:
        """Ask once, take the samples, and return one reply per request."""

    @abstractmethod
    def _in_moves(self, request: Request) -> bool:
        """Return whether the reply to a request is a whole move."""

    @abstractmethod
    def reread(self, request: Request, reply: Reply) -> list[int]:
        """Return the ids of another prompt for a reply, such as one without an injected text.

        The request is the other prompt, in a conversation of its own; the reply was sampled under
        the prompt that was seen.
        """

    @abstractmethod
    def spell(self, request: Request, text: str) -> Reply:
        """Return a given reply in the tokens of this policy, as if it had been written by it."""

    def publish(self, version: int) -> None:
        """Let the weights, as they are now, be the ones that it plays with."""
        self.ref = PolicyRef(self.ref.name, version)
        self.version = version
        self.engine.publish(self.ref, self.model)

    def retire(self) -> None:
        self.engine.retire(self.ref.name)

    def reseed(self, seed: int) -> None:
        """Restart sampling.

        Every turn of every conversation has random numbers of its own, so that it does not matter
        what else is asked, or when: equal seeds and requests give equal replies, up to what the
        size of a batch changes about last digits.
        """
        self._seed = seed
        self._asked: Counter[str] = Counter()
        """Conversation -> how often it was asked since."""

    def having(self, model: nn.Module, name: str | None = None) -> Self:
        """Return the same policy with other weights of its kind."""
        twin = copy.copy(self)
        twin.weights, twin.name = self.weights.having(model), name or self.name
        twin.ref = PolicyRef(name or f"{self.ref.name}@twin")
        twin.publish(self.version)
        twin.forget()
        return twin

    def greedy(self, name: str) -> Self:
        """Return a player with the same weights that always takes the likeliest token."""
        twin = self.drawing(replace(self.sampling, temperature=0.0))
        twin.name = name
        return twin

    def drawing(self, sampling: SamplingConfig) -> Self:
        """Return a player with the same weights that draws its replies otherwise."""
        twin = copy.copy(self)
        twin.sampling = sampling
        twin.forget()
        return twin

    def _drawn(
        self, requests: Sequence[Request], prompts: Sequence[Prompt], end_ids: Sequence[int] = ()
    ) -> Generator[Ask, list[Sample], list[Sample]]:
        """Ask the engine, and return its samples."""
        seeds = [self._stream(r.conversation) for r in requests]
        found = yield Ask(self.ref, prompts, self.sampling, seeds, end_ids, self.processors)
        self.sampled_tokens += sum(len(s.ids) for s in found)
        return found

    def _stream(self, conversation: str) -> int:
        name = f"{self._seed} {self._asked[conversation]} {conversation}".encode()
        self._asked[conversation] += 1
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")


def act_together(asked: Sequence[tuple[Policy, Sequence[Request]]]) -> list[list[Reply]]:
    """Return one reply per request of every policy; those that share an engine ask it at once."""
    writings = [policy.writing(requests) for policy, requests in asked]
    of_engine: dict[Engine, list[int]] = {}
    for n, (policy, _) in enumerate(asked):
        of_engine.setdefault(policy.engine, []).append(n)
    replies: dict[int, list[Reply]] = {}
    for engine, numbers in of_engine.items():
        found = engine.generate([next(writings[n]) for n in numbers])
        for n, samples in zip(numbers, found, strict=True):
            try:
                writings[n].send(samples)
            except StopIteration as ended:
                replies[n] = ended.value
    return [replies[n] for n in range(len(asked))]


def rest(agents: Iterable[Agent]) -> None:
    """Let engines give back what learners need of their devices, until they are asked again."""
    for engine in {agent.engine for agent in agents if isinstance(agent, Policy)}:
        engine.rest()
