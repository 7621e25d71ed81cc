"""A variation changes the episodes of an update before they are played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from coevo.agents.policy import Policy
from coevo.trainers.collect.rollout import EpisodeSpec


class Variation(Protocol):
    """Decides what is added to prompts, or which variant of a policy plays."""

    @property
    def agents(self) -> Mapping[str, Policy]:
        """Players beside those of the population; `NAME@...` is a variant of the policy NAME."""

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        """Return a spec as it is going to be played.

        Args:
            spec: the task, and the agent of every seat.
            group: key of its group.
            number: its place in the group.
        """
