"""What a player of a repeated matrix game says: partly reciprocal, partly selfish, partly random.

Skilled play is the mixture of three players, read from the round before: one plays tit-for-tat, one
cooperates after mutual cooperation only, one always defects. Cooperation is answered with more of
it, and there is room to learn either way.
"""

from __future__ import annotations

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.envs.core.parsing import answer

RECIPROCAL, UNFORGIVING, SELFISH = 0.5, 0.25, 0.25
"""Shares of tit-for-tat, grim and always-defect in skilled play."""


def speak(request: Request, skill: float) -> Speech:
    """Give the replies of a speaker and their odds.

    Args:
        request: of `coevo/iterated_game-v0`.
        skill: share of skilled play; the rest is uniform.
    """
    legal = request.info["legal_actions"]
    if legal is None:
        return _talk(skill)
    flat = np.full(len(legal), 1 / len(legal))
    odds = skill * _good(request, len(legal)) + (1 - skill) * flat
    return Speech(tuple(map(answer, legal)), odds)


def _good(request: Request, count: int) -> np.ndarray:
    if count != 2:
        return np.full(count, 1 / count)
    history, player = request.info["history"], int(request.info["player"])
    if not history:
        share = 1 - SELFISH
    else:
        last = [int(action) for action in history[-1]]
        own, others = last[player], any(last[:player] + last[player + 1 :])
        share = RECIPROCAL * (not others) + UNFORGIVING * (not others and not own)
    return np.array([share, 1 - share])


def _talk(skill: float) -> Speech:
    """Promise the first choice, or say something else."""
    replies = ("[say: I choose A.]", "[say: I choose B.]", "[say: Hello.]")
    return Speech(replies, skill * np.array([0.8, 0.1, 0.1]) + (1 - skill) * np.full(3, 1 / 3))
