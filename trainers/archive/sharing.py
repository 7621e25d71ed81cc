"""Sharing: which artifacts are used, in which seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards.words import likeness
from coevo.trainers.archive.archive import Artifact


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
        self, artifacts: Sequence[Artifact], seats: Mapping[str, str], rng: np.random.Generator
    ) -> dict[str, Artifact]:
        return dict.fromkeys(seats, self(artifacts, rng))


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
        self, artifacts: Sequence[Artifact], seats: Mapping[str, str], rng: np.random.Generator
    ) -> dict[str, Artifact]:
        """Return one for every seat.

        >>> key, door = (Artifact(t, "experience", t) for t in ("fetch the key", "open the door"))
        >>> given = {"player_0": "Where is the door?"}
        >>> Nearest(among=1).shared_out([key, door], given, np.random.default_rng(0))["player_0"].id
        'open the door'
        """
        return {seat: self._drawn(artifacts, prompt, rng) for seat, prompt in seats.items()}

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
        self, artifacts: Sequence[Artifact], seats: Mapping[str, str], rng: np.random.Generator
    ) -> dict[str, Artifact]:
        """Return one for every seat.

        Raises:
            ConfigError: there are fewer than seats.

        >>> two = [Artifact(str(i), "instruction", "") for i in range(2)]
        >>> dealt = Deal().shared_out(two, {"one": "", "other": ""}, np.random.default_rng(0))
        >>> sorted(a.id for a in dealt.values())
        ['0', '1']
        """
        if len(artifacts) < len(seats):
            raise ConfigError(
                f"deal: {len(artifacts)} artifacts for {len(seats)} seats; put evolve_texts "
                "before inject_text, or give as many in cycle.inject_text.first"
            )
        order = rng.permutation(len(artifacts))
        return {seat: artifacts[i] for seat, i in zip(seats, order, strict=False)}


Sharing = Annotated[Softmax | Deal | Nearest, choice()]
"""Which seats get which artifact."""
