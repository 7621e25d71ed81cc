"""One chat to one reply: attempts, waits between them, and what each may use."""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from coevo.agents.api.background import BACKGROUND
from coevo.agents.api.clock import Clock
from coevo.agents.api.errors import ApiError, ApiRefusedError, LimitReachedError
from coevo.agents.api.limits import Amount, Limits, most_prompt_tokens
from coevo.agents.api.outcome import Answer, Failure, of_error, of_response, without_keys
from coevo.agents.api.settings import OPENAI_URL, ApiSettings, is_loopback
from coevo.agents.api.usage import Usage
from coevo.envs.core.chat import Message
from coevo.envs.core.errors import ConfigError

FIRST_CONTACT = 2
"""Retries where no server was ever reached: its address is wrong, or it does not run."""
CONNECT_SECONDS = 20.0


class ChatClient:
    """Asks one server; belongs to one event loop.

    Args:
        settings: server, model, patience.
        limits: shared with other clients of the account.
        clock: tells the time and waits.
        rng: draws the waits before retries.
    """

    def __init__(
        self,
        settings: ApiSettings,
        limits: Limits,
        clock: Clock,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.limits, self.clock, self.rng = settings, limits, clock, rng
        self.usage = Usage()
        self.sending: set[asyncio.Task[Any] | None] = set()
        """Tasks whose request is at the server at this moment."""
        self.error: ApiError | None = None
        """Why nothing more is to be sent, once there is a reason."""
        self._key = _key(settings)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._excess = 0
        self._reached = False
        self._failed_in_row = 0
        self._http = _http(settings, self._key)
        self.hang_up = weakref.finalize(self, _close, self._http)
        """Closes the connections; done at the latest when nobody refers to this client."""
        self.hang_up.atexit = False

    async def ask(self, chat: Sequence[Message], seed: int) -> Answer | Failure:
        """Get the reply to a chat, in as many attempts as the settings allow.

        Raises:
            LimitReachedError: the next attempt could pass a limit.
            ApiRefusedError: the server takes no request with these settings.
            ApiError: nobody is there, or too many requests failed in a row.
        """
        messages = [{"role": m["role"], "content": m["content"]} for m in chat]
        # Escaped, because half a surrogate pair has no UTF-8 form.
        body = json.dumps(self.settings.body(messages, seed)).encode("ascii")
        # Kept while waiting for a retry: a server in trouble gets fewer requests, not other ones.
        async with self._slots:
            return await self._answered(body, most_prompt_tokens(chat))

    # ---- Attempts --------------------------------------------------------------------------

    async def _answered(self, body: bytes, prompt_tokens: int) -> Answer | Failure:
        attempt = 0
        while True:
            outcome = await self._attempt(body, prompt_tokens)
            if isinstance(outcome, Answer):
                self._failed_in_row = 0
                return outcome
            if outcome.stop:
                raise self._stop(self._refused(outcome))
            attempt += 1
            if not self._may_repeat(outcome, attempt):
                return self._given_up(outcome, attempt)
            await self.clock.sleep(self._wait(outcome, attempt))
            self.usage.retries += 1

    async def _attempt(self, body: bytes, prompt_tokens: int) -> Answer | Failure:
        """Send once, within all limits, and settle what was used."""
        self._check_open()
        most = self._most(prompt_tokens)
        held = await self._reserved(most)
        used = Amount()
        try:
            sent = await self.limits.pace.turn(most.tokens)
            self._check_open()
            used = most  # until a response says otherwise
            outcome = await self._send(body)
            used = self._used(outcome, most, prompt_tokens)
            sent.tokens = used.tokens
        finally:
            self.limits.budget.settle(held, used)
        return outcome

    async def _reserved(self, most: Amount) -> Amount:
        try:
            return await self.limits.budget.reserve(most)
        except LimitReachedError as error:
            raise self._stop(error) from None

    def _check_open(self) -> None:
        if self.error is not None:
            raise self.error

    def _stop(self, error: ApiError) -> ApiError:
        """Let no further request be sent."""
        self.error = self.error or error
        return self.error

    async def _send(self, body: bytes) -> Answer | Failure:
        task = asyncio.current_task()
        self.sending.add(task)
        try:
            response = await self._http.post(
                self.settings.address, content=body, headers={"Content-Type": "application/json"}
            )
        except httpx.HTTPError as error:
            failure = of_error(error)
            self._reached |= not failure.unreachable
            return failure
        finally:
            self.sending.discard(task)
        self._reached = True
        return of_response(response, self.clock.wall())

    def _most(self, prompt_tokens: int) -> Amount:
        """Give the upper bound of an attempt; without max_tokens that of what is sent."""
        read = prompt_tokens + self._excess
        written = self.settings.max_tokens or 0
        return Amount(read + written, self.settings.cost(read, written))

    def _used(self, outcome: Answer | Failure, most: Amount, prompt_tokens: int) -> Amount:
        """Count what an attempt used: as the server says, else its upper bound."""
        usage = self.usage
        if isinstance(outcome, Failure):
            if not outcome.billed:
                return Amount()
            usage.unsure_tokens += most.tokens
            usage.cost += most.cost
            return most
        read, written = outcome.prompt_tokens, outcome.completion_tokens
        if read is None:
            read = prompt_tokens
        if written is None:
            written = self.settings.max_tokens or len(outcome.text.encode("utf-8", "replace"))
        # A template that adds more than we took for its most is believed from now on.
        self._excess = max(self._excess, read - prompt_tokens)
        cost = self.settings.cost(read, written)
        usage.requests += 1
        usage.prompt_tokens += read
        usage.completion_tokens += written
        usage.cost += cost
        return Amount(read + written, cost)

    # ---- After a failure -------------------------------------------------------------------

    def _may_repeat(self, failure: Failure, attempt: int) -> bool:
        if not failure.again or self.error or (failure.wait or 0) > self.settings.max_wait:
            return False
        unknown_server = failure.unreachable and not self._reached
        most = FIRST_CONTACT if unknown_server else self.settings.max_retries
        return attempt <= min(most, self.settings.max_retries)

    def _wait(self, failure: Failure, attempt: int) -> float:
        """Draw evenly from 0 .. backoff * 2^(attempt-1), after what the server asks for."""
        drawn = self.settings.backoff * 2.0 ** (attempt - 1) * self.rng.random()
        if failure.wait is None:
            return float(min(drawn, self.settings.max_wait))
        self.limits.pace.hold(failure.wait)
        return failure.wait + float(min(drawn, self.settings.backoff))

    def _given_up(self, failure: Failure, attempts: int) -> Failure:
        """Count a request that stays without a reply.

        Raises:
            ApiError: there is no server, or it has answered nothing for long.
        """
        self.usage.failures += 1
        reason = self._clean(failure.reason)
        most = self.settings.max_wait
        if failure.wait is not None and failure.wait > most:
            reason += f" and asks to wait {failure.wait:.0f} s, more than max_wait={most:g}"
        if failure.unreachable and not self._reached:
            raise self._stop(
                ApiError(
                    f"cannot reach {self.settings.base_url}: {reason}; is the server running, and "
                    "is OPENAI_BASE_URL right?"
                )
            )
        if failure.again:
            self._failed_in_row += 1
            reason += f", after {attempts} attempt{'s' * (attempts > 1)}"
        if self._failed_in_row >= self.settings.give_up_after:
            raise self._stop(
                ApiError(
                    f"{self.settings.base_url} left {self._failed_in_row} requests in a row "
                    f"without a reply, the last because {reason}; the replies before are in the "
                    "cache, so the same command continues"
                )
            )
        return Failure(reason)

    def _refused(self, failure: Failure) -> ApiRefusedError:
        settings, variable = self.settings, self.settings.key_variable
        hints = {
            401: f"set {variable} to a key of this server",
            403: f"the key in {variable} may not use this model or server",
            404: "check the model's name and OPENAI_BASE_URL",
            402: "the account has no money left",
            429: "the account has no money left",
        }
        if failure.status == 401 and self._key:
            hints[401] = f"it does not take the key in {variable}"
        hint = hints.get(failure.status, "change the settings of the request")
        reason = self._clean(failure.reason)
        return ApiRefusedError(f"openai:{settings.model} at {settings.base_url}: {reason}; {hint}")

    def _clean(self, text: str) -> str:
        return without_keys(text, self._key)


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


def _http(settings: ApiSettings, key: str) -> httpx.AsyncClient:
    try:
        httpx.URL(settings.address)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ConfigError(f"base_url={settings.base_url!r} is no address: {error}") from None
    return httpx.AsyncClient(
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=httpx.Timeout(settings.timeout, connect=CONNECT_SECONDS, pool=None),
        limits=httpx.Limits(),  # the slots are what bounds them
        trust_env=not is_loopback(settings.base_url),
        # Certificates take a while to load and are of no use where nothing is encrypted.
        verify=settings.base_url.startswith("https:"),
    )


def _close(http: httpx.AsyncClient) -> None:
    BACKGROUND.start(http.aclose())
