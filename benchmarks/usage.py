"""Tokens, requests and money that an agent used during a measurement.

Policies leave their token ids in the episodes; agents behind a server keep an account.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coevo.agents.agent import Agent
from coevo.envs.core.episode import Episode


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and money of one agent."""

    replies: int = 0
    prompt_tokens: int = 0
    sampled_tokens: int = 0
    requests: int = 0
    """Replies that a server gave; the rest came from this machine or a cache."""
    hits: int = 0
    """Replies that a cache gave."""
    cost: float = 0.0
    """In the currency of the prices; 0 without prices."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    def __sub__(self, other: Usage) -> Usage:
        return Usage(**{name: mine - getattr(other, name) for name, mine in vars(self).items()})


def account_of(agent: Agent) -> Usage:
    """Return an agent's account up to now; all 0 for agents that keep none."""
    account = agent.usage
    if account is None:
        return Usage()
    return Usage(
        prompt_tokens=account.prompt_tokens,
        sampled_tokens=account.completion_tokens,
        requests=account.requests,
        hits=account.hits,
        cost=account.cost,
    )


def tokens_of(episodes: Iterable[Episode], player: str) -> Usage:
    """Count a player's replies in some episodes, and their tokens where it is a policy."""
    own = [turn for e in episodes for turn in e.turns if turn.player == player]
    return Usage(
        replies=len(own),
        prompt_tokens=sum(len(t.prompt_ids or ()) for t in own),
        sampled_tokens=sum(len(t.token_ids or ()) for t in own),
    )
