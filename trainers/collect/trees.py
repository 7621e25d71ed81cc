"""Trees: some replies of a group are written whole, others branch off where these were unsure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated

from coevo.agents.agent import Prefix
from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.trainers.collect.rollout import EpisodeSpec

WAVE = 2**21
"""Added to the number of a batch while its branches are drawn, for random numbers of their own."""


@config
class Trees:
    """A group of roots and their branches: roots (1 + forks branches) episodes of a task.

    Every root forks in its first reply, before the tokens that were least likely when they were
    sampled, and each branch keeps what stands before the fork. A reply that is too short to fork
    that often has branches that are played whole; one that would get too long is cut off. Source:
    ETTRL, arXiv 2508.11356, which forks where the entropy is highest; -log p of the sampled token
    is its estimate here.
    """

    roots: Annotated[int, whole(1)] = 2
    forks: Annotated[int, whole(1)] = 3
    branches: Annotated[int, whole(1)] = 2

    @property
    def size(self) -> int:
        """Number of episodes of a group."""
        return self.roots * (1 + self.forks * self.branches)

    def branched(
        self, specs: Sequence[EpisodeSpec], roots: Sequence[Episode], learners: Collection[str]
    ) -> tuple[EpisodeSpec, ...]:
        """Return the specs of branches, each with the beginning that it keeps."""
        kept: list[dict[str, Prefix]] = []
        for root in roots:
            turn = root.turns[0] if root.turns and root.turns[0].player in learners else None
            cuts = [] if turn is None else fork_places(turn.logprobs or (), self.forks)
            for number in range(self.forks):
                cut = cuts[number] if number < len(cuts) else 0
                kept += [_until(turn, cut)] * self.branches
        return tuple(replace(s, prefix=b) for s, b in zip(specs, kept, strict=True))


def fork_places(logprobs: Sequence[float], count: int) -> list[int]:
    """Return the places of the least likely tokens but the first, the least likely one first.

    >>> fork_places([-9.0, -0.1, -2.0, -0.5], 2)
    [2, 3]
    """
    return sorted(range(1, len(logprobs)), key=lambda place: logprobs[place])[:count]


def _until(turn: Turn | None, cut: int) -> dict[str, Prefix]:
    if turn is None or not cut:
        return {}
    ids, logprobs = (turn.token_ids or ())[:cut], (turn.logprobs or ())[:cut]
    return {turn.agent: Prefix(tuple(ids), tuple(logprobs))}
