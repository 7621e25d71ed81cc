"""Tokens, requests and money that an agent used during a measurement.

Policies leave their token ids in the episodes; agents behind a server keep an account.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    cached_tokens: int = 0
    """Read and written for these when a server gave them."""
    cost: float = 0.0
    """In the currency of the prices; 0 without prices."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Requests without a reply, by cause."""

    @property
    def tokens(self) -> int:
        """All that the agent read and wrote, whoever gave it."""
        return self.prompt_tokens + self.sampled_tokens + self.cached_tokens

    def __add__(self, other: Usage) -> Usage:
        return self._with(other, operator.add)

    def __sub__(self, other: Usage) -> Usage:
        return self._with(other, operator.sub)

    def _with(self, other: Usage, sign: Callable[[Any, Any], Any]) -> Usage:
        names = vars(self).keys() - {"failures"}
        parts = {name: sign(getattr(self, name), getattr(other, name)) for name in names}
        failures = sign(Counter(self.failures), Counter(other.failures))
        return Usage(**parts, failures=dict(failures))


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
        cached_tokens=account.cached_tokens,
        cost=account.cost,
        failures=dict(account.failures),
    )


def tokens_of(episodes: Iterable[Episode], player: str) -> Usage:
    """Count a player's replies in some episodes, and their tokens where it is a policy."""
    own = [turn for e in episodes for turn in e.turns if turn.player == player]
    return Usage(
        replies=len(own),
        prompt_tokens=sum(len(t.prompt_ids or ()) for t in own),
        sampled_tokens=sum(len(t.token_ids or ()) for t in own),
    )
