"""Swarm: many exchangeable agents move on a ring and are paid by how they are spread over it.

Agents        player_0 to player_5
Observation   text or array: the own site, and about how many others are there and on either side
Action        [left], [stay] or [right], all at once
Reward        each round, after all moves, mu_x being the share of agents at a site x: spread, minus
              the sum over sites of mu_x squared; gather, that sum; beach, minus the distance to
              site 0, minus mu at the own site
Ends          after `rounds` rounds
Options       agents=6 (2 to 500); sites=8; rounds=5; kind=spread; slip=0.1 (chance that a random
              move is made in the place of the own); levels=3 (crowds of this many less one look
              alike); noise=0.1 (chance that a count which is seen is random)
References    random -1.354, exact; expert -1.107; -0.833, a bound: all are alone in every round

Agents start at sites drawn evenly. With many agents this is mean-field control, in which every
agent sees a little of the crowd (Cui et al. 2023, Dec-POMFC, arXiv 2307.06175). Where moves depend
on the own site alone, `expected` is exact for any number N of agents: what they earn differs from
what infinitely many would earn in proportion to 1 / N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

MOVES = ("left", "stay", "right")
STEP = {"left": -1, "stay": 0, "right": 1}
AIMS = {
    "spread": "minus the sum, over all sites, of the squared share of players there",
    "gather": "the sum, over all sites, of the squared share of players there",
    "beach": "minus your distance to site 0, minus the share of players at your site",
}


@config
class SwarmConfig:
    agents: Annotated[int, whole(2, 500)] = 6
    sites: Annotated[int, whole(3, 100)] = 8
    rounds: Annotated[int, whole(1, 1000)] = 5
    kind: Literal["spread", "gather", "beach"] = "spread"
    slip: Annotated[float, real(0, 1)] = 0.1
    """Chance that a move drawn evenly is made in the place of the own."""
    levels: Annotated[int, whole(2, 10)] = 3
    """Different counts that are seen: 0 and on, the last one for all that are larger."""
    noise: Annotated[float, real(0, 1)] = 0.1
    """Chance that a count which is seen is drawn evenly."""


class Swarm(ProtocolTask[SwarmConfig]):
    env_id = "coevo/swarm-v0"
    config_class = SwarmConfig
    simultaneous = True
    draws = True
    numbers = len(MOVES)

    def __init__(self, config: SwarmConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.agents))
        far = config.sites // 2 + 1
        one = {"spread": (-1.0, 0.0), "gather": (0.0, 1.0), "beach": (-float(far), 0.0)}
        low, high = one[config.kind]
        self.payoff_range = (low * config.rounds, high * config.rounds)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        one, count = self.config, len(self.seats)
        self.at = rng.integers(one.sites, size=count)
        self.squares: list[float] = []
        for number in range(one.rounds):
            self.number, self.seen = number, self._looked(rng)
            moves = yield All(self.seats, moves=MOVES)
            own = np.array([STEP[moves[seat]] for seat in self.seats])
            drawn = rng.integers(-1, 2, size=count)
            steps = np.where(rng.random(count) < one.slip, drawn, own)
            self.at = (self.at + steps) % one.sites
            share = self._crowd() / count
            self.squares.append(float(share @ share))
            yield Pay(dict(zip(self.seats, self._paid(share), strict=True)))

    def _crowd(self) -> np.ndarray:
        return np.bincount(self.at, minlength=self.config.sites)

    def _looked(self, rng: np.random.Generator) -> np.ndarray:
        """Return the others that every seat sees to its left, here and to its right."""
        one, around = self.config, (self.at[:, None] + np.array([-1, 0, 1])) % self.config.sites
        others = self._crowd()[around] - np.array([0, 1, 0])
        drawn = rng.integers(one.levels, size=others.shape)
        wrong = rng.random(others.shape) < one.noise
        return np.where(wrong, drawn, np.minimum(others, one.levels - 1))

    def _paid(self, share: np.ndarray) -> list[float]:
        if self.config.kind == "beach":
            return (-distance(self.config.sites)[self.at] - share[self.at]).tolist()
        sign = 1 if self.config.kind == "gather" else -1
        return [sign * float(share @ share)] * len(self.seats)

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (self.config.sites + 3,), np.float32)

    def array(self, seat: str) -> np.ndarray:
        """Return the own site, one number of several that is 1, and counts over their most."""
        if seat not in self.to_move():
            return self.no_array()
        i, found = self.seats.index(seat), self.no_array()
        found[self.at[i]] = 1.0
        found[-3:] = self.seen[i] / (self.config.levels - 1)
        return found

    def expert(self, seat: str, skill: float) -> Replies:
        """Leave a crowd for the emptiest site in sight, or look for one, or go to site 0."""
        i, sites = self.seats.index(seat), self.config.sites
        left, here, right = (int(x) for x in self.seen[i])
        crowd: dict[str, float] = {"left": left + 1, "stay": here, "right": right + 1}
        if self.config.kind == "gather":
            crowd = {"left": -left, "stay": -here - 0.5, "right": -right}
        if self.config.kind == "beach":
            after = {move: (self.at[i] + step) % sites for move, step in STEP.items()}
            far = {move: distance(sites)[site] for move, site in after.items()}
            crowd = {m: far[m] + crowd[m] / len(self.seats) for m in MOVES}
        best = min(crowd.values())
        found = [move for move in MOVES if crowd[move] == best]
        return mostly(MOVES, {move: 1 / len(found) for move in found}, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        one = self.config
        return (
            f"{len(self.seats)} players stand on a ring of {one.sites} sites, 0 to "
            f"{one.sites - 1}; several may share a site, and site {one.sites - 1} is to the left "
            f"of site 0. In each of {one.rounds} rounds all move at once: one site to the left, "
            "one to the right, or not at all. With a chance of "
            f"{100 * one.slip:g} % a random move is made in the place of yours. After the moves "
            f"you are paid {AIMS[one.kind]}. You see about how many others are near; each number "
            f"is random with a chance of {100 * one.noise:g} %.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, MOVES))
        number = f"Round {self.number + 1} of {self.config.rounds}."
        return f"{number} {self._near(seat)}\nWhere do you go? Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        moves = " ".join(map(answer, MOVES))
        return f"Swarm, {self.config.kind}. {self._near(seat)} Answer {moves}"

    def _near(self, seat: str) -> str:
        i = self.seats.index(seat)
        left, here, right = (self._count(int(x)) for x in self.seen[i])
        return f"You are at site {self.at[i]}. Others: {left} left, {here} here, {right} right."

    def _count(self, seen: int) -> str:
        return f"{seen} or more" if seen == self.config.levels - 1 else str(seen)

    def draw(self) -> str:
        return " ".join(f"{site}:{count}" for site, count in enumerate(self._crowd()))

    def outcome(self) -> dict[str, float]:
        """Return how crowded the sites were: the mean over rounds of the sum of squared shares."""
        return {"crowding": float(np.mean(self.squares))} if self.squares else {}


def distance(sites: int) -> np.ndarray:
    """Return how far every site of a ring is from site 0.

    >>> distance(5).tolist()
    [0, 1, 2, 2, 1]
    """
    at = np.arange(sites)
    return np.minimum(at, sites - at)


def expected(config: SwarmConfig, odds: ArrayLike, agents: int | None = None) -> float:
    """Return the exact expected payoff of a seat where all move by their own site alone.

    Sites of different agents are independent, so that the expected sum of squared shares of N
    agents is s + (1 - s) / N, with s that of their common distribution.

    Args:
        config: of the swarm.
        odds: chances of left, stay and right, site by site, or the same everywhere.
        agents: how many; None for those of the configuration, 0 for infinitely many.

    >>> round(expected(SwarmConfig(rounds=1, agents=10), [1 / 3, 1 / 3, 1 / 3]), 4)
    -0.2125
    """
    sites, count = config.sites, config.agents if agents is None else agents
    odds_XA = np.broadcast_to(np.asarray(odds, dtype=float), (sites, len(MOVES)))
    made_XA = (1 - config.slip) * odds_XA + config.slip / len(MOVES)
    share_X, total = np.full(sites, 1 / sites), 0.0
    for _ in range(config.rounds):
        moved = (share_X[:, None] * made_XA).T
        share_X = sum(np.roll(part, STEP[move]) for part, move in zip(moved, MOVES, strict=True))
        square = float(share_X @ share_X)
        square += (1 - square) / count if count else 0.0
        far = float(share_X @ distance(sites))
        total += {"spread": -square, "gather": square, "beach": -far - square}[config.kind]
    return total


raw_env, env, parallel_env = simultaneous(Swarm)
