"""Agreement with the majority, graded by how new a reply is: what keeps votes from collapse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.rewards import RewardModule, Table
from coevo.envs.questions.answers import normalised
from coevo.envs.rewards.semantic import CharacterNgrams, Encoder

LOWEST, HALF = {True: 0.5, False: -1.0}, 0.5
"""Least reward of those who agree with the majority, and of the others; width of a band."""


@config
class MajorityNovelty(RewardModule):
    """Pays every seat, at its last reply, by the majority answer of its task and by novelty.

    Replies with the majority answer earn 0.5 to 1, others -1 to -0.5, those without an answer -1.
    Within each of the bands the reward is linear in the novelty 1 - (mean cosine to the others of
    the band + largest cosine to any other reply) / 2. A lone reply earns the top of its band,
    replies that are equally new its middle. Of answers that tie, the one given first is the
    majority. Source: EVOL-RL, arXiv 2509.15194, whose code takes random embeddings where the
    encoder fails.
    """

    name: Literal["majority_novelty"] = "majority_novelty"
    encoder: CharacterNgrams | Encoder = field(default_factory=CharacterNgrams)
    """Whose cosine says how alike two replies are; in Python any function from N texts to N rows
    of length 1."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def table(self, episodes: Sequence[Episode]) -> Table:
        polls: dict[Hashable, list[Turn]] = {}
        for index, episode in enumerate(episodes):
            if episode.stop is not StopReason.ERROR:
                for turn in {t.agent: t for t in episode.turns}.values():
                    poll = (episode.env, episode.task) if episode.task else index
                    polls.setdefault((poll, turn.role), []).append(turn)
        earned = {id(t): r for turns in polls.values() for t, r in self._earned(turns)}
        return [
            [{t.agent: earned[id(t)]} if id(t) in earned else {} for t in e.turns] for e in episodes
        ]

    def _earned(self, turns: Sequence[Turn]) -> list[tuple[Turn, float]]:
        said = [None if t.answer is None else normalised(t.answer, "number") for t in turns]
        counts = Counter(answer for answer in said if answer is not None)
        majority = counts.most_common(1)[0][0] if counts else None  # of equals the first one
        found = np.full(len(turns), -1.0)
        read = np.array([answer is not None for answer in said])
        agrees = np.array([answer == majority for answer in said])
        text_NE = np.asarray(self.encoder([turn.text for turn in turns]))
        alike_NN = np.clip(text_NE @ text_NE.T, -1.0, 1.0)
        np.fill_diagonal(alike_NN, -1.0)
        for agree, lowest in LOWEST.items():
            band = np.flatnonzero(read & (agrees == agree))
            if len(band):
                found[band] = lowest + HALF * _novelty(alike_NN, band)
        return list(zip(turns, found.tolist(), strict=True))


def _novelty(alike_NN: NDArray[np.float64], band: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how new the replies of a band are, 0 to 1 within it."""
    if len(band) == 1:
        return np.ones(1)
    inside = alike_NN[np.ix_(band, band)]
    mean = (inside.sum(1) + 1.0) / (len(band) - 1)  # the diagonal is -1
    new = 1 - (mean + alike_NN[band].max(1)) / 2
    width = np.ptp(new)
    found: NDArray[np.float64] = (new - new.min()) / width if width > 1e-9 else new * 0 + 0.5
    return found
