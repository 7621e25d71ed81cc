"""What kind of game a payoff tensor is: dilemmas, equilibria, dominance, risk dominance."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.matrices import MatrixGame

CLOSE = 1e-12


class Dilemma(NamedTuple):
    """Why a symmetric game of two actions is a social dilemma, or why not."""

    all_better: bool
    """R_C(N-1) > R_D(0): all gain if all cooperate."""
    never_exploited: bool
    """R_C(N-1) > R_C(0): a cooperator is better off among cooperators."""
    fear: bool
    """R_D(k) > R_C(k) for some small k, under half of the others: defecting against defectors."""
    greed: bool
    """R_D(k) > R_C(k) for some large k, half of the others or more: defecting among cooperators."""

    @property
    def holds(self) -> bool:
        """Whether it is a social dilemma: both inequalities, and fear or greed."""
        return self.all_better and self.never_exploited and (self.fear or self.greed)


def schelling_curves(game: MatrixGame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give R_C(k) and R_D(k): payoffs with k other cooperators, k = 0..N-1.

    Args:
        game: symmetric, with two actions; action 0 is to cooperate.
    """
    if set(game.sizes) != {2} or not game.symmetric:
        raise ConfigError(
            f"{game.name} must be symmetric with two actions to have Schelling curves"
        )
    count = game.players
    curves = np.empty((2, count))
    for action, k in itertools.product(range(2), range(count)):
        joint = (action, *[0] * k, *[1] * (count - 1 - k))
        curves[action, k] = game.payoffs[(*joint, 0)]
    return curves[0], curves[1]


def social_dilemma(game: MatrixGame) -> Dilemma:
    """Check the inequalities of a social dilemma on the Schelling curves (Hughes et al., 2018).

    >>> from coevo.envs.dilemmas.matrices import matrix_game
    >>> social_dilemma(matrix_game("prisoners_dilemma")).holds
    True
    >>> social_dilemma(matrix_game("harmony")).holds
    False
    """
    give, keep = schelling_curves(game)
    tempted = keep > give + CLOSE
    few = np.arange(game.players) < (game.players - 1) / 2
    return Dilemma(
        all_better=bool(give[-1] > keep[0] + CLOSE),
        never_exploited=bool(give[-1] > give[0] + CLOSE),
        fear=bool((tempted & few).any()),
        greed=bool((tempted & ~few).any()),
    )


def pure_equilibria(game: MatrixGame) -> list[tuple[int, ...]]:
    """List the joint moves from which nobody gains by moving alone.

    >>> from coevo.envs.dilemmas.matrices import matrix_game
    >>> pure_equilibria(matrix_game("chicken"))
    [(0, 1), (1, 0)]
    """
    stable = np.ones(game.sizes, dtype=bool)
    for player in range(game.players):
        own = game.payoffs[..., player]
        stable &= own >= own.max(axis=player, keepdims=True) - CLOSE
    return [tuple(map(int, cell)) for cell in np.argwhere(stable)]


def dominant_action(game: MatrixGame, player: int) -> int | None:
    """Give the action that is strictly best whatever the others do; None where there is none."""
    own = np.moveaxis(game.payoffs[..., player], player, 0)
    own = own.reshape(own.shape[0], -1)
    best = int(own[:, 0].argmax())
    rest = np.delete(own, best, axis=0).max(axis=0)
    return best if (own[best] > rest + CLOSE).all() else None


def risk_dominance(game: MatrixGame) -> int:
    """Compare the products of deviation losses at (0,0) and (1,1) of a 2x2 game.

    Returns:
        1 where (0,0) risk-dominates, -1 where (1,1) does, 0 where they tie (Harsanyi, Selten).

    >>> from coevo.envs.dilemmas.matrices import matrix_game
    >>> risk_dominance(matrix_game("stag_hunt")), risk_dominance(matrix_game("stag_hunt_risky"))
    (0, -1)
    """
    if game.sizes != (2, 2) or not {(0, 0), (1, 1)} <= set(pure_equilibria(game)):
        raise ConfigError(f"{game.name}: risk dominance compares two equilibria on the diagonal")
    u, v = game.payoffs[..., 0], game.payoffs[..., 1]
    first = (u[0, 0] - u[1, 0]) * (v[0, 0] - v[0, 1])
    second = (u[1, 1] - u[0, 1]) * (v[1, 1] - v[1, 0])
    return 0 if abs(first - second) <= CLOSE else int(np.sign(first - second))


def efficient_welfare(game: MatrixGame) -> float:
    """Give the highest sum of payoffs that one joint move reaches."""
    return float(game.payoffs.sum(axis=-1).max())
