"""Sharing: which artifacts are used, in which seats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards.words import likeness
from coevo.trainers.archive.archive import Artifact

WORTH, USED = "worth/", "used/"
"""Beginnings of what an artifact's `stats` say of every game: its worth there, and its uses."""


@dataclass(frozen=True)
class Recipients:
    """The seats of a task, which get artifacts."""

    seats: Mapping[str, str]
    """Seat -> what it is asked first, where the sharing `reads_prompts`; else empty."""
    game: str = ""
    """See `game_of`."""


@config
class Softmax:
    """Draws artifact j with probability exp(w_j / tau) / sum_i exp(w_i / tau)."""

    reads_prompts: ClassVar[bool] = False
    """Whether it looks at what seats are asked first."""
    name: Literal["softmax"] = "softmax"
    tau: Annotated[float, real(above=0)] = 0.2
    """Temperature; the lower, the more often the best is drawn."""

    def odds(self, weights: Sequence[float]) -> np.ndarray:
        """Return the probability of every artifact.

        >>> Softmax(tau=0.5).odds([1.0, 1.0]).tolist()
        [0.5, 0.5]
        """
        logits = np.asarray(weights) / self.tau
        odds: np.ndarray = np.exp(logits - np.logaddexp.reduce(logits))
        return odds / odds.sum()

    def __call__(self, artifacts: Sequence[Artifact], rng: np.random.Generator) -> Artifact:
        odds = self.odds([a.weight for a in artifacts])
        return artifacts[int(rng.choice(len(artifacts), p=odds))]

    def shared_out(
        self,
        artifacts: Sequence[Artifact],
        to: Recipients,
        rng: np.random.Generator,
    ) -> dict[str, Artifact]:
        return dict.fromkeys(to.seats, self(artifacts, rng))


@config
class Nearest:
    """Draws for every seat among the artifacts whose words are nearest to what it is asked first.

    Nearness is the cosine of their counts of words; the draw is by weight, as `softmax` does it.
    """

    reads_prompts: ClassVar[bool] = True
    name: Literal["nearest"] = "nearest"
    among: Annotated[int, whole(1)] = 4
    """How many are drawn among; ties are broken at random."""
    tau: Annotated[float, real(above=0)] = 0.2
    """Temperature of the draw."""

    def shared_out(
        self,
        artifacts: Sequence[Artifact],
        to: Recipients,
        rng: np.random.Generator,
    ) -> dict[str, Artifact]:
        """Return one for every seat.

        >>> key, door = (Artifact(t, "experience", t) for t in ("fetch the key", "open the door"))
        >>> given = Recipients({"player_0": "Where is the door?"})
        >>> Nearest(among=1).shared_out([key, door], given, np.random.default_rng(0))["player_0"].id
        'open the door'
        """
        return {seat: self._drawn(artifacts, prompt, rng) for seat, prompt in to.seats.items()}

    def _drawn(
        self, artifacts: Sequence[Artifact], prompt: str, rng: np.random.Generator
    ) -> Artifact:
        near = [likeness(prompt, str(a.payload)) for a in artifacts]
        mixed = rng.permutation(len(artifacts))
        ranked = sorted(mixed, key=lambda i: -near[i])[: self.among]
        return Softmax(tau=self.tau)([artifacts[i] for i in ranked], rng)


@config
class Deal:
    """Deals the artifacts: every seat has one of its own, in an order that is drawn."""

    reads_prompts: ClassVar[bool] = False
    name: Literal["deal"] = "deal"

    def shared_out(
        self,
        artifacts: Sequence[Artifact],
        to: Recipients,
        rng: np.random.Generator,
    ) -> dict[str, Artifact]:
        """Return one for every seat.

        Raises:
            ConfigError: there are fewer than seats.

        >>> two = [Artifact(str(i), "instruction", "") for i in range(2)]
        >>> given = Recipients({"one": "", "other": ""})
        >>> dealt = Deal().shared_out(two, given, np.random.default_rng(0))
        >>> sorted(a.id for a in dealt.values())
        ['0', '1']
        """
        if len(artifacts) < len(to.seats):
            raise ConfigError(
                f"deal: {len(artifacts)} artifacts for {len(to.seats)} seats; put evolve_texts "
                "before inject_text, or give as many in cycle.inject_text.first"
            )
        order = rng.permutation(len(artifacts))
        return {seat: artifacts[i] for seat, i in zip(to.seats, order, strict=False)}


@config
class ByGame:
    """Gives all seats the artifact that is worth most in their game and tells it from other games.

    With w(g, j) what artifact j is worth in game g, and q(j | g) how often it was used there, it is
    that with the highest w(g, j) + bonus log(q(j | g) / mean_g' q(j | g')), the information that an
    artifact and a game have of each other. Tasks with equal options are one game. It needs
    `weigh_artifacts.games`; an artifact that was never tried in a game comes first.
    """

    reads_prompts: ClassVar[bool] = False
    name: Literal["by_game"] = "by_game"
    bonus: Annotated[float, real(0)] = 0.1
    """Reward that a nat of information is worth."""
    explore: Annotated[float, real(0, 1)] = 0.1
    """Chance of any artifact."""

    def shared_out(
        self,
        artifacts: Sequence[Artifact],
        to: Recipients,
        rng: np.random.Generator,
    ) -> dict[str, Artifact]:
        """Return one for all seats.

        >>> one, other = (Artifact(i, "instruction", i) for i in ("one", "other"))
        >>> one.stats = {"worth/a": 1.0, "used/a": 9.0, "worth/b": 1.0, "used/b": 0.0}
        >>> other.stats = {"worth/a": 1.0, "used/a": 0.0, "worth/b": 0.9, "used/b": 9.0}
        >>> drawn, rng = ByGame(explore=0), np.random.default_rng(0)
        >>> given = [Recipients({"x": ""}, game) for game in "ab"]
        >>> [drawn.shared_out([one, other], to, rng)["x"].id for to in given]
        ['one', 'other']
        """
        any_of = int(rng.integers(len(artifacts)))
        explores = rng.random() < self.explore
        best = any_of if explores else int(np.argmax(self.scores(artifacts, to.game)))
        return dict.fromkeys(to.seats, artifacts[best])

    def scores(self, artifacts: Sequence[Artifact], game: str) -> np.ndarray:
        """Return how good each artifact is for a game; infinite where it was never tried."""
        known = dict.fromkeys(k for a in artifacts for k in a.stats if k.startswith(USED))
        games = [*dict.fromkeys([f"{USED}{game}", *known])]
        used_GJ = 1 + np.array([[a.stats.get(k, 0.0) for a in artifacts] for k in games])
        q_GJ = used_GJ / used_GJ.sum(axis=1, keepdims=True)
        worth = np.array([a.stats.get(f"{WORTH}{game}", np.inf) for a in artifacts])
        scores: np.ndarray = worth + self.bonus * np.log(q_GJ[0] / q_GJ.mean(axis=0))
        return scores


def game_of(env: str, options: Mapping[str, Any]) -> str:
    """Return the name of a game: an environment, and options of its reset."""
    return f"{env} {json.dumps(dict(options), sort_keys=True)}"


Sharing = Annotated[Softmax | Deal | Nearest | ByGame, choice()]
"""Which seats get which artifact."""
