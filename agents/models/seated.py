"""Several policies as one agent: a run with a policy per seat or role."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request


class SeatedPolicies(Agent):
    """Each seat is played by its own policy; several may have the same.

    Args:
        policies: seat -> agent; a seat without one of its own gets the first.
        name: shown in tables.
    """

    def __init__(self, policies: Mapping[str, Agent], name: str = "policies") -> None:
        self.policies, self.name = policies, name

    @property
    def reads_numbers(self) -> bool:  # type: ignore[override]  # it depends on the policies
        return any(p.reads_numbers for p in self.policies.values())

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return self._spread(requests, "act")

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        return self._spread(requests, "probabilities")

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray] | None:
        if any(p.move_logprobs([]) is None for p in self.policies.values()):
            return None
        return self._spread(requests, "move_logprobs")

    @property
    def gives_probabilities(self) -> bool:
        return all(p.gives_probabilities for p in self.policies.values())

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
        return next(iter(self.policies.values())).sampling_settings

    def reseed(self, seed: int) -> None:
        for number, policy in enumerate(self.policies.values()):
            policy.reseed(stream_seed(seed, number))

    def forget(self) -> None:
        for policy in self.policies.values():
            policy.forget()

    def __copy__(self) -> SeatedPolicies:
        return SeatedPolicies({s: copy.copy(p) for s, p in self.policies.items()}, self.name)

    def _spread(self, requests: Sequence[Request], method: str) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        first = next(iter(self.policies.values()))
        players = [self.policies.get(r.seat, first) for r in requests]
        for player in {id(p): p for p in players}.values():
            at = [i for i, p in enumerate(players) if p is player]
            given = getattr(player, method)([requests[i] for i in at])
            for i, answer in zip(at, given, strict=True):
                answers[i] = answer
        return answers


def stream_seed(seed: int, number: int) -> int:
    """Return the seed of one of several independent generators.

    >>> stream_seed(0, 0) == stream_seed(0, 0) != stream_seed(0, 1)
    True
    """
    drawn = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0]
    return int(drawn >> np.uint64(1))


def one_agent(policies: Mapping[str, Agent]) -> Agent:
    """Return one agent for all policies of a run."""
    return next(iter(policies.values())) if len(policies) == 1 else SeatedPolicies(policies)
