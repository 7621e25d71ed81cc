"""Limits on requests, tokens and money in all, and on requests and tokens per minute.

Every attempt states an upper bound of what it can use before it is sent. A limit is compared with
what was used, plus the bounds of what is under way, plus this bound.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

from coevo.agents.api.outcome import LimitReachedError
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.chat import Message
from coevo.envs.core.errors import ConfigError

MINUTE = 60.0
PER_MESSAGE = 8
"""Tokens that a chat template adds to a message, at most."""
PER_CHAT = 64
"""Tokens that it adds to a chat, at most, until a server has shown more."""


class Clock:
    """Time, as an argument: tests of waiting do not wait."""

    def now(self) -> float:
        """Return seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let others work for a while."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Amount:
    """Use of a server."""

    requests: float = 0
    """Sent, retries included."""
    tokens: float = 0
    """Read and written."""
    cost: float = 0.0
    """In the currency of the prices."""

    @classmethod
    def limit(cls, *most: float | None) -> Amount:
        """Return the most requests, tokens and cost that are allowed; None is no limit."""
        return cls(*(math.inf if m is None else m for m in (*most, None, None, None)[:3]))

    @classmethod
    def total(cls, parts: Sequence[Amount]) -> Amount:
        return cls(*(sum(getattr(p, f.name) for p in parts) for f in fields(cls)))


def most_prompt_tokens(chat: Sequence[Message]) -> int:
    """Return an upper bound of the tokens of a chat: bytes(contents) + 8 * messages + 64.

    Byte-level and byte-fallback tokenizers never make more tokens than a text has UTF-8 bytes.

    >>> most_prompt_tokens([{"role": "user", "content": "né"}])
    75
    """
    size = sum(len(m["content"].encode("utf-8", "surrogatepass")) for m in chat)
    return size + PER_MESSAGE * len(chat) + PER_CHAT


class Budget:
    """What may be used in all; belongs to one event loop.

    Args:
        limit: infinite where there is none.
    """

    def __init__(self, limit: Amount) -> None:
        self.limit = limit
        self.used = Amount()
        self._held: list[Amount] = []
        self._settled = asyncio.Event()

    async def reserve(self, most: Amount) -> None:
        """Hold an upper bound; waits while it fits only after others have settled.

        Raises:
            LimitReachedError: it does not fit even if all that is under way costs nothing.
        """
        while self._passed([self.used, most, *self._held]):
            if name := self._passed([self.used, most]):
                limit, used, more = (getattr(a, name) for a in (self.limit, self.used, most))
                raise LimitReachedError(
                    f"stopped before {name.rstrip('s')}_limit={limit:.12g}: {used:.12g} used, and "
                    f"the next request may use {more:.12g}; what was answered is in the cache, so "
                    "with a higher limit the same command continues"
                )
            self._settled.clear()
            await self._settled.wait()
        self._held.append(most)

    def settle(self, held: Amount, used: Amount) -> None:
        """Replace what was held by what was used."""
        # A list, because a float sum would not return to what it was; of equal amounts any may go.
        self._held.remove(held)
        self.used = Amount.total([self.used, used])
        self._settled.set()

    def _passed(self, parts: Sequence[Amount]) -> str:
        """Return the first field that is more than the limit; empty where all fits."""
        total = Amount.total(parts)
        names = (f.name for f in fields(Amount))
        return next((n for n in names if getattr(total, n) > getattr(self.limit, n)), "")


@dataclass(slots=True)
class Sent:
    """One request of the last minute."""

    at: float
    tokens: float
    """Upper bound first, then what it really used."""


class RateLimit:
    """Requests and tokens per minute, over a sliding window; belongs to one event loop.

    Args:
        limit: requests and tokens of a minute; infinite where there is no limit.
        clock: tells the time and waits.
    """

    def __init__(self, limit: Amount, clock: Clock) -> None:
        self.limit, self.clock = limit, clock
        self._sent: list[Sent] = []
        self._open_at = -math.inf
        self._queue = asyncio.Lock()

    async def acquire(self, tokens: float) -> Sent:
        """Wait until a request may be sent, first come, first served.

        Args:
            tokens: upper bound of what it uses.

        Raises:
            ConfigError: it is more than any minute allows.
        """
        if tokens > self.limit.tokens:
            raise ConfigError(
                f"tokens_per_minute={self.limit.tokens} is less than the {tokens} tokens that one "
                "request may use: raise it, or lower max_tokens"
            )
        async with self._queue:
            while (wait := self._wait(tokens)) > 0:
                await self.clock.sleep(wait)
            sent = Sent(self.clock.now(), tokens)
            self._sent.append(sent)
            return sent

    def pause(self, seconds: float) -> None:
        """Send nothing for a while: a server asked for it."""
        self._open_at = max(self._open_at, self.clock.now() + seconds)

    def _wait(self, tokens: float) -> float:
        """Return the seconds until there may be room; there is some where they are 0 or less."""
        now = self.clock.now()
        self._sent = [s for s in self._sent if s.at + MINUTE > now]
        used = sum(s.tokens for s in self._sent)
        full = len(self._sent) >= self.limit.requests or used + tokens > self.limit.tokens
        return max(self._open_at, self._sent[0].at + MINUTE if full else now) - now


class Limits:
    """What agents that share an account share, with nothing used yet."""

    def __init__(self, settings: ApiSettings, clock: Clock | None = None) -> None:
        s = settings
        self.budget = Budget(Amount.limit(s.request_limit, s.token_limit, s.cost_limit))
        per_minute = Amount.limit(s.requests_per_minute, s.tokens_per_minute)
        self.rate = RateLimit(per_minute, clock or Clock())
