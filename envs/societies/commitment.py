"""The value of commitment: strong Stackelberg equilibria by linear programmes.

The leader commits to a mixed strategy x; for each follower action j an LP finds the best x for
which j is a best reply, and the best of these is the equilibrium (Conitzer, Sandholm 2006): ties
are broken in the leader's favour.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from coevo.envs.dilemmas.matrices import MatrixGame

EQUAL = 1e-9


class Commitment(NamedTuple):
    """What a leader can commit to, and what follows."""

    mix: tuple[float, ...]
    """Probabilities of the leader's actions."""
    reply: int
    """The follower's action."""
    leader: float
    """The leader's expected payoff."""
    follower: float
    """The follower's."""


def stackelberg(game: MatrixGame) -> Commitment:
    """Return the strong Stackelberg equilibrium of a two-player game with player 0 leading.

    >>> from coevo.envs.dilemmas.catalogue import matrix_game
    >>> stackelberg(matrix_game("commitment")).leader
    3.5
    """
    best = None
    for reply, most in enumerate(game.payoffs[..., 0].max(axis=0)):
        if best is None or most > best.leader:  # else no mix is worth more
            found = _committed_for(game, reply)
            best = found if best is None or (found and found.leader > best.leader) else best
    assert best is not None  # some reply is best to any mix
    return best


def _committed_for(game: MatrixGame, reply: int) -> Commitment | None:
    """Return the best commitment to which a reply is best; None where it never is."""
    leader, follower = game.payoffs[..., 0], game.payoffs[..., 1]
    worse = (follower - follower[:, [reply]]).T  # what the follower would gain by each other reply
    solved = linprog(
        -leader[:, reply],
        A_ub=worse,
        b_ub=np.zeros(len(worse)),
        A_eq=np.ones((1, len(leader))),
        b_eq=[1.0],
        bounds=(0, 1),
    )
    if not solved.success:
        return None
    mix = np.clip(solved.x, 0, 1)
    return _outcome(game, mix / mix.sum(), reply)


def best_reply(game: MatrixGame, mix: NDArray[np.float64]) -> int:
    """Return the follower's best action against a mixed strategy; ties favour the leader."""
    own, other = mix @ game.payoffs[..., 1], mix @ game.payoffs[..., 0]
    best = np.flatnonzero(own >= own.max() - EQUAL)
    return int(best[other[best].argmax()])


def best_on_grid(game: MatrixGame, steps: int) -> Commitment:
    """Return the best commitment in multiples of 1 / steps; of equals the first."""
    found = [
        _outcome(game, np.array(mix) / steps, best_reply(game, np.array(mix) / steps))
        for mix in mixtures(game.sizes[0], steps)
    ]
    return max(found, key=lambda c: round(c.leader, 9))


def mixtures(actions: int, steps: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share so many steps out among actions, the first getting most first.

    >>> list(mixtures(2, 2))
    [(2, 0), (1, 1), (0, 2)]
    """
    for bars in itertools.combinations(range(steps + actions - 1), actions - 1):
        edges = (-1, *bars, steps + actions - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))[::-1]


def _outcome(game: MatrixGame, mix: NDArray[np.float64], reply: int) -> Commitment:
    paid = np.tensordot(mix, game.payoffs[:, reply], axes=1)
    return Commitment(tuple(map(float, mix)), reply, float(paid[0]), float(paid[1]))
