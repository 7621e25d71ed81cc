"""Accounts of the donor game: who meets whom, what giving comes to, who survives a generation.

From Cultural Evolution of Cooperation among LLM Agents (Vallinder, Hughes; arXiv 2412.10270): half
of the players start as donors and roles alternate, so that a pair never meets twice in the same
order; a generation plays twice with roles swapped, and what counts is the mean of both games.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Donation(NamedTuple):
    """What one donor did once."""

    round: int
    donor: int
    recipient: int
    share: float
    """Of the donor's resources that was given; negative where it was spent on punishing."""
    heads: tuple[float, float]
    """Resources of donor and recipient before it."""


def pairs(order: Sequence[int], round: int, swapped: bool) -> list[tuple[int, int]]:
    """Return who gives to whom in a round.

    Args:
        order: all players; the first half are donors in round 0.
        round: from 0; in as many rounds as there are players no pair repeats in the same order.
        swapped: let the second half begin.

    >>> pairs([0, 1, 2, 3], 0, False), pairs([0, 1, 2, 3], 1, False)
    ([(0, 2), (1, 3)], [(2, 1), (3, 0)])
    """
    half = len(order) // 2
    first, second = order[:half], order[half:]
    turn = round // 2
    if (round % 2 == 1) != swapped:  # the second half gives, to those whom it will not meet next
        turn += half // 2
        return [(second[i], first[(i - turn) % half]) for i in range(half)]
    return [(first[i], second[(i + turn) % half]) for i in range(half)]


def trace(history: Sequence[Donation], player: int, links: int) -> list[Donation]:
    """Return what a player gave last, what its recipient had given before that, and so on.

    Args:
        history: donations in order.
        player: whose reputation it is.
        links: length at most; fewer where nothing is known.
    """
    found: list[Donation] = []
    for past in reversed(history):
        if len(found) == links:
            break
        if past.donor == player and (not found or past.round < found[-1].round):
            found.append(past)
            player = past.recipient
    return found


def final_mean(share: float, endowment: float, multiplier: float, rounds: int) -> float:
    """Return mean final resources where every donor gives a share of what it has.

    Resources are linear in the shares, so that this is exact for random shares with that mean too.

    >>> final_mean(1.0, 10, 2, 12), final_mean(0.0, 10, 2, 12)
    (30720.0, 10.0)
    """
    donors = others = endowment
    for _ in range(rounds):
        gift = share * donors
        donors, others = others + multiplier * gift, donors - gift
    return (donors + others) / 2


def most_units(endowment: float, multiplier: float, rounds: int) -> float:
    """Return a bound on what anybody can have: who keeps all, and meets donors who had all before.

    >>> most_units(10, 2, 1), most_units(10, 2, 3)
    (30, 170)
    """
    donor = recipient = endowment
    for _ in range(rounds):
        donor, recipient = recipient + multiplier * donor, donor
    return donor


def survivors(scores: Sequence[float]) -> list[int]:
    """Return the better half, best first; of equals the one with the lower number.

    >>> survivors([1.0, 5.0, 5.0, 0.0])
    [1, 2]
    """
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return order[: len(scores) // 2]
