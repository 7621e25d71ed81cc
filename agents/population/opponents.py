"""Which opponent of a pool a learner meets next: uniform, or by results of earlier episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import choice, config, real


@config
class Uniform:
    """Every opponent equally often."""

    name: Literal["uniform"] = "uniform"

    def __call__(self, won_N: Sequence[float], rng: np.random.Generator) -> int:
        """Return the place of the next opponent.

        Args:
            won_N: how often the learners won against each, 0..1.
            rng: of the group.
        """
        return int(rng.integers(len(won_N)))


@config
class Prioritised:
    """Prioritised fictitious self-play: who is hard to beat, or about as strong, comes more often.

    An opponent against which a share x of episodes is won is drawn in proportion to (1 - x)^power
    (`hard`) or x (1 - x) (`even`); Vinyals et al. 2019, Grandmaster level in StarCraft II,
    Methods, with power 2. Where all weights are 0 every opponent is drawn alike.
    """

    name: Literal["prioritised"] = "prioritised"
    prefers: Literal["hard", "even"] = "hard"
    power: Annotated[float, real(above=0)] = 2.0

    def __call__(self, won_N: Sequence[float], rng: np.random.Generator) -> int:
        """Return the place of the next opponent.

        Args:
            won_N: how often the learners won against each, 0..1.
            rng: of the group.
        """
        x_N = np.asarray(won_N, dtype=np.float64)
        weight_N = (1 - x_N) ** self.power if self.prefers == "hard" else x_N * (1 - x_N)
        total = weight_N.sum()
        return int(rng.choice(len(x_N), p=weight_N / total if total > 0 else None))


Draw = Annotated[Uniform | Prioritised, choice()]
"""How the opponent of a group is drawn."""
