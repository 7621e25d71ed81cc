"""Texts of the archive in the prompts of an update: one for a group, or one for every seat."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from coevo.agents.policy import Policy
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.sharing import Recipients, Sharing, game_of
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
    most: int | None = None
    """Episodes of a group that get a text, the first ones; None stands for all."""
    envs: Mapping[str, TextEnv] = field(default_factory=dict)
    """Environment id -> one of it, for selections that read what seats are asked."""
    agents: Mapping[str, Policy] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        if self.most is not None and number >= self.most:
            return spec
        rng = np.random.default_rng([*self.entropy, group, 4])
        seats = dict.fromkeys(self._seats_of(spec), "")
        if self.by.reads_prompts:
            seats |= {s: text for s, text in self._asked(spec).items() if s in seats}
        to = Recipients(seats, game_of(spec.env, spec.options))
        shared = self.by.shared_out(self.artifacts, to, rng)
        injected = {s: Injected(a.id, str(a.payload), self.trained) for s, a in shared.items()}
        return replace(spec, injected=injected)

    def _asked(self, spec: EpisodeSpec) -> dict[str, str]:
        """Return what the seats that move first are asked; the others see nothing yet."""
        env = self.envs[spec.env].fresh()
        env.reset(seed=spec.seed, options=dict(spec.options))
        return {s: "\n".join(m["content"] for m in env.chat(s)) for s in env.awaiting}

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


def uplift_by_artifact(
    episodes: Sequence[Episode], groups: Sequence[int], component: str
) -> dict[str, list[tuple[float, int]]]:
    """Return for every artifact, task by task, what it added, and the episodes that had it.

    What it added is the mean of what a seat earned with it, minus the mean of what the same seat
    earned in the same task without any. A task in which one of them is missing does not count.
    """
    earned: dict[tuple[int, str, str], list[float]] = {}
    for episode, group in zip(episodes, groups, strict=True):
        if episode.stop is not StopReason.ERROR:
            for seat in dict.fromkeys(t.agent for t in episode.turns):
                used = {i for t in episode.turns if t.agent == seat for i in t.injected} or {""}
                paid = episode.total(seat, component)
                for name in sorted(used):
                    earned.setdefault((group, seat, name), []).append(paid)
    found: dict[str, list[tuple[float, int]]] = {}
    for (group, seat, name), those in earned.items():
        plain = earned.get((group, seat, ""))
        if name and plain:
            found.setdefault(name, []).append((fmean(those) - fmean(plain), len(those)))
    return found
