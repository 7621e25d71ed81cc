"""Games in which a hidden cause inclines both seats and decides what they are paid.

A cause u is drawn. It gives every seat an inclination, an action that the seat would take by
itself, and it enters the payoffs. A seat acts at one of the three levels of Pearl's hierarchy:
`observe` takes the inclination as it comes; `do` sets an action without seeing it; `see` sees it
and then decides, so that it has an answer to what it would have done otherwise. A policy is thus a
map from inclinations to actions: the identity, a constant, or any.

The leader commits to a policy; the follower sees the policy and the action that came of it, weighs
causes by Bayes' rule, and replies. `solve` goes backwards through this tree; `normal_form` writes
the same game as a matrix, for the linear programmes of commitment.py.

After Sequential Causal Normal Form Games (Thumm 2025, arXiv 2511.06934), of which the abstract was
read: what a level lets a seat see and do is ours.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs

OBSERVE, DO, SEE = "observe", "do", "see"
LEVELS = (OBSERVE, DO, SEE)
EQUAL = 1e-9


class CausalGame(NamedTuple):
    """A hidden cause, what it inclines seats to, and payoffs."""

    odds_U: NDArray[np.float64]
    """Probability of every cause."""
    leans_US: NDArray[np.int64]
    """The action that every seat is inclined to."""
    payoffs_UXYS: NDArray[np.float64]
    """What the leader's action x and the follower's y pay both."""

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """The actions of both seats, from both ends of the alphabet."""
        _, lead, follow, _ = self.payoffs_UXYS.shape
        return list(string.ascii_uppercase[:lead]), list(string.ascii_uppercase[-follow:])


class Policy(NamedTuple):
    """How a seat acts."""

    level: str
    action_of: tuple[int, ...]
    """Inclination -> action."""


class Solution(NamedTuple):
    """What the leader commits to, and what both expect."""

    policy: Policy
    leader: float
    follower: float


def policies(actions: int, levels: Sequence[str] = LEVELS) -> list[Policy]:
    """Return every way to act at some levels, lower levels first.

    >>> [p.action_of for p in policies(2, ("observe", "do"))]
    [(0, 1), (0, 0), (1, 1)]
    >>> len(policies(2))
    7
    """
    every = {
        OBSERVE: [tuple(range(actions))],
        DO: [(a,) * actions for a in range(actions)],
        SEE: list(itertools.product(range(actions), repeat=actions)),
    }
    return [Policy(level, one) for level in LEVELS if level in levels for one in every[level]]


def expected(
    game: CausalGame, weight_U: NDArray[np.float64], action: int, reply: Policy
) -> NDArray[np.float64]:
    """Return what both expect, [2], where causes have some weights and the follower replies."""
    replies_U = np.array(reply.action_of)[game.leans_US[:, 1]]
    paid_US = game.payoffs_UXYS[np.arange(len(weight_U)), action, replies_U]
    found: NDArray[np.float64] = weight_U @ paid_US
    return found


def weights(game: CausalGame, policy: Policy, action: int) -> NDArray[np.float64]:
    """Return the joint probability of every cause with an action that came of a policy."""
    acts_U = np.array(policy.action_of)[game.leans_US[:, 0]]
    found: NDArray[np.float64] = game.odds_U * (acts_U == action)
    return found


def best_reply(
    game: CausalGame,
    weight_U: NDArray[np.float64],
    action: int,
    levels: Sequence[str] = LEVELS,
) -> Policy:
    """Return the follower's best way to act; ties favour the leader, and then the lower level."""
    options = policies(game.payoffs_UXYS.shape[2], levels)
    worth = np.array([expected(game, weight_U, action, p) for p in options])
    best = np.flatnonzero(worth[:, 1] >= worth[:, 1].max() - EQUAL)
    return options[best[np.flatnonzero(worth[best, 0] >= worth[best, 0].max() - EQUAL)[0]]]


def value_of(
    game: CausalGame, policy: Policy, levels: Sequence[str] = LEVELS
) -> NDArray[np.float64]:
    """Return what both expect of a commitment, [2], where the follower replies best."""
    total = np.zeros(2)
    for action in sorted(set(policy.action_of)):
        weight_U = weights(game, policy, action)
        reply = best_reply(game, weight_U, action, levels)
        total = total + expected(game, weight_U, action, reply)
    return total


def solve(
    game: CausalGame,
    levels: Sequence[str] = LEVELS,
    replies: Sequence[str] = LEVELS,
) -> Solution:
    """Return the commitment that is best by backward induction; of equals the lowest level.

    Args:
        game: the game.
        levels: at which the leader may act.
        replies: at which the follower may.
    """
    found = []
    for policy in policies(game.payoffs_UXYS.shape[1], levels):
        leader, follower = value_of(game, policy, replies)
        found.append(Solution(policy, float(leader), float(follower)))
    top = max(one.leader for one in found)
    return next(one for one in found if one.leader >= top - EQUAL)


def normal_form(game: CausalGame) -> MatrixGame:
    """Return the matrix of the leader's maps and the follower's plans, one map for every action."""
    _, lead, follow, _ = game.payoffs_UXYS.shape
    maps = list(itertools.product(range(lead), repeat=lead))
    plans = list(itertools.product(itertools.product(range(follow), repeat=follow), repeat=lead))
    payoffs = np.zeros((len(maps), len(plans), 2))
    for u, odds in enumerate(game.odds_U):
        first, second = game.leans_US[u]
        for i, acts in enumerate(maps):
            for j, plan in enumerate(plans):
                x = acts[first]
                payoffs[i, j] += odds * game.payoffs_UXYS[u, x, plan[x][second]]
    return game_of_payoffs(payoffs)


def blind(game: CausalGame) -> MatrixGame:
    """Return the classical game of actions alone: payoffs are means over causes."""
    return game_of_payoffs(np.tensordot(game.odds_U, game.payoffs_UXYS, axes=1))


def drawn(
    rng: np.random.Generator, causes: int = 2, actions: int = 2, confounded: bool = True
) -> CausalGame:
    """Return a random game: payoffs 0 to 9, causes equally likely, inclinations drawn.

    Args:
        rng: what draws.
        causes: how many there are.
        actions: of each seat.
        confounded: whether payoffs depend on the cause; else it moves inclinations alone.
    """
    payoffs = rng.integers(0, 10, (causes, actions, actions, 2)).astype(float)
    if not confounded:
        payoffs[:] = payoffs[0]
    leans = rng.integers(0, actions, (causes, 2))
    return CausalGame(np.full(causes, 1 / causes), leans, payoffs)
