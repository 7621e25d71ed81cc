"""A generation of policies: every episode of a group is played by another member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from coevo.agents.policy import Policy
from coevo.trainers.collect.rollout import EpisodeSpec


@dataclass(frozen=True)
class Generation:
    """All members play the same tasks, so that what differs between them is not their luck."""

    agents: Mapping[str, Policy]
    """`POLICY@NUMBER` -> a variant of that policy."""
    points: Mapping[str, Tensor]
    """Policy -> the genomes of its variants, [N, D]."""
    count: int
    """Generation of the generation."""

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        """Return the spec with the seats of learners taken by a member."""
        member = number % self.count
        players = {
            seat: f"{player}@{member}" if player in self.points else player
            for seat, player in spec.players.items()
        }
        return replace(spec, players=players)
