"""What can be set about an agent behind a chat API. How to set it from outside: environment.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from coevo.envs.core.errors import ConfigError

OPENAI_URL = "https://api.openai.com/v1"
OURS = ("model", "messages", "temperature", "seed", "n", "stream")
"""Fields of a request that `extra_body` may not set."""
LENGTH_FIELDS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """One model behind one OpenAI-compatible server, and how it may be used."""

    model: str
    """Name of the model at the server."""
    base_url: str = OPENAI_URL
    """Address that `/chat/completions` is added to."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the key; the key itself is never stored or shown."""

    temperature: float | None = None
    """Of sampling, 0 or more; None leaves it to the server."""
    max_tokens: int | None = 512
    """Longest reply in tokens, hidden reasoning included; None leaves it to the server."""
    length_field: str = ""
    """What the server calls the above: max_tokens or max_completion_tokens; empty asks for the
    second at api.openai.com and for the first elsewhere."""
    seed: int = 0
    """Tells series of samples apart: another seed never gets the cached replies of this one."""
    send_seed: bool = False
    """Also send a seed with each request, different for every sample; some servers refuse it."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, such as reasoning_effort."""

    timeout: float = 120.0
    """Seconds without a sign of the server after which an attempt has failed."""
    concurrency: int = 8
    """Most requests at a time."""
    max_retries: int = 6
    """Attempts after the first one."""
    backoff: float = 0.5
    """Seconds: before retry k the wait is drawn evenly from 0 .. backoff * 2^(k-1)."""
    max_wait: float = 60.0
    """Longest wait in seconds; a server that asks for a longer one has failed."""
    give_up_after: int = 20
    """Requests in a row that failed in spite of retries, after which nothing more is asked."""
    requests_per_minute: int | None = None
    """Most requests sent in any 60 seconds, retries included; None for no limit."""
    tokens_per_minute: int | None = None
    """Most tokens, read and written, of the requests of any 60 seconds; None for no limit."""

    token_limit: int | None = None
    """Most tokens, read and written, in this process; None for no limit."""
    cost_limit: float | None = None
    """Most money in this process, in the currency of the prices; None for no limit."""
    price_in: float = 0.0
    """Price of a million tokens read."""
    price_out: float = 0.0
    """Price of a million tokens written."""

    cache: Path | None = None
    """Folder where replies are kept, so that what is interrupted continues; None forgets them."""

    def __post_init__(self) -> None:
        """Reject values without meaning, and settings that contradict each other."""
        _check_address(self.base_url)
        if not self.model:
            raise ConfigError("model='' must name a model of the server, as in openai:NAME")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:  # NaN is no value either
                raise ConfigError(f"{name}={value} must be {least} or more")
        if self.length_field not in ("", *LENGTH_FIELDS):
            raise ConfigError(f"length_field={self.length_field!r} must be {_either()}, or empty")
        _check_extra(self.extra_body)
        self._check_limits()

    def _check_limits(self) -> None:
        bounded = ("token_limit", "cost_limit", "tokens_per_minute")
        given = [name for name in bounded if getattr(self, name) is not None]
        if given and self.max_tokens is None:
            raise ConfigError(
                f"{given[0]}={getattr(self, given[0])} needs max_tokens: without it there is no "
                "upper bound of what a request can use"
            )
        if self.cost_limit is not None and not self.price_in + self.price_out:
            raise ConfigError(
                f"cost_limit={self.cost_limit} needs price_in and price_out (per million tokens)"
            )

    @property
    def sampled(self) -> bool:
        """Whether two replies to one chat may differ."""
        return self.temperature != 0

    @property
    def address(self) -> str:
        """Where chats are sent."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Give the price of one reply.

        >>> ApiSettings(model="m", price_in=0.5, price_out=2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1e6

    def body(self, messages: list[dict[str, str]], seed: int) -> dict[str, Any]:
        """Give the request for one chat.

        Args:
            messages: role and content of each message.
            seed: of this sample; sent only where `send_seed` says so.
        """
        body: dict[str, Any] = {"model": self.model, "messages": messages, **self.extra_body}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body[self.length_field or _usual_length_field(self.base_url)] = self.max_tokens
        if self.send_seed:
            body["seed"] = seed
        return body


_LEAST: dict[str, float] = {
    "temperature": 0,
    "max_tokens": 1,
    "seed": 0,
    "timeout": 0.001,
    "concurrency": 1,
    "max_retries": 0,
    "backoff": 0,
    "max_wait": 0,
    "give_up_after": 1,
    "requests_per_minute": 1,
    "tokens_per_minute": 1,
    "token_limit": 0,
    "cost_limit": 0,
    "price_in": 0,
    "price_out": 0,
}


def is_loopback(url: str) -> bool:
    """Tell whether an address is this machine itself, which no proxy leads to.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://api.openai.com/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _usual_length_field(url: str) -> str:
    return LENGTH_FIELDS[urlsplit(url).hostname == "api.openai.com"]


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise ConfigError(
            f"base_url={url!r} must be an http or https address, such as {OPENAI_URL} or "
            "http://127.0.0.1:8000/v1"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "base_url must hold neither user, password nor query: name the variable that has the "
            "key in key_variable"
        )


def _check_extra(extra: Mapping[str, Any]) -> None:
    for name in extra:
        if name in OURS or name in LENGTH_FIELDS:
            raise ConfigError(f"extra_body sets {name!r}, which has a setting or a use of its own")


def _either() -> str:
    return " or ".join(LENGTH_FIELDS)
