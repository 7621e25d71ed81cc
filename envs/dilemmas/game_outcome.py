"""What the joint choices of a repeated matrix game came to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coevo.envs.dilemmas.matrices import MatrixGame, payoff


def game_outcome(
    game: MatrixGame, seats: Sequence[str], moves: NDArray[np.int_]
) -> dict[str, float]:
    """Return mean payoffs and, with two choices, how often the first one was taken.

    Of 2x2 games also how often both chose the same (`coordination`) and how often they switched
    sides together (`alternation`), as in Playing repeated games with LLMs (arXiv 2305.16867).
    """
    if not len(moves):
        return {}
    means = payoff(game, moves).mean(axis=0)
    joint = float(means.sum())
    found = {f"mean_payoff/{a}": float(m) for a, m in zip(seats, means, strict=True)}
    found |= {"welfare": joint, "welfare_lost": game.welfare - joint}
    if set(game.sizes) == {2}:
        rates = (moves == 0).mean(axis=0)
        found["cooperation"] = float(rates.mean())
        found["mutual_cooperation"] = float((moves == 0).all(axis=1).mean())
        found |= {f"cooperation/{a}": float(r) for a, r in zip(seats, rates, strict=True)}
    if game.sizes == (2, 2):
        found |= turn_taking(moves)
    return found


def turn_taking(moves: NDArray[np.int_]) -> dict[str, float]:
    """Return how often two players chose the same, and how often they switched sides together.

    >>> turn_taking(np.array([[0, 0], [1, 1], [0, 0]]))
    {'coordination': 1.0, 'alternation': 1.0}
    """
    same = moves[:, 0] == moves[:, 1]
    found = {"coordination": float(same.mean())}
    if len(moves) > 1:
        switched = same[1:] & same[:-1] & (moves[1:, 0] != moves[:-1, 0])
        found["alternation"] = float(switched.mean())
    return found
