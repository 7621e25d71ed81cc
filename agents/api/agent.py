"""A model behind an OpenAI-compatible chat API as an agent: `openai:MODEL`.

Read `act` first: what the cache knows is answered from it, the rest is asked for at once, with
bounded concurrency, and kept as it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.api.cache import Keys, ReplyCache
from coevo.agents.api.client import ChatClient
from coevo.agents.api.limits import Limits
from coevo.agents.api.loop import wait_for
from coevo.agents.api.outcome import Answer, Failure
from coevo.agents.api.settings import ApiSettings, settings_for
from coevo.agents.api.usage import Usage
from coevo.agents.unanswered import Unanswered
from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import CoevoError

if TYPE_CHECKING:
    from coevo.agents.sampling import SamplingConfig


class ApiAgent(Agent):
    """Sends each chat as it is and returns the text of the reply, without token ids.

    A request that no attempt got a reply to is answered by `Unanswered`; a limit, a refused key or
    a server that is gone raises, after what is under way has been kept.

    Args:
        settings: server, model, sampling, patience, limits.
        limits: shared with other agents; None for those of the settings alone.
    """

    insider = True
    """Its cache goes by the name of the task; what is sent is the chat alone."""

    def __init__(self, settings: ApiSettings, *, limits: Limits | None = None) -> None:
        self.settings = settings
        self.name = f"openai:{settings.model}"
        rng = np.random.default_rng([settings.seed, 5])
        self._client = ChatClient(settings, limits or Limits(settings), rng)
        self._cache = ReplyCache(settings.cache, settings.cache_replies, settings.cache_bytes)
        self._keys = Keys(settings)

    @property
    def usage(self) -> Usage:
        """What was used since the agent was made."""
        return replace(self._client.usage)

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
        """Temperature and longest reply; None for what is left to the server."""
        settings = self.settings
        return {"temperature": settings.temperature, "max_new_tokens": settings.max_tokens}

    def reseed(self, seed: int) -> None:
        """Begin another series of samples; a seed used before gives its replies again."""
        self.settings = replace(self.settings, seed=seed)
        self._keys = Keys(self.settings)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, in order: from the cache, else from the server.

        Raises:
            ApiError: nothing more can or may be asked; what was answered is in the cache.
        """
        keys = [self._keys.next(r.chat, _task(r)) for r in requests]
        outcomes: dict[str, Answer | Failure] = {}
        for key in keys:
            if (answer := self._cache.get(key)) is not None:
                outcomes[key] = answer
        wanted = {k: r.chat for k, r in zip(keys, requests, strict=True) if k not in outcomes}
        self._client.usage.hits += len(keys) - len(wanted)
        if wanted:
            outcomes |= wait_for(self._fetch(wanted))
        return [self._reply(outcomes[key]) for key in keys]

    def close(self) -> None:
        """Close connections and the cache's file; nothing can be asked after it."""
        self._client.close()
        self._cache.close()

    def _reply(self, outcome: Answer | Failure) -> Reply:
        if isinstance(outcome, Failure):
            return Unanswered(reason=f"{self.name}: {outcome.reason}")
        if outcome.finish == "content_filter":
            return Unanswered(reason=f"{self.name}: a content filter withheld the reply")
        self._client.usage.truncated += outcome.finish == "length"
        return Reply(outcome.text)

    async def _fetch(self, wanted: Mapping[str, Chat]) -> dict[str, Answer | Failure]:
        """Ask for all at once; where that raises, every answer up to then is in the cache."""
        self._client.error = None
        tasks = {key: asyncio.create_task(self._one(key, chat)) for key, chat in wanted.items()}
        try:
            await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_EXCEPTION)
            # What is at the server may be billed; what was not sent is dropped.
            for task in set(tasks.values()) - self._client.sending:
                task.cancel()  # does nothing to those that have ended
            await asyncio.wait(tasks.values())
        finally:
            for task in tasks.values():
                task.cancel()
        errors = [e for t in tasks.values() if not t.cancelled() and (e := t.exception())]
        if errors:
            raise errors[0]
        return {key: task.result() for key, task in tasks.items()}

    async def _one(self, key: str, chat: Chat) -> Answer | Failure:
        try:
            outcome = await self._client.ask(chat, int(key[:7], 16))
            if isinstance(outcome, Answer):
                self._cache.put(key, outcome)
        except CoevoError as error:
            self._client.error = self._client.error or error
            raise
        return outcome


def _task(request: Request) -> str:
    return "" if request.inside is None else request.inside.task


def load(
    model: str,
    *,
    sampling: SamplingConfig | None = None,
    seed: int = 0,
    device: str = "auto",
) -> ApiAgent:
    """Return the agent `openai:MODEL` with the settings of the environment.

    Agents loaded in one process for one account share its limits.

    Args:
        model: name at the server.
        sampling: wins over the environment's temperature and max_tokens; its filters are sent too.
        seed: tells series of samples apart.
        device: nothing is computed here.
    """
    settings = replace(settings_for(model), seed=seed)
    if sampling is not None:
        settings = replace(
            settings,
            temperature=sampling.temperature,
            max_tokens=sampling.max_new_tokens,
            extra_body={**settings.extra_body, **sampling.filters},
        )
    return ApiAgent(settings, limits=shared_limits(settings))


_SHARED: dict[tuple[object, ...], Limits] = {}


def shared_limits(settings: ApiSettings) -> Limits:
    """Return the one record of what an account has used in this process under these limits."""
    account = (
        settings.base_url,
        settings.key_variable,
        settings.requests_per_minute,
        settings.tokens_per_minute,
        settings.request_limit,
        settings.token_limit,
        settings.cost_limit,
    )
    return _SHARED.setdefault(account, Limits(settings))
