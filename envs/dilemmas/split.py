"""Dividing coins by claims: the payoff of Trust-and-Split as a pure function."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

HANDS = ("rock", "paper", "scissors")
"""Each beats the one before it; rock beats scissors."""


def split_shares(claims: ArrayLike, coins: float = 10.0) -> NDArray[np.float64]:
    """Share coins out in proportion to claims: q_i = n p_i / max(n, sum(p)).

    Claims that sum to less than the coins are met, and the rest is lost.

    Returns:
        Shares [..., N].

    >>> split_shares([[10, 10], [2, 3], [10, 0]]).tolist()
    [[5.0, 5.0], [2.0, 3.0], [10.0, 0.0]]
    """
    wanted = np.asarray(claims, dtype=np.float64)
    return coins * wanted / np.maximum(coins, wanted.sum(axis=-1, keepdims=True))


def split_payoff(claims: ArrayLike, values: ArrayLike, coins: float = 10.0) -> NDArray[np.float64]:
    """Pay the shares of a split: r_i = q_i v_i (AdAlign-LLM, arXiv 2511.19405).

    >>> split_payoff([10, 10], [10, 1]).tolist()
    [50.0, 5.0]
    """
    return split_shares(claims, coins) * np.asarray(values, dtype=np.float64)


def beats(hand: str, other: str) -> bool:
    """Return whether a hand wins against another.

    >>> beats("rock", "scissors"), beats("rock", "paper"), beats("rock", "rock")
    (True, False, False)
    """
    return (HANDS.index(hand) - HANDS.index(other)) % 3 == 1
