"""Texts of the archive in the prompts of an update: every group of episodes is told one of them."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coevo.agents.policy import Policy
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selection import Softmax
from coevo.trainers.collect.injected import Injected, Trained
from coevo.trainers.collect.rollout import EpisodeSpec


@dataclass(frozen=True)
class Told:
    """Draws for every group an artifact, whose text its seats are told.

    All episodes of a group are told the same: what a text is worth must not become advantage.
    """

    artifacts: Sequence[Artifact]
    by: Softmax
    seats: Sequence[str]
    """Names or patterns of the seats that are told; none stands for all seats of learners."""
    trained: Trained
    learners: Collection[str]
    entropy: Sequence[int]
    """Root of the draws."""
    agents: Mapping[str, Policy] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        """Return the spec with the text of its group."""
        drawn = self.by(self.artifacts, np.random.default_rng([*self.entropy, group, 4]))
        told = Injected(drawn.id, str(drawn.payload), self.trained)
        return replace(spec, injected=dict.fromkeys(self._told(spec), told))

    def _told(self, spec: EpisodeSpec) -> list[str]:
        if not self.seats:
            return [s for s, player in spec.players.items() if player in self.learners]
        return [s for s in spec.players if any(fnmatch.fnmatchcase(s, p) for p in self.seats)]


def worth_by_artifact(
    episodes: Sequence[Episode], component: str
) -> dict[str, list[tuple[float, Episode]]]:
    """Return for every artifact what the seats earned that were told it, with their episodes.

    Args:
        episodes: those that ended in an error do not count.
        component: of the rewards.
    """
    found: dict[str, list[tuple[float, Episode]]] = {}
    for episode in episodes:
        if episode.stop is StopReason.ERROR:
            continue
        told = dict.fromkeys((i, t.agent) for t in episode.turns for i in t.injected)
        for name, seat in told:
            found.setdefault(name, []).append((episode.total(seat, component), episode))
    return found
