"""Hiring several agents to gather information: what they see, and the best mechanism, by an LP.

A state is 0 or 1, each with probability 1/2. An agent that works, at a cost, sees it rightly with
probability `accuracy`; one that rests sees a coin. With probability `shared` two that work see
through the same luck: both are right or both are wrong. A mechanism draws recommended efforts, pays
for reports, and decides. The best that makes everybody obey and report truly is a linear programme
in the probability of recommendation and decision, and in payments times probability (Cacciamani,
Castiglioni, Gatti 2023, arXiv 2307.06210).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

EFFORTS = tuple(itertools.product((0, 1), repeat=2))
"""Efforts of both agents."""
SIGNALS = EFFORTS
"""Signals of both agents."""
REPORTS = EFFORTS
"""What an agent reports for signal 0 and for signal 1; (0, 1) is the truth."""


class Market(NamedTuple):
    """What a principal faces; it earns `value` for a right decision."""

    accuracy: float = 0.7
    shared: float = 1.0
    value: float = 20.0
    cost: float = 1.0
    cap: float = 8.0
    """Largest payment to one agent."""


def signals(market: Market) -> NDArray[np.float64]:
    """Return P(signals | efforts, state) as [e0, e1, state, s0, s1].

    >>> found = signals(Market(accuracy=0.9, shared=1.0))
    >>> found[1, 1, 0].round(2).tolist(), found[1, 0, 1].round(2).tolist()
    ([[0.9, 0.0], [0.0, 0.1]], [[0.05, 0.05], [0.45, 0.45]])
    """
    found = np.zeros((2, 2, 2, 2, 2))
    for e0, e1, state, s0, s1 in itertools.product((0, 1), repeat=5):
        one, two = (_seen(market, e, s == state) for e, s in ((e0, s0), (e1, s1)))
        apart = one * two
        if e0 and e1:
            same = _seen(market, 1, s0 == state) * (s0 == s1)
            apart = market.shared * same + (1 - market.shared) * apart
        found[e0, e1, state, s0, s1] = apart
    return found


def _seen(market: Market, effort: int, right: bool) -> float:
    if not effort:
        return 0.5
    return market.accuracy if right else 1 - market.accuracy


class Mechanism(NamedTuple):
    """The best mechanism for a table of signals, and what it is worth to the principal."""

    value: float
    recommended: NDArray[np.float64]
    """Probability of both efforts [e0, e1]."""
    decided: NDArray[np.float64]
    """Probability of efforts and decision [e0, e1, s0, s1, decision], over all given signals."""
    paid: NDArray[np.float64]
    """Payment times probability of the efforts [agent, e0, e1, s0, s1, state]."""


_Y, _Z = 32, 64
"""Numbers of variables: efforts, signals and decision; agent, efforts, signals and state."""


def best_mechanism(
    market: Market, chance: NDArray[np.float64] | None = None, slack: float = 0.0
) -> Mechanism:
    """Return the mechanism that is best for the principal among those that all obey.

    Args:
        market: value, cost and cap of payments.
        chance: P(signals | efforts, state), as believed; None for the market's own.
        slack: how much worse than obeying all else must be for an agent that is to work, where
            beliefs are estimates; one that is to rest has no reason to lie.

    >>> best = best_mechanism(Market(accuracy=0.7, shared=1.0))
    >>> round(best.value, 3), best.recommended.round(3).tolist()
    (11.714, [[0.0, 0.429], [0.429, 0.143]])
    """
    chance = signals(market) if chance is None else chance
    joint = 0.5 * chance.transpose(0, 1, 3, 4, 2)  # [e0, e1, s0, s1, state]
    worth = np.concatenate([market.value * joint.ravel(), -np.tile(joint.ravel(), 2)])
    rules = np.vstack([_obeyed(market, joint, slack), _capped(market)])
    sums = _one_distribution()
    found = linprog(-worth, rules, np.zeros(len(rules)), sums, np.eye(1, len(sums))[0])
    y, z = found.x[:_Y].reshape((2,) * 5), found.x[_Y:].reshape((2,) * 6)
    return Mechanism(-float(found.fun), y[:, :, 0, 0].sum(-1), y, z)


def _row() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return an empty row of the programme, and its parts for recommendations and payments."""
    row = np.zeros(_Y + _Z)
    return row, row[:_Y].reshape((2,) * 5), row[_Y:].reshape((2,) * 6)


def _one_distribution() -> NDArray[np.float64]:
    """Return the sums: efforts are a distribution, and decisions one at all signals alike."""
    row, y, _ = _row()
    y[:, :, 0, 0] = 1
    rows = [row]
    for e0, e1 in EFFORTS:
        for s0, s1 in SIGNALS[1:]:
            row, y, _ = _row()
            y[e0, e1, 0, 0] -= 1
            y[e0, e1, s0, s1] += 1
            rows.append(row)
    return np.array(rows)


def _capped(market: Market) -> NDArray[np.float64]:
    """Return rows that keep each payment under the cap."""
    rows = []
    for index in itertools.product((0, 1), repeat=6):
        row, y, z = _row()
        z[index] = 1
        y[index[1], index[2], 0, 0] = -market.cap
        rows.append(row)
    return np.array(rows)


def _obeyed(market: Market, joint: NDArray[np.float64], slack: float) -> NDArray[np.float64]:
    """Return rows that make other efforts and reports of an agent no better than obeying."""
    rows = []
    for i, told, done, said in itertools.product((0, 1), (0, 1), (0, 1), REPORTS):
        if (done, said) == (told, (0, 1)):
            continue
        row, y, z = _row()
        for other in (0, 1):
            asked = (told, other) if i == 0 else (other, told)
            real = (done, other) if i == 0 else (other, done)
            y[(*asked, 0, 0)] += market.cost * (told - done) + slack * told
            for s0, s1 in SIGNALS:
                heard = (said[s0], s1) if i == 0 else (s0, said[s1])
                z[(i, *asked, *heard)] += joint[(*real, s0, s1)]
                z[(i, *asked, s0, s1)] -= joint[(*asked, s0, s1)]
        rows.append(row)
    return np.array(rows)
