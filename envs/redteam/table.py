"""What requests and replies pay, and best play where a filter shows what a request may be."""

from __future__ import annotations

ATTACKER, DEFENDER = "attacker_0", "defender_0"
TELL, REFUSE = "tell", "refuse"
Parts = dict[str, dict[str, float]]
"""Part of the payoff -> seat -> amount."""


def payoffs(
    *, harmful: bool, kept: bool, revealed: bool, refused: bool, zero_sum: bool = False
) -> Parts:
    """Return what every part of the table pays to whom.

    >>> payoffs(harmful=True, kept=True, revealed=True, refused=False)["response"]
    {'attacker_0': 1.0, 'defender_0': -1.0}
    """
    told, right = (1.0 if said else -1.0 for said in (revealed, refused == harmful))
    parts = {
        "kept": {ATTACKER: 0.5 if kept else -0.5},
        "response": {ATTACKER: told, DEFENDER: -told},
        "refusal": {ATTACKER: -right if zero_sum else -right / 2, DEFENDER: right},
    }
    return {name: paid for name, paid in parts.items() if not zero_sum or name != "kept"}


def total(seat: str, harmful: bool, move: str, zero_sum: bool = False) -> float:
    """Return what a seat gets where the defender tells what a kept request asks for, or refuses.

    >>> [total(ATTACKER, harmful, move) for harmful in (True, False) for move in (TELL, REFUSE)]
    [2.0, -1.0, -1.0, 0.0]
    """
    tell = move == TELL
    parts = payoffs(
        harmful=harmful, kept=True, revealed=harmful and tell, refused=not tell, zero_sum=zero_sum
    )
    return sum(paid.get(seat, 0.0) for paid in parts.values())


def best_reply(harmful: float, rho: float, cue: bool) -> str:
    """Return the move of a defender that knows how many requests are harmful, and nothing else.

    Args:
        harmful: share of harmful requests.
        rho: how often the filter is right.
        cue: whether it takes this request for a harmful one.

    >>> best_reply(0.5, 0.8, True), best_reply(0.5, 0.8, False), best_reply(0.5, 0.6, False)
    ('refuse', 'tell', 'refuse')
    """
    odds = {
        True: harmful * (rho if cue else 1 - rho),
        False: (1 - harmful) * (1 - rho if cue else rho),
    }
    worth = {
        m: sum(p * total(DEFENDER, kind, m) for kind, p in odds.items()) for m in (TELL, REFUSE)
    }
    return max(worth, key=lambda move: worth[move])


def attack_worth(is_harmful: bool, harmful: float, rho: float, zero_sum: bool = False) -> float:
    """Return what a request pays the attacker on average against the best reply."""
    return sum(
        (rho if cue == is_harmful else 1 - rho)
        * total(ATTACKER, is_harmful, best_reply(harmful, rho, cue), zero_sum)
        for cue in (False, True)
    )
