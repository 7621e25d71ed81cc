"""Logit processors: what changes the scores of the next token before one is drawn.

A processor stands between the model's scores and the temperature. A policy gives the same objects
to the engine that samples and to the learner that scores, so that a token has one log-probability
on both sides. Guided choice is the first of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from coevo.agents.sampling import Ids
from coevo.envs.core.errors import ConfigError

CLOSED = -1e30
"""Score of what is ruled out: finite over every temperature, so that 0 times it is 0."""


class Place(NamedTuple):
    """Where one token of a reply stands."""

    prompt: Sequence[int]
    """What the model has read."""
    reply: Sequence[int]
    """The reply, as far as it is known."""
    at: int
    """Index of the token; what follows it must not be looked at."""
    choices: tuple[Ids, ...] = ()
    """The replies that guided choice allows; empty where any is."""


class LogitProcessor(Protocol):
    """Changes next-token scores, in the same way for engines and learners."""

    def __call__(self, logits_NV: Tensor, places: Sequence[Place]) -> Tensor:
        """Return the scores to draw from, before the temperature; the gradient goes through.

        Args:
            logits_NV: scores of the next token at N places.
            places: the N places.
        """


class Step(NamedTuple):
    """Which ids may stand at a place; all, where both are empty."""

    only: tuple[int, ...] = ()
    """Those that may."""
    never: tuple[int, ...] = ()
    """Those that may not."""


@dataclass(frozen=True)
class GuidedChoice:
    """Restricts replies to the choices of their places; thoughts before a choice stay free.

    p(token) = exp(z_token) / sum of exp(z_i) over the ids i that continue a choice

    A thought is opened by one token and closed by another. It cannot hold an end token, and is
    closed by force when it has its full length, so that every reply ends with a choice.
    """

    thoughts: int = 0
    """Tokens of a thought, at most; 0 allows none."""
    tags: tuple[int, int] = (-1, -1)
    """Ids that open and close a thought."""
    opened: bool = False
    """Whether prompts end inside an opened thought."""
    end_ids: Ids = ()
    """Tokens that end a reply."""

    def __call__(self, logits_NV: Tensor, places: Sequence[Place]) -> Tensor:
        steps = [self.step(place) for place in places]
        held = [n for n, step in enumerate(steps) if step.only]
        opened = [(n, i) for n, step in enumerate(steps) for i in step.only]
        shut = [(n, i) for n, step in enumerate(steps) for i in step.never]
        if not opened and not shut:
            return logits_NV
        closed_NV = torch.zeros_like(logits_NV, dtype=torch.bool)
        closed_NV[held] = True
        for pairs, closed in ((opened, False), (shut, True)):
            if pairs:
                row_P, id_P = torch.tensor(pairs, device=logits_NV.device).T
                closed_NV[row_P, id_P] = closed
        return logits_NV.masked_fill(closed_NV, CLOSED)

    def step(self, place: Place) -> Step:
        """Return which ids may stand at a place.

        >>> GuidedChoice().step(Place((), (1,), 1, ((1, 2, 0), (1, 3, 0))))
        Step(only=(2, 3), never=())
        """
        if not place.choices:
            return Step()
        said = tuple(place.reply[: place.at])
        if self.thoughts:
            opens, closes = self.tags
            if not said and not self.opened:
                return Step(only=(opens, *trie(place.choices)[()]))
            if self.opened or said[0] == opens:
                if closes not in said:
                    left = self.thoughts + (not self.opened) - len(said)
                    return Step(never=self.end_ids) if left > 0 else Step(only=(closes,))
                said = said[said.index(closes) + 1 :]
        return Step(only=trie(place.choices).get(said, ()))

    def check_room(self, choices: Sequence[Ids], max_new_tokens: int) -> None:
        """Refuse a limit under which some choice cannot be written.

        Raises:
            ConfigError: the limit is too low; the error has the lowest one.
        """
        thought = self.thoughts + 2 - self.opened if self.thoughts else 0
        longest = thought + max(map(len, choices), default=0)
        if longest > max_new_tokens:
            before = f" after a thought of {self.thoughts} tokens" if thought else ""
            raise ConfigError(
                f"sampling.max_new_tokens={max_new_tokens} is too short for guided choice, which "
                f"must be able to write every legal move{before}: use at least {longest}"
            )


@dataclass(frozen=True)
class ValueAugmented:
    """Adds to the likeliest tokens how much better than their mean a critic finds what follows.

    z_a + beta u(a), u(a) = V(s a) - mean of V over the `top` likeliest tokens; u = 0 for others

    Source: Han et al. 2024, VAS, arXiv 2405.06639. V is the value of the base policy: a large beta
    is one step of greedy improvement, not the best policy.
    """

    values: Callable[[Sequence[Ids]], Tensor]
    """What a critic says of some contexts, in their order."""
    beta: float = 3.0
    """Strength; 0 is the base policy."""
    top: int = 20
    """Tokens whose continuations are valued."""

    def __call__(self, logits_NV: Tensor, places: Sequence[Place]) -> Tensor:
        best = logits_NV.detach().topk(min(self.top, logits_NV.shape[1]), -1)
        wanted = [
            [token for token, z in zip(*pair, strict=True) if z > CLOSED / 2]
            for pair in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        contexts = [
            (*place.prompt, *place.reply[: place.at], token)
            for place, tokens in zip(places, wanted, strict=True)
            for token in tokens
        ]
        value_M, added_NV = self.values(contexts).to(logits_NV), torch.zeros_like(logits_NV)
        for added_V, tokens, value_K in zip(
            added_NV, wanted, value_M.split([len(tokens) for tokens in wanted]), strict=True
        ):
            added_V[tokens] = self.beta * (value_K - value_K.mean())
        return logits_NV + added_NV


@functools.lru_cache(maxsize=1024)
def trie(choices: tuple[Ids, ...]) -> Mapping[Ids, tuple[int, ...]]:
    """Return the ids that continue every beginning of some token sequences.

    >>> dict(trie(((1, 2, 0), (1, 3, 0))))
    {(): (1,), (1,): (2, 3), (1, 2): (0,), (1, 3): (0,)}
    """
    found: dict[Ids, set[int]] = {}
    for choice in choices:
        for at, token in enumerate(choice):
            found.setdefault(choice[:at], set()).add(token)
    return {begun: tuple(sorted(ids)) for begun, ids in found.items()}
