"""What one attempt at a reply comes to: an answer, or a failure that says what to do about it.

| what came back                                              | then                              |
|-------------------------------------------------------------|-----------------------------------|
| a reply, cut at its limit or not                            | an answer                         |
| a reply that a content filter withheld                      | this request fails                |
| 408, 409, 425, 429, 5xx, no connection                      | try again                         |
| time-out, dropped connection, not JSON, no choices          | try again; it may have been billed|
| 400, 413, 422 about the length or the content of this chat  | this request fails                |
| 429 for an empty account; any other 4xx, 3xx                | stop: all requests would fail     |
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

AGAIN = frozenset({408, 409, 425, 429})
_ABOUT_ONE_CHAT = re.compile(
    r"context.{0,20}(length|window|limit)|content.{0,5}(filter|policy|management)|too.long"
    r"|max\w*.{0,20}length|safety",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient.quota|billing|exceeded your current quota", re.IGNORECASE)
_KEY_LIKE = re.compile(r"\b(sk|key|api)-[\w*.-]{4,}")
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply."""

    text: str
    finish: str = "stop"
    """Why it ended: stop, length, content_filter, ..."""
    prompt_tokens: int | None = None
    """As the server counts them; None where it does not say."""
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No reply."""

    reason: str
    again: bool = False
    """Whether another attempt may succeed."""
    stop: bool = False
    """Whether every other request would fail alike."""
    wait: float | None = None
    """Seconds that the server asks to wait."""
    billed: bool = False
    """Whether the server may have written a reply all the same."""
    unreachable: bool = False
    """Whether there was no connection at all."""
    status: int = 0
    """Of the response; 0 where there was none, or it was 200."""


def of_response(response: httpx.Response, now: float) -> Answer | Failure:
    """Read what a server sent.

    Args:
        response: with its whole body.
        now: seconds since 1970, for servers that ask to wait until a date.
    """
    status = response.status_code
    data = _parsed(response.content)
    if status != 200:
        return _refusal(status, data, response.headers, now)
    if not isinstance(data, dict):
        return Failure("the server sent a body that is not a JSON object", again=True, billed=True)
    if data.get("error") and not data.get("choices"):
        return _hidden_refusal(data, response.headers, now)
    return _reply(data)


def of_error(error: httpx.HTTPError) -> Failure:
    """Read what kept a response from arriving."""
    kind = type(error).__name__
    said = " ".join(str(error).split())
    if isinstance(error, _NEVER_SENT):
        return Failure(f"no connection ({said or kind})", again=True, unreachable=True)
    if isinstance(error, httpx.TimeoutException):
        return Failure(f"no answer in time ({kind})", again=True, billed=True)
    return Failure(f"the connection broke ({said or kind})", again=True, billed=True)


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Give the seconds that a server asks to wait; None where it does not ask.

    Args:
        headers: of the response, names in any case: Retry-After-Ms, or Retry-After in seconds or
            as a date, which is compared with the server's own Date if there is one.
        now: seconds since 1970.

    >>> asked_wait(httpx.Headers({"retry-after": "1.5"}), 0)
    1.5
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        if re.fullmatch(r"\s*\d+(\.\d*)?\s*", text):
            return float(text) / unit
        then = _date(text)
        if then is not None:
            start = _date(headers.get("date", ""))
            return max(0.0, then - (now if start is None else start))
    return None


def without_keys(text: str, key: str = "") -> str:
    """Blank out a key, and what looks like one, in words of a server.

    >>> without_keys("Incorrect API key provided: sk-abcd1234.")
    'Incorrect API key provided: (key)'
    """
    return _KEY_LIKE.sub("(key)", text.replace(key, "(key)") if key else text)


def _reply(data: dict[str, Any]) -> Answer | Failure:
    try:
        choice = data["choices"][0]
        text = _text(choice["message"])
    except (KeyError, IndexError, TypeError):
        return Failure("the server sent no choices", again=True, billed=True)
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Answer(
        text,
        str(choice.get("finish_reason") or "stop"),
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
    )


def _text(message: dict[str, Any]) -> str:
    """Give the words of a message; of a refusal too, which is a reply like any other."""
    content = message.get("content")
    if isinstance(content, list):  # parts
        return "".join(str(part.get("text", "")) for part in content)
    if content is None:
        content = message.get("refusal")
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""


def _refusal(status: int, data: Any, headers: Mapping[str, str], now: float) -> Failure:
    said = _message(data)
    reason = f"the server answered {status}" + (f": {said}" if said else "")
    if status == 429 and _NO_MONEY.search(said):
        return Failure(reason, stop=True, status=status)
    if status in AGAIN or status >= 500:
        return Failure(reason, again=True, wait=asked_wait(headers, now), status=status)
    if status == 413 or (status in (400, 422) and _ABOUT_ONE_CHAT.search(said)):
        return Failure(reason, status=status)
    if 300 <= status < 400:
        reason += f", to {headers.get('location', 'elsewhere')}: set OPENAI_BASE_URL to that"
    return Failure(reason, stop=True, status=status)


def _hidden_refusal(data: dict[str, Any], headers: Mapping[str, str], now: float) -> Failure:
    """Read an error that came with status 200, as some gateways send it."""
    error = data["error"]
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return _refusal(code, data, headers, now)
    said = _message(data)
    return Failure(f"the server sent an error: {said}", again=True, billed=True)


def _message(data: Any) -> str:
    """Give what a server says about an error, and its code, in one line."""
    error = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(error, dict):
        code, said = error.get("code"), error.get("message") or error.get("detail") or ""
        error = f"{said} ({code})" if isinstance(code, str) and code not in str(said) else said
    return " ".join(str(error or "").split())[:300]


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _count(value: Any) -> int | None:
    sound = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if sound else None


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
