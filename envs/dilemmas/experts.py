"""How experts play repeated dilemmas, as functions of what a seat knows.

In a matrix game skilled play is the mixture of three players, read from the round before: one plays
tit-for-tat, one cooperates after mutual cooperation only, one always defects. Cooperation is
answered with more of it, and there is room to learn either way.

Skilled play of Trust-and-Split says the own hand, takes everything with the upper one, and with
the lower one gives way to an other who gave way when it had the lower hand, while it pays greed
back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.task import Replies
from coevo.envs.dilemmas.split import HANDS, beats

RECIPROCAL, UNFORGIVING, SELFISH = 0.5, 0.25, 0.25
"""Shares of tit-for-tat, grim and always-defect in skilled play."""
GIVES_WAY = {"trusted": 0.7, "unknown": 0.5, "greedy": 0.15}
"""How often skilled play leaves the coins to the upper hand, by what the other did when low."""
HONEST = 0.9


def reciprocal(history: Sequence[Sequence[int]], player: int, count: int) -> NDArray[np.float64]:
    """Return the probabilities of skilled choices; where they are not two, all are one to it.

    >>> reciprocal([(0, 1)], 0, 2).tolist(), reciprocal([], 0, 2).tolist()
    ([0.0, 1.0], [0.75, 0.25])
    """
    if count != 2:
        return np.full(count, 1 / count)
    share = 1 - SELFISH
    if history:
        own, others = history[-1][player], any(a for i, a in enumerate(history[-1]) if i != player)
        share = RECIPROCAL * (not others) + UNFORGIVING * (not others and not own)
    return np.array([share, 1 - share])


def promises(skill: float, choices: Sequence[str] = ("choose A", "choose B")) -> Replies:
    """Return a promise of the first choice, or something else."""
    texts = (f"[say: I {choices[0]}.]", f"[say: I {choices[1]}.]", "[say: Hello.]")
    return Replies(texts, skill * np.array([0.8, 0.1, 0.1]) + (1 - skill) / 3)


def claim_of_hand(hand: str, skill: float) -> Replies:
    """Return messages that tell a hand, mostly the own one."""
    honest = np.array([hand == other for other in HANDS])
    good = np.where(honest, HONEST, (1 - HONEST) / 2)
    texts = tuple(f"[say: I have {other}.]" for other in HANDS)
    return Replies(texts, skill * good + (1 - skill) / len(HANDS))


def split_claim(info: Mapping[str, Any], claims: Sequence[int]) -> NDArray[np.float64]:
    """Return the probabilities of skilled claims."""
    nothing, *_, everything = np.eye(len(claims))
    half = np.eye(len(claims))[np.abs(np.array(claims) - info["coins"] / 2).argmin()]
    other = other_hand(info)
    if other is None:
        return 0.5 * everything + 0.5 * half
    if beats(str(info["hand"]), other):
        return everything
    giving = GIVES_WAY[_standing(info)]
    return giving * nothing + (1 - giving) * everything


def other_hand(info: Mapping[str, Any]) -> str | None:
    """Return the other's hand: as shown, or as its message says if that names one possible hand."""
    if "hands" in info:
        return str(info["hands"][1 - info["player"]])
    own = f"player_{info['player']}"
    heard = " ".join(text for seat, text in info["messages"].items() if seat != own).lower()
    named = {hand for hand in HANDS if re.search(rf"\b{hand}\b", heard)} - {info["hand"]}
    return named.pop() if len(named) == 1 else None


def _standing(info: Mapping[str, Any]) -> str:
    """Judge the other by its claim in the last round, where it had the lower hand."""
    player = int(info["player"])
    last = info["history"][-1] if info["history"] else None
    if last is None or last["upper"] != player:
        return "unknown"
    return "trusted" if 2 * last["claims"][1 - player] < info["coins"] else "greedy"
