"""alpha-Rank: who is left when populations of agents drift towards what pays more.

Omidshafiei et al. (2019). A state is one strategy per role; a mutant that deviates in one role
takes over with its fixation probability, and agents are ranked by the share of time spent at them.
Cycles keep their members. Ranks at finite alpha depend on the size of payoffs, so show the sweep;
many near copies of one agent distort them (`nash_averaging` does not mind copies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.benchmarks.statistics.arrays import Array, count, finite, share, square
from coevo.benchmarks.statistics.stationary import stationary
from coevo.envs.core.errors import ConfigError, unknown

POPULATION = 50
"""Individuals in a population (m)."""
ALPHA = 100.0
"""Selection intensity: how much better must be to take over."""
TIE = 1e-14
"""Payoffs that differ by no more are equal."""
SELECTION = ("local", "global")


@dataclass(frozen=True)
class MetaGame:
    """What each possible deviation gains: all that alpha-Rank needs to know of a game."""

    gain: Array
    """gain[..., s, r]: payoff of the deviator in state r minus that in state s."""
    possible: NDArray[np.bool_]
    """possible[s, r]: states s and r differ in one role."""
    shape: tuple[int, ...]
    """Strategies per role; states are numbered in row-major order."""
    span: float
    """Largest minus smallest payoff."""
    population: int
    """Individuals per population (m)."""

    @property
    def moves(self) -> int:
        """Number of deviations from a state: 1 / eta."""
        return sum(s - 1 for s in self.shape)


def one_population(
    payoffs: ArrayLike, *, selection: str = "local", population: int = POPULATION
) -> MetaGame:
    """Describe a symmetric game of two: payoffs[..., i, j] is what i gets against j.

    Local selection compares the two payoffs of one meeting, M[r, s] - M[s, r]. Global selection,
    for constant-sum games, compares with the population: m / (m - 1) (M[r, s] - sum / 2).

    >>> one_population([[0.5, 0.8], [0.2, 0.5]]).gain.round(6).tolist()
    [[0.0, -0.6], [0.6, 0.0]]
    """
    m = square("payoffs", payoffs)
    count("population", population, least=2)
    if m.shape[-1] < 2:
        raise ConfigError("alpha-Rank needs at least two agents")
    if selection not in SELECTION:
        raise unknown("selection", selection, SELECTION)
    across = np.swapaxes(m, -1, -2)
    gain = across - m
    if selection == "global":
        total = m[..., :1, 1:2] + across[..., :1, 1:2]
        if not np.allclose(m + across, total):
            raise ConfigError("global selection needs a constant-sum game; use local selection")
        gain = population / (population - 1) * (across - total / 2)
    possible = ~np.eye(m.shape[-1], dtype=bool)
    return MetaGame(gain, possible, (m.shape[-1],), float(np.ptp(m)), population)


def one_population_per_role(
    tables: Sequence[ArrayLike], *, population: int = POPULATION
) -> MetaGame:
    """Describe a game with roles: tables[k][i, j, ...] is what role k gets in that profile.

    >>> one_population_per_role([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]).gain[0].tolist()
    [0.0, 2.0, -2.0, 0.0]
    """
    payoffs = [finite(f"payoffs of role {k}", t) for k, t in enumerate(tables)]
    count("population", population, least=2)
    shape = payoffs[0].shape if payoffs else ()
    if not payoffs or len(shape) != len(payoffs) or any(p.shape != shape for p in payoffs):
        shapes = ", ".join(str(p.shape) for p in payoffs) or "none"
        raise ConfigError(f"a game of K roles needs K tables with K axes; got shapes {shapes}")
    profiles = np.array(list(product(*map(range, shape))))
    differs = profiles[:, None] != profiles[None]  # state, state, role
    possible = differs.sum(-1) == 1
    if not possible.any():
        raise ConfigError("alpha-Rank needs a role with at least two strategies")
    gain = np.zeros(possible.shape)
    for k, table in enumerate(payoffs):
        flat = table.ravel()
        gain += np.where(possible & differs[..., k], flat[None, :] - flat[:, None], 0.0)
    return MetaGame(gain, possible, shape, float(np.ptp(np.stack(payoffs))), population)


def alpha_rank(game: MetaGame, alpha: float = ALPHA) -> Array:
    """Give the share of time at every state, for one selection intensity.

    The fixation probability of a deviation that gains d is (1 - e^-u) / (1 - e^(-m u)) with
    u = alpha d, and 1 / m where u is 0; it is kept as a logarithm, so that no alpha is too large.

    >>> rank = one_population([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])
    >>> alpha_rank(rank, 0.1).round(6).tolist()
    [0.931193, 0.054302, 0.014506]
    """
    if not 0 < alpha < np.inf:
        raise ConfigError(f"alpha={alpha} must be positive and finite; see alpha_rank_limit")
    logs = _log_fixation(alpha * game.gain, game.population) - np.log(game.moves)
    return stationary(np.where(game.possible, logs, -np.inf))


def alpha_rank_limit(game: MetaGame, epsilon: float = 0.01) -> Array:
    """Give the share of time at every state for infinite alpha.

    A better state is taken with probability eta (1 - epsilon), a worse one with eta epsilon, an
    equal one with eta / 2: the sign of payoff differences decides, not their size.

    >>> rank = one_population([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])
    >>> alpha_rank_limit(rank).round(6).tolist()
    [0.980198, 0.014777, 0.005025]
    """
    share("epsilon", epsilon)
    logs = np.where(game.gain > TIE, np.log1p(-epsilon), np.log(epsilon))
    logs = np.where(np.abs(game.gain) <= TIE, np.log(0.5), logs) - np.log(game.moves)
    return stationary(np.where(game.possible, logs, -np.inf))


def _log_fixation(u: Array, population: int) -> Array:
    """Log (1 - e^-u) / (1 - e^(-m u)); for negative u both are turned round by e^((m - 1) u)."""
    size = np.maximum(np.abs(u), TIE)
    logs = np.log(-np.expm1(-size)) - np.log(-np.expm1(-population * size))
    logs = np.where(u < 0, logs - (population - 1) * size, logs)
    return np.where(np.abs(u) < TIE, -np.log(population), logs)


@dataclass(frozen=True)
class Sweep:
    """Ranks over growing selection intensity."""

    alphas: Array
    """Selection intensities, each twice the one before, in units of 1 / payoff range."""
    shares: Array
    """Share of time [alphas, ..., states]."""
    settled: bool
    """Whether the last ones no longer change and every difference in payoff has been felt."""

    @property
    def final(self) -> Array:
        """Shares at the last alpha."""
        return np.asarray(self.shares[-1])


def sweep(
    game: MetaGame, *, start: float = 1e-4, most: int = 64, rtol: float = 1e-5, atol: float = 1e-8
) -> Sweep:
    """Double alpha until ranks stop changing; payoffs are first scaled to a range of 1.

    Ranks can rest while alpha is between the scales of two payoff differences, so the smallest
    difference must have been felt too (alpha times it above 1).

    Args:
        game: who gains what.
        start: first alpha.
        most: largest number of alphas.
        rtol: relative change that counts as none.
        atol: absolute change that counts as none.
    """
    gains = np.abs(game.gain) / (game.span or 1.0)
    felt = gains[gains > TIE]
    least = float(felt.min()) if len(felt) else np.inf
    alphas, shares = [start], [alpha_rank(game, start / (game.span or 1.0))]
    settled = False
    while not settled and len(alphas) < most:
        alphas.append(2 * alphas[-1])
        shares.append(alpha_rank(game, alphas[-1] / (game.span or 1.0)))
        still = np.allclose(shares[-1], shares[-2], rtol=rtol, atol=atol)
        settled = still and alphas[-1] * least >= 1
    return Sweep(np.array(alphas), np.stack(shares), settled)


def shares_by_role(shares: ArrayLike, shape: Sequence[int]) -> list[Array]:
    """Give the share of every strategy in each role: with roles, alpha-Rank ranks profiles.

    >>> [s.tolist() for s in shares_by_role([0.1, 0.2, 0.3, 0.4], (2, 2))]
    [[0.30000000000000004, 0.7], [0.4, 0.6000000000000001]]
    """
    joint = finite("shares", shares, ndim=1)
    if joint.size != np.prod(shape):
        raise ConfigError(f"{joint.size} shares do not fit profiles of shape {tuple(shape)}")
    joint = joint.reshape(tuple(shape))
    return [
        joint.sum(axis=tuple(a for a in range(joint.ndim) if a != k)) for k in range(joint.ndim)
    ]
