"""Texts of the archive in the prompts of an update: one for a group, or one for every seat."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coevo.agents.policy import Policy
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selection import Sharing
from coevo.trainers.collect.injected import Injected, Trained
from coevo.trainers.collect.rollout import EpisodeSpec


@dataclass(frozen=True)
class InjectedTexts:
    """Shares artifacts out to the seats of every group; their prompts get the texts.

    In all episodes of a group a seat gets the same text: the worth of a text must not become
    advantage.
    """

    artifacts: Sequence[Artifact]
    by: Sharing
    seats: Sequence[str]
    """Names or patterns of the seats that get a text; none stands for all seats of learners."""
    trained: Trained
    learners: Collection[str]
    entropy: Sequence[int]
    agents: Mapping[str, Policy] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        rng = np.random.default_rng([*self.entropy, group, 4])
        shared = self.by.shared_out(self.artifacts, self._seats_of(spec), rng)
        injected = {s: Injected(a.id, str(a.payload), self.trained) for s, a in shared.items()}
        return replace(spec, injected=injected)

    def _seats_of(self, spec: EpisodeSpec) -> list[str]:
        if not self.seats:
            return [s for s, player in spec.players.items() if player in self.learners]
        return [s for s in spec.players if any(fnmatch.fnmatchcase(s, p) for p in self.seats)]


def worth_by_artifact(
    episodes: Sequence[Episode], component: str
) -> dict[str, list[tuple[float, Episode]]]:
    """Return for every artifact what the seats with its text earned, with their episodes.

    Episodes that ended in an error do not count.
    """
    found: dict[str, list[tuple[float, Episode]]] = {}
    for episode in episodes:
        if episode.stop is StopReason.ERROR:
            continue
        used = dict.fromkeys((i, t.agent) for t in episode.turns for i in t.injected)
        for name, seat in used:
            found.setdefault(name, []).append((episode.total(seat, component), episode))
    return found
