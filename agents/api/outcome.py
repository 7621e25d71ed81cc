"""The outcome of an attempt at a reply: an answer, or a failure with its cause.

| what came back                                                    | fault                      |
|-------------------------------------------------------------------|----------------------------|
| a reply, cut at its limit, withheld by a filter, or neither       | none: an answer            |
| no connection                                                     | network: try again         |
| 408, 409, 425, 429, 5xx                                           | server: try again          |
| time-out, dropped connection, too long, not JSON, no choices      | server: may be billed      |
| 413; 400 or 422 about the length or the content of this chat      | request: no reply to it    |
| 429 for an empty account; any other 4xx, 3xx                      | settings: stop             |
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import openai

from coevo.envs.core.errors import CoevoError

AGAIN = frozenset({408, 409, 425, 429})
MOST_BYTES = 16 * 2**20
"""Longest body of a response."""
_ABOUT_ONE_CHAT = re.compile(
    r"context.{0,20}(length|window|limit)|content.{0,5}(filter|policy|management)|too.long"
    r"|max\w*.{0,20}length|safety",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient.quota|billing|exceeded your current quota", re.IGNORECASE)
_KEY_LIKE = re.compile(r"\b(sk|key|api)-[\w*.-]{4,}")
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError")


class Fault(StrEnum):
    """Whose fault it is that there is no reply, and so what to do about it."""

    NETWORK = "network"
    """There was no connection: another attempt may succeed."""
    SERVER = "server"
    """The server could not: another attempt may succeed."""
    REQUEST = "request"
    """The server takes no such chat; others may succeed."""
    SETTINGS = "settings"
    """Every other request would fail alike."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply."""

    text: str
    finish: str = "stop"
    """Why it ended: stop, length, content_filter, ..."""
    prompt_tokens: int | None = None
    """As the server counts them; None where it does not say."""
    completion_tokens: int | None = None

    @property
    def tokens(self) -> int:
        """What was read and written, as far as the server says."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)


@dataclass(frozen=True, slots=True)
class Failure:
    """No reply."""

    reason: str
    fault: Fault = Fault.SERVER
    wait: float | None = None
    """Seconds that the server asks to wait."""
    billed: bool = False
    """Whether the server may have written a reply all the same."""
    status: int = 0
    """Of the response; 0 where there was none, or it was 200."""

    @property
    def again(self) -> bool:
        return self.fault in (Fault.NETWORK, Fault.SERVER)


def of_body(body: bytes, headers: Mapping[str, str]) -> Answer | Failure:
    """Read what a server sent with status 200."""
    if len(body) > MOST_BYTES:
        return Failure(f"the server sent more than {MOST_BYTES >> 20} MiB", billed=True)
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return Failure("the server sent a body that is not a JSON object", billed=True)
    error = data.get("error")
    if error and not data.get("choices"):  # as some gateways send it
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, int) and 400 <= code < 600:
            return _refusal(code, error, headers)
        return Failure(f"the server sent an error: {_said(error)}", billed=True)
    try:
        return _reply(data)
    except (KeyError, IndexError, TypeError, AttributeError):
        return Failure("the server sent no choices", billed=True)


def of_error(error: openai.OpenAIError | TimeoutError) -> Failure:
    """Read why there is no response, or one that is an error."""
    if isinstance(error, openai.APIStatusError):
        return _refusal(error.status_code, error.body, error.response.headers)
    cause = error.__cause__ or error
    kind = type(cause).__name__
    said = _said(str(cause)) or kind
    if kind in _NEVER_SENT:
        return Failure(f"no connection ({said})", Fault.NETWORK)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Failure(f"no answer in time ({kind})", billed=True)
    return Failure(f"the connection broke ({said})", billed=True)


def without_keys(text: str, key: str = "") -> str:
    """Return words of a server without a key, and without what looks like one.

    >>> without_keys("Incorrect API key provided: sk-abcd1234.")
    'Incorrect API key provided: (key)'
    """
    return _KEY_LIKE.sub("(key)", text.replace(key, "(key)") if key else text)


def _reply(data: dict[str, Any]) -> Answer:
    choice = data["choices"][0]
    message = choice["message"]
    text = message.get("content")
    if text is None:  # a refusal is a reply like any other
        text = message.get("refusal") or ""
    if isinstance(text, list):  # parts
        text = "".join(str(part.get("text", "")) for part in text)
    if not isinstance(text, str):
        raise TypeError
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    finish = str(choice.get("finish_reason") or "stop")
    return Answer(text, finish, _count(read), _count(written))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _refusal(status: int, error: Any, headers: Mapping[str, str]) -> Failure:
    said = _said(error)
    reason = f"the server answered {status}" + (f": {said}" if said else "")
    if status == 429 and _NO_MONEY.search(said):
        return Failure(reason, Fault.SETTINGS, status=status)
    if status in AGAIN or status >= 500:
        return Failure(reason, wait=_asked_wait(headers), status=status)
    if status == 413 or (status in (400, 422) and _ABOUT_ONE_CHAT.search(said)):
        return Failure(reason, Fault.REQUEST, status=status)
    if 300 <= status < 400:
        reason += f", to {headers.get('location', 'elsewhere')}: set OPENAI_BASE_URL to that"
    return Failure(reason, Fault.SETTINGS, status=status)


def _said(error: Any) -> str:
    """Return what is said about an error, and its code, in one line that a terminal can show."""
    if isinstance(error, dict):
        code, said = error.get("code"), error.get("message") or error.get("detail") or ""
        error = f"{said} ({code})" if isinstance(code, str) and code not in str(said) else said
    line = " ".join(str(error or "")[:3000].split())[:300]
    return "".join(c for c in line if c.isprintable())


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: Retry-After-Ms, Retry-After, or a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if re.fullmatch(r"\s*\d+(\.\d*)?\s*", text):
            return float(text) / unit
        if (then := _date(text)) is not None:
            # Compared with the server's own clock if it tells the time.
            start = _date(headers.get("date", ""))
            return max(0.0, then - (time.time() if start is None else start))
    return None


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


class ApiError(CoevoError):
    """A chat API cannot be used any further now; what it answered before is in the cache."""

    exit_code = 1


class ApiRefusedError(ApiError):
    """A server refuses these settings: key, model name, or a field of the request."""

    exit_code = 2


class LimitReachedError(ApiError):
    """One more request could pass a limit of tokens or money; it was not sent."""


@dataclass(slots=True)
class Usage:
    """Counts of one agent since it was made; money, as other tokens, leaves out what is cached."""

    requests: int = 0
    """Replies that the server gave."""
    hits: int = 0
    """Replies that the cache gave, for nothing."""
    cached_tokens: int = 0
    """Read and written for those replies when the server gave them."""
    retries: int = 0
    """Attempts after the first one."""
    failures: Counter[str] = field(default_factory=Counter)
    """Requests that no attempt got a reply to, by `Fault`, or that a content filter withheld."""
    truncated: int = 0
    """Replies, of both kinds, that were cut at the most tokens allowed."""
    prompt_tokens: int = 0
    """Read by the model."""
    completion_tokens: int = 0
    """Written by the model, hidden reasoning included."""
    unsure_tokens: int = 0
    """Upper bound of attempts that came to nothing, but may have been billed."""
    cost: float = 0.0
    """Of all these tokens, in the currency of the prices; 0 without prices."""
