"""What an agent read and wrote during a measurement: tokens, requests, money.

Policies leave their token ids in the plays; agents behind a server keep an account.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from coevo.agents.agent import Agent
from coevo.envs.core.episode import Episode


class Account(Protocol):
    """Counts since an agent was made, as agents behind a server keep them."""

    requests: int
    """Replies that a server gave."""
    hits: int
    """Replies that a cache gave, for nothing."""
    prompt_tokens: int
    """Read by the model."""
    completion_tokens: int
    """Written by the model."""
    cost: float
    """Of these tokens; 0 where no prices are known."""


@runtime_checkable
class Metered(Protocol):
    """An agent that keeps an account."""

    @property
    def usage(self) -> Account:
        """Give the counts up to now."""
        ...


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Tokens and money of one agent."""

    replies: int = 0
    """Replies that it gave."""
    prompt_tokens: int = 0
    """Tokens that it read."""
    sampled_tokens: int = 0
    """Tokens that it wrote."""
    requests: int = 0
    """Replies that a server gave; the rest came from this machine or a cache."""
    hits: int = 0
    """Replies that a cache gave."""
    cost: float = 0.0
    """In the currency of the prices; 0 without prices."""

    def __add__(self, other: Spending) -> Spending:
        mine, theirs = asdict(self), asdict(other)
        return Spending(**{name: mine[name] + theirs[name] for name in mine})

    @classmethod
    def read(cls, data: dict[str, Any]) -> Spending:
        """Read what `asdict` wrote."""
        return cls(**data)


def used(agent: Agent) -> Spending:
    """Give an agent's account up to now; all 0 for agents that keep none."""
    if not isinstance(agent, Metered):
        return Spending()
    account = agent.usage
    return Spending(
        prompt_tokens=account.prompt_tokens,
        sampled_tokens=account.completion_tokens,
        requests=account.requests,
        hits=account.hits,
        cost=account.cost,
    )


def spending(
    episodes: Iterable[Episode], player: str, before: Spending, after: Spending
) -> Spending:
    """Count what a player spent on some plays.

    Args:
        episodes: the plays, with token ids where the player is a policy.
        player: its name in them.
        before: its account before these plays.
        after: its account after them.
    """
    own = [turn for e in episodes for turn in e.turns if turn.player == player]
    return Spending(
        replies=len(own),
        prompt_tokens=sum(len(t.prompt_ids or ()) for t in own)
        + (after.prompt_tokens - before.prompt_tokens),
        sampled_tokens=sum(len(t.token_ids or ()) for t in own)
        + (after.sampled_tokens - before.sampled_tokens),
        requests=after.requests - before.requests,
        hits=after.hits - before.hits,
        cost=after.cost - before.cost,
    )
