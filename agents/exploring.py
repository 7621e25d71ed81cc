"""A policy that sometimes makes a random legal move instead of its own."""

from __future__ import annotations

from collections.abc import Sequence

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.scripted import RandomAgent


class Exploring(Agent):
    """Plays as a policy does, but for a share of turns, which a random legal move takes.

    Replies to those carry no tokens, so nobody learns from them; what follows is learnt as usual.
    Self-play then visits positions that neither side would enter by itself (epsilon-greedy
    behaviour of Sutton & Barto 2018, 2.2, around a policy that samples).

    Args:
        policy: who plays otherwise; name and version are its own.
        share: of the turns with a list of legal moves, 0 to 1.
    """

    def __init__(self, policy: Agent, share: float) -> None:
        self.policy, self.share = policy, share
        self.name, self.version = policy.name, policy.version
        self._random = RandomAgent()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request; whether one is explored is drawn by the generator of its play."""
        explored = [bool(r.info["legal_actions"]) and r.rng.random() < self.share for r in requests]
        own = iter(
            self.policy.act([r for r, e in zip(requests, explored, strict=True) if not e])
            if not all(explored)
            else ()
        )
        return [
            self._random.act([r])[0] if e else next(own)
            for r, e in zip(requests, explored, strict=True)
        ]
