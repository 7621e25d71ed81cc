"""One chat completion: attempts, waits between them, and limits on each.

The SDK sends, and says what went wrong. Its own retries are off: every attempt may be billed, so
every one needs room in the budget and a turn in the rate limit before it is sent.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import openai

from coevo.agents.api import loop
from coevo.agents.api.limits import Amount, Limits, most_prompt_tokens
from coevo.agents.api.loop import Begin
from coevo.agents.api.outcome import (
    MOST_BYTES,
    Answer,
    ApiError,
    ApiRefusedError,
    Failure,
    Fault,
    Usage,
    of_body,
    of_error,
    without_keys,
)
from coevo.agents.api.settings import OPENAI_URL, ApiSettings
from coevo.envs.core.chat import Message
from coevo.envs.core.errors import CoevoError, ConfigError

FIRST_CONTACT = 2
"""Retries where no server was ever reached: its address is wrong, or it does not run."""
CONNECT_SECONDS = 20.0


class ChatClient:
    """Asks one server; belongs to one event loop."""

    def __init__(self, settings: ApiSettings, limits: Limits, rng: np.random.Generator) -> None:
        self.settings, self.limits, self.rng = settings, limits, rng
        self.usage = Usage()
        self.sending: set[asyncio.Task[Any] | None] = set()
        """Tasks whose request is at the server at this moment."""
        self.error: CoevoError | None = None
        """Why nothing more may be sent; None while requests are allowed."""
        self._key = _key(settings)
        self._sdk = _sdk(settings, self._key)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._excess = 0
        self._reached = False
        self._failed_in_row = 0
        self.close = weakref.finalize(self, _close, self._sdk)
        """Closes the connections, at the latest when this client is garbage."""
        self.close.atexit = False

    async def ask(self, chat: Sequence[Message], seed: int, begin: Begin) -> Answer | Failure:
        """Return the reply to a chat, in as many attempts as the settings allow.

        Args:
            chat: its messages.
            seed: sent where the settings want one.
            begin: called before anything is sent.

        Raises:
            LimitReachedError: the next attempt could pass a limit.
            ApiRefusedError: the server takes no request with these settings.
            ApiError: no server answers, or too many requests failed in a row.
        """
        # Kept while waiting for a retry: a server in trouble gets fewer requests, not other ones.
        async with self._slots:
            attempt = 1
            while isinstance(outcome := await self._attempt(chat, seed, begin), Failure):
                if outcome.fault is Fault.SETTINGS:
                    raise self._refused(outcome)
                if not self._may_repeat(outcome, attempt):
                    return self._given_up(outcome, attempt)
                await self.limits.rate.clock.sleep(self._wait(outcome, attempt))
                self.usage.retries += 1
                attempt += 1
            self._failed_in_row = 0
            return outcome

    # ---- Attempts --------------------------------------------------------------------------

    async def _attempt(self, chat: Sequence[Message], seed: int, begin: Begin) -> Answer | Failure:
        """Send once, within all limits, and settle what was used."""
        self._check_open()
        prompt_tokens = most_prompt_tokens(chat)
        most = self._amount(prompt_tokens + self._excess, self.settings.max_tokens or 0)
        await self.limits.budget.reserve(most)
        used = Amount()
        try:
            sent = await self.limits.rate.acquire(most.tokens)
            self._check_open()
            begin()
            used = most  # until a response says otherwise
            outcome = await self._send(chat, seed)
            used = self._used(outcome, most, prompt_tokens)
            sent.tokens = used.tokens
        finally:
            self.limits.budget.settle(most, used)
        return outcome

    async def _send(self, chat: Sequence[Message], seed: int) -> Answer | Failure:
        messages = [{"role": m["role"], "content": _utf8(m["content"])} for m in chat]
        headers = {} if self._key else {"Authorization": openai.Omit()}
        completions: Any = self._sdk.chat.completions.with_raw_response
        task = asyncio.current_task()
        self.sending.add(task)
        try:
            async with asyncio.timeout(self.settings.timeout):
                response = await completions.create(
                    model=self.settings.model,
                    messages=messages,
                    extra_body=self.settings.fields(seed),
                    extra_headers=headers,
                )
        except (openai.OpenAIError, TimeoutError) as error:
            failure = of_error(error)
            self._reached |= failure.fault is not Fault.NETWORK
            return failure
        finally:
            self.sending.discard(task)
        self._reached = True
        return of_body(response.content, response.headers)

    def _amount(self, read: int, written: int) -> Amount:
        return Amount(1, read + written, self.settings.cost(read, written))

    def _used(self, outcome: Answer | Failure, most: Amount, prompt_tokens: int) -> Amount:
        """Count what an attempt used: as the server says, else its upper bound."""
        usage = self.usage
        if isinstance(outcome, Failure):
            if not outcome.billed:
                return Amount(1)
            usage.unsure_tokens += int(most.tokens)
            usage.cost += most.cost
            return most
        read, written = outcome.prompt_tokens, outcome.completion_tokens
        if read is None:
            read = prompt_tokens
        if written is None:
            written = self.settings.max_tokens or len(_utf8(outcome.text).encode())
        # A template that adds more than we took for its most is believed from now on.
        self._excess = max(self._excess, read - prompt_tokens)
        used = self._amount(read, written)
        usage.requests += 1
        usage.prompt_tokens += read
        usage.completion_tokens += written
        usage.cost += used.cost
        return used

    def _check_open(self) -> None:
        if self.error is not None:
            raise self.error

    # ---- After a failure -------------------------------------------------------------------

    def _may_repeat(self, failure: Failure, attempt: int) -> bool:
        if not failure.again or self.error or (failure.wait or 0) > self.settings.max_wait:
            return False
        unknown_server = failure.fault is Fault.NETWORK and not self._reached
        most = FIRST_CONTACT if unknown_server else self.settings.max_retries
        return attempt <= min(most, self.settings.max_retries)

    def _wait(self, failure: Failure, attempt: int) -> float:
        """Draw evenly from 0 .. backoff * 2^(attempt-1), after what the server asks for."""
        drawn = self.settings.backoff * 2.0 ** (attempt - 1) * self.rng.random()
        if failure.wait is None:
            return float(min(drawn, self.settings.max_wait))
        self.limits.rate.pause(failure.wait)
        return failure.wait + float(min(drawn, self.settings.backoff))

    def _given_up(self, failure: Failure, attempts: int) -> Failure:
        """Count a request that stays without a reply.

        Raises:
            ApiError: there is no server, or it has answered nothing for long.
        """
        self.usage.failures[failure.fault.value] += 1
        server, reason = self.settings.base_url, without_keys(failure.reason, self._key)
        most = self.settings.max_wait
        if failure.wait is not None and failure.wait > most:
            reason += f" and asks to wait {failure.wait:.0f} s, more than max_wait={most:g}"
        if failure.fault is Fault.NETWORK and not self._reached:
            hint = "is the server running, and is OPENAI_BASE_URL right?"
            raise ApiError(f"cannot reach {server}: {reason}; {hint}")
        if failure.again:
            self._failed_in_row += 1
            reason += f", after {attempts} attempt{'s' * (attempts > 1)}"
        if self._failed_in_row >= self.settings.give_up_after:
            raise ApiError(
                f"{server} left {self._failed_in_row} requests in a row without a reply, the last "
                f"because {reason}; the replies before are in the cache, so the same command "
                "continues"
            )
        return Failure(reason, failure.fault)

    def _refused(self, failure: Failure) -> ApiRefusedError:
        settings, variable = self.settings, self.settings.key_variable
        hints = {
            401: f"set {variable} to a key of this server",
            403: f"the key in {variable} may not use this model or server",
            404: "check the model's name and OPENAI_BASE_URL",
            402: "the account has no money left",
            429: "the account has no money left",
        }
        if self._key:
            hints[401] = f"it does not take the key in {variable}"
        hint = hints.get(failure.status, "change the settings of the request")
        reason = without_keys(failure.reason, self._key)
        return ApiRefusedError(f"openai:{settings.model} at {settings.base_url}: {reason}; {hint}")


class _BoundedHttp(openai.DefaultAsyncHttpxClient):
    """Reads at most one byte more than a response may have, and nothing that is compressed."""

    async def send(self, request: Any, **options: Any) -> Any:
        response = await super().send(request, **options | {"stream": True})
        body = bytearray()
        try:
            async for chunk in response.aiter_raw():
                body += chunk[: MOST_BYTES + 1 - len(body)]
                if len(body) > MOST_BYTES:
                    break
        finally:
            await response.aclose()
        framing = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(n, value) for n, value in response.headers.items() if n not in framing]
        return type(response)(
            response.status_code, headers=headers, content=bytes(body), request=request
        )


def _sdk(settings: ApiSettings, key: str) -> openai.AsyncOpenAI:
    http = _BoundedHttp(
        headers={"Accept-Encoding": "identity"},
        follow_redirects=False,  # it would turn the request into another one
        trust_env=not _is_this_machine(settings.base_url),
    )
    return openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=settings.base_url,
        # A connection that takes half of the time is none, which is known to cost nothing.
        timeout=openai.Timeout(
            settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout / 2)
        ),
        max_retries=0,
        http_client=http,
    )


def _close(sdk: openai.AsyncOpenAI) -> None:
    loop.start(sdk.close())


def _key(settings: ApiSettings) -> str:
    """Read the key of the server; only OpenAI's own is sure to want one."""
    key = os.environ.get(settings.key_variable, "").strip()
    if not key and settings.base_url.rstrip("/") == OPENAI_URL:
        raise ConfigError(
            f"openai:{settings.model} at {OPENAI_URL} needs a key: set {settings.key_variable}, or "
            "set OPENAI_BASE_URL to another server"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in {settings.key_variable} holds characters that no key has")
    return key


def _is_this_machine(url: str) -> bool:
    """Whether an address is this machine, to which no proxy leads."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _utf8(text: str) -> str:
    """Replace half surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode()
