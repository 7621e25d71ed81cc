"""alpha-Rank (Omidshafiei et al. 2019) by OpenSpiel: who is left when populations drift.

A game is a list of payoff tables, as in OpenSpiel: one square table where both sides choose from
the same agents, else a table per role. A state is one strategy per role, in row-major order.
Cycles keep their members. Ranks at finite alpha depend on the size of payoffs, so show the sweep;
many near copies of one agent distort them (`nash_averaging` does not mind copies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite, share
from coevo.envs.core.errors import ConfigError

START = 1e-4
"""First alpha of a sweep, in units of 1 / payoff range."""
MOST_ALPHAS = 64


def alpha_rank(tables: Sequence[ArrayLike], alpha: float) -> Array:
    """Return the share of time at every state, for one selection intensity.

    ConfigError where alpha is so large that some transition is too rare for a float.

    >>> alpha_rank([[[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]]], 0.1).round(6).tolist()
    [0.931193, 0.054302, 0.014506]
    """
    if not 0 < alpha < np.inf:
        raise ConfigError(f"alpha={alpha} must be positive and finite; see alpha_rank_limit")
    try:
        return _shares(tables, alpha=alpha)
    except ValueError as error:
        raise ConfigError(f"no alpha-Rank at alpha={alpha}: {error}") from error


def alpha_rank_limit(tables: Sequence[ArrayLike], epsilon: float = 0.01) -> Array:
    """Return the share of time at every state for infinite alpha.

    A better state is taken with probability 1 - epsilon, a worse one with epsilon: the sign of
    payoff differences decides, not their size.

    >>> limit = alpha_rank_limit([[[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]]])
    >>> limit.round(6).tolist()
    [0.980198, 0.014777, 0.005025]
    """
    return _shares(tables, use_inf_alpha=True, inf_alpha_eps=share("epsilon", epsilon))


def _shares(tables: Sequence[ArrayLike], **settings: float) -> Array:
    from open_spiel.python.egt import alpharank  # draws in matplotlib: a second

    game = _checked(tables)
    with np.errstate(over="ignore", invalid="ignore"):  # OpenSpiel refuses what overflows
        return np.asarray(alpharank.compute(game, **settings)[2])


def _checked(tables: Sequence[ArrayLike]) -> list[Array]:
    game = [finite(f"payoffs of role {k}", table) for k, table in enumerate(tables)]
    shape = game[0].shape if game else ()
    symmetric = len(game) == 1 and len(shape) == 2 and shape[0] == shape[1]
    if not symmetric and (not game or any(t.shape != shape or t.ndim != len(game) for t in game)):
        shapes = ", ".join(str(t.shape) for t in game) or "none"
        raise ConfigError(f"a game of K roles needs K tables with K axes; got shapes {shapes}")
    if max(shape) < 2:
        raise ConfigError("alpha-Rank needs at least two agents")
    return game


@dataclass(frozen=True)
class Sweep:
    """Ranks over growing selection intensity."""

    alphas: Array
    """Selection intensities, each twice the one before, in units of 1 / payoff range."""
    shares: Array
    """Share of time [alphas, states]."""
    settled: bool
    """Whether the last two agree and every difference in payoff has been felt; not where
    transitions became too rare to compute before that."""


def sweep(tables: Sequence[ArrayLike], most: int = MOST_ALPHAS) -> Sweep:
    """Return ranks while alpha doubles, until they stop changing.

    Ranks can rest while alpha is between the scales of two payoff differences, so the smallest
    difference must have been felt too (alpha times it above 1).
    """
    game = _checked(tables)
    scaled = [table / (np.ptp(np.stack(game)) or 1.0) for table in game]
    alphas, shares, settled = [START], [alpha_rank(scaled, START)], False
    while not settled and len(alphas) < most:
        try:
            shares.append(alpha_rank(scaled, 2 * alphas[-1]))
        except ConfigError:
            break
        alphas.append(2 * alphas[-1])
        settled = alphas[-1] * _least(scaled) >= 1 and np.allclose(shares[-1], shares[-2])
    return Sweep(np.array(alphas), np.stack(shares), settled)


def _least(game: Sequence[Array]) -> float:
    pairs = [game[0] - game[0].T] if len(game) == 1 else [_along(t, k) for k, t in enumerate(game)]
    gains = np.abs(np.concatenate([pair.ravel() for pair in pairs]))
    felt = gains[gains > 1e-14]
    return float(felt.min()) if len(felt) else np.inf


def _along(table: Array, axis: int) -> Array:
    moved = np.moveaxis(table, axis, 0)
    return moved[:, None] - moved[None]
