"""Two agents with four arms each; the second is called in bursts, and paid on a scale of its own.

How likely a call is, is drawn by the episode's seed: episodes of a group share it. Whether there is
a call, and the noise of what is paid, is up to chance, which has seats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy.stats import norm

from coevo.benchmarks.reproductions.worlds import Micro, arms, world
from coevo.envs.core.config import config, real
from coevo.envs.core.protocol import All, One, Pay, Protocol

ID = "coevo/bursts-v0"
OFTEN, SELDOM = AGENTS = ("agent_0", "agent_1")
CALL, *LUCK = CHANCE = ("chance_0", "chance_1", "chance_2")
"""Who draws whether the second agent is called, and the noise of either's reward."""
LEVELS = 64
"""What chance draws from."""
NOISE_L = norm.ppf((np.arange(LEVELS) + 0.5) / LEVELS)
"""Noise by level: standard normal, in equally likely steps."""
Qualities = Annotated[tuple[Annotated[float, real()], ...], Field(min_length=2)]


@config
class BurstsConfig:
    """What the two agents are paid."""

    quality: tuple[Qualities, Qualities] = ((0.0, 1.0), (0.0, 1.0))
    """Of every agent's arms."""
    offset: tuple[Annotated[float, real()], Annotated[float, real()]] = (0.0, 0.0)
    scale: tuple[Annotated[float, real()], Annotated[float, real()]] = (1.0, 1.0)
    """An agent is paid offset + scale (quality + noise)."""
    rate: tuple[Annotated[float, real(0, 1)], Annotated[float, real(0, 1)]] = (0.0, 1.0)
    """Least and greatest probability of a call."""


class Bursts(Micro[BurstsConfig]):
    """One choice of the first agent; one of the second, if it is called."""

    env_id = ID
    config_class = BurstsConfig
    seats = (*AGENTS, *CHANCE)
    about = "Choose an arm."

    def __init__(self, config: BurstsConfig) -> None:
        super().__init__(config)
        far = float(NOISE_L[-1])
        every = [
            o + s * (q + noise)
            for o, s, row in zip(config.offset, config.scale, config.quality, strict=True)
            for q in row
            for noise in (-far, far)
        ]
        self.payoff_range = (min(0.0, *every), max(0.0, *every))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        low, high = self.config.rate
        self.calls = low + (high - low) * rng.random()
        moves = yield All((OFTEN, *CHANCE), terse=str, moves=self._moves)
        noise = [float(NOISE_L[int(moves[seat][1:])]) for seat in LUCK]
        yield Pay({OFTEN: self._paid(0, moves[OFTEN], noise[0])})
        if int(moves[CALL][1:]) < self.calls * LEVELS:
            arm = yield One(SELDOM, terse=SELDOM, moves=self._moves)
            yield Pay({SELDOM: self._paid(1, arm, noise[1])})

    def _moves(self, seat: str) -> Sequence[str]:
        return arms(len(self.config.quality[AGENTS.index(seat)]) if seat in AGENTS else LEVELS)

    def _paid(self, agent: int, arm: str, noise: float) -> float:
        given = self.config
        return given.offset[agent] + given.scale[agent] * (
            given.quality[agent][int(arm[1:])] + noise
        )


raw_env, env = world(Bursts, "two agents, one called in bursts", kind="mixed", seats=5)
