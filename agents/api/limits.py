"""Limits that hold: of tokens and money in all, of requests and tokens per minute.

Every attempt states an upper bound of what it can use before it is sent. A limit is compared with
what was used, plus the bounds of what is under way, plus this bound.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from coevo.agents.api.clock import Clock
from coevo.agents.api.errors import LimitReachedError
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.chat import Message
from coevo.envs.core.errors import ConfigError

MINUTE = 60.0
PER_MESSAGE = 8
"""Tokens that a chat template adds to a message, at most."""
PER_CHAT = 64
"""Tokens that it adds to a chat, at most, until a server has shown more."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens, read and written, and money."""

    tokens: int = 0
    cost: float = 0.0


def most_prompt_tokens(chat: Sequence[Message]) -> int:
    """Bound the tokens of a chat from above: bytes(contents) + 8 * messages + 64.

    Byte-level and byte-fallback tokenizers never make more tokens than a text has UTF-8 bytes.

    >>> most_prompt_tokens([{"role": "user", "content": "né"}])
    75
    """
    size = sum(len(m["content"].encode("utf-8", "surrogatepass")) for m in chat)
    return size + PER_MESSAGE * len(chat) + PER_CHAT


class Budget:
    """Tokens and money that may be used in all; belongs to one event loop.

    Args:
        token_limit: None for no limit.
        cost_limit: None for no limit.
    """

    def __init__(self, token_limit: int | None = None, cost_limit: float | None = None) -> None:
        self.token_limit = math.inf if token_limit is None else token_limit
        self.cost_limit = math.inf if cost_limit is None else cost_limit
        self.used = Amount()
        self._held: list[Amount] = []
        self._settled = asyncio.Event()

    async def reserve(self, most: Amount) -> Amount:
        """Hold an upper bound; waits while it fits only after others have settled.

        Raises:
            LimitReachedError: it does not fit even if all that is under way costs nothing.
        """
        while True:
            if self._exceeds([self.used, most]):
                raise self._reached(most)
            if not self._exceeds([self.used, most, *self._held]):
                break
            self._settled.clear()
            await self._settled.wait()
        self._held.append(most)
        return most

    def settle(self, held: Amount, used: Amount) -> None:
        """Replace what was held by what was used."""
        # Of equal amounts any may go.
        self._held.remove(held)
        self.used = _total([self.used, used])
        self._settled.set()

    def _exceeds(self, parts: Sequence[Amount]) -> bool:
        total = _total(parts)
        return total.tokens > self.token_limit or total.cost > self.cost_limit

    def _reached(self, most: Amount) -> LimitReachedError:
        used = self.used
        if used.tokens + most.tokens > self.token_limit:
            what = f"token_limit={self.token_limit:.0f}: {used.tokens} tokens are used and the next"
            what += f" request may use {most.tokens}"
        else:
            what = f"cost_limit={self.cost_limit:g}: {used.cost:.6g} is spent and the next request"
            what += f" may cost {most.cost:.6g}"
        return LimitReachedError(
            f"stopped before {what}; what was answered is kept in the cache, so with a higher limit"
            " the same command continues"
        )


class Pace:
    """Requests and tokens per minute, over a sliding window; belongs to one event loop.

    Args:
        requests_per_minute: None for no limit.
        tokens_per_minute: None for no limit.
        clock: tells the time and waits.
    """

    def __init__(
        self, requests_per_minute: int | None, tokens_per_minute: int | None, clock: Clock
    ) -> None:
        self.requests, self.tokens, self.clock = requests_per_minute, tokens_per_minute, clock
        self._sent: deque[Sent] = deque()
        self._open_at = -math.inf
        self._queue = asyncio.Lock()

    async def turn(self, tokens: int) -> Sent:
        """Wait until a request may be sent, first come, first served.

        Args:
            tokens: upper bound of what it uses.

        Raises:
            ConfigError: it is more than any minute allows.
        """
        if self.tokens is not None and tokens > self.tokens:
            raise ConfigError(
                f"tokens_per_minute={self.tokens} is less than the {tokens} tokens that one request"
                " may use: raise it, or lower max_tokens"
            )
        async with self._queue:
            while (wait := self._wait(tokens)) > 0:
                await self.clock.sleep(wait)
            sent = Sent(self.clock.now(), tokens)
            self._sent.append(sent)
            return sent

    def hold(self, seconds: float) -> None:
        """Send nothing for a while: a server asked for it."""
        self._open_at = max(self._open_at, self.clock.now() + seconds)

    def _wait(self, tokens: int) -> float:
        """Give the seconds until one more request fits into the last minute."""
        now = self.clock.now()
        while self._sent and self._sent[0].at + MINUTE <= now:
            self._sent.popleft()
        opens = self._open_at
        count, used = len(self._sent), sum(s.tokens for s in self._sent)
        for sent in self._sent:
            if self._fits(count + 1, used + tokens):
                break
            count, used = count - 1, used - sent.tokens
            opens = max(opens, sent.at + MINUTE)
        return opens - now

    def _fits(self, requests: int, tokens: int) -> bool:
        enough = self.requests is None or requests <= self.requests
        return enough and (self.tokens is None or tokens <= self.tokens)


@dataclass(slots=True)
class Sent:
    """One request of the last minute."""

    at: float
    tokens: int
    """Upper bound first, then what it really used."""


@dataclass(frozen=True)
class Limits:
    """What agents that share an account share."""

    budget: Budget
    pace: Pace

    @classmethod
    def of(cls, settings: ApiSettings, clock: Clock | None = None) -> Limits:
        """Make the limits that settings name, with nothing used yet."""
        pace = Pace(settings.requests_per_minute, settings.tokens_per_minute, clock or Clock())
        return cls(Budget(settings.token_limit, settings.cost_limit), pace)


def _total(parts: Sequence[Amount]) -> Amount:
    return Amount(sum(p.tokens for p in parts), sum(p.cost for p in parts))
