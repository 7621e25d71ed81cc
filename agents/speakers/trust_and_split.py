"""What a player of Trust-and-Split says: its hand, mostly, and claims that depend on both hands.

Skilled play tells the own hand, takes everything with the upper one, and with the lower one gives
way to an other who gave way when it had the lower hand, while it pays greed back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.agents.split_strategies import other_hand
from coevo.envs.core.parsing import answer
from coevo.envs.dilemmas.split import HANDS, beats

GIVES_WAY = {"trusted": 0.7, "unknown": 0.5, "greedy": 0.15}
"""How often skilled play leaves the coins to the upper hand, by what the other did when low."""
HONEST = 0.9


def speak(request: Request, skill: float) -> Speech:
    """Give the replies of a speaker and their odds.

    Args:
        request: of `coevo/trust_and_split-v0`.
        skill: share of skilled play; the rest is uniform.
    """
    info = request.info
    if info["legal_actions"] is None:
        replies = tuple(f"[say: I have {hand}.]" for hand in HANDS)
        honest = np.array([hand == info["hand"] for hand in HANDS])
        good = np.where(honest, HONEST, (1 - HONEST) / 2)
        return Speech(replies, _mixed(good, skill))
    claims = np.array([int(move) for move in info["legal_actions"]])
    replies = tuple(map(answer, info["legal_actions"]))
    return Speech(replies, _mixed(_claim(info, claims), skill))


def _claim(info: Mapping[str, Any], claims: np.ndarray) -> np.ndarray:
    """Give the odds of skilled claims."""
    everything, nothing = (np.eye(len(claims))[i] for i in (-1, 0))
    half = np.eye(len(claims))[np.abs(claims - info["coins"] / 2).argmin()]
    other = other_hand(info)
    if other is None:
        return 0.5 * everything + 0.5 * half
    if beats(str(info["hand"]), other):
        return everything
    giving = GIVES_WAY[_standing(info)]
    return giving * nothing + (1 - giving) * everything


def _standing(info: Mapping[str, Any]) -> str:
    """Judge the other by its claim in the last round, where it had the lower hand."""
    player = int(info["player"])
    last = info["history"][-1] if info["history"] else None
    if last is None or last["upper"] != player:
        return "unknown"
    return "trusted" if 2 * last["claims"][1 - player] < info["coins"] else "greedy"


def _mixed(good: np.ndarray, skill: float) -> np.ndarray:
    return skill * good + (1 - skill) * np.full(len(good), 1 / len(good))
