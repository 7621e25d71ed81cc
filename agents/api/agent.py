"""A model behind an OpenAI-compatible chat API as an agent: `openai:MODEL`.

Read `act` first: what the cache knows is answered from it, the rest is asked for at once, with
bounded concurrency, and kept as it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.api.background import BACKGROUND
from coevo.agents.api.cache import Keys, ReplyCache, cache_file
from coevo.agents.api.client import ChatClient
from coevo.agents.api.clock import Clock
from coevo.agents.api.environment import settings_for
from coevo.agents.api.limits import Limits
from coevo.agents.api.outcome import Answer, Failure
from coevo.agents.api.settings import ApiSettings
from coevo.agents.api.usage import Usage
from coevo.agents.unanswered import Unanswered
from coevo.envs.core.chat import Chat

if TYPE_CHECKING:
    from coevo.agents.sampling import SamplingConfig


class ApiAgent(Agent):
    """Sends each chat as it is and gives back the text of the reply, without token ids.

    A request that no attempt got a reply to is answered by `Unanswered`; a limit, a refused key or
    a server that is gone raises, after what is under way has been kept.

    Args:
        settings: server, model, sampling, patience, limits.
        name: shown in records; None for `openai:MODEL`.
        limits: shared with other agents; None for those of the settings alone.
        clock: tells the time and waits.
        rng: draws the waits before retries; None for a generator of the settings' seed.
    """

    def __init__(
        self,
        settings: ApiSettings,
        *,
        name: str | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.settings = settings
        self.name = name or f"openai:{settings.model}"
        self.cache = ReplyCache(cache_file(settings))
        self._keys = Keys(settings)
        clock = clock or Clock()
        rng = np.random.default_rng([settings.seed, 5]) if rng is None else rng
        limits = limits or Limits.of(settings, clock)
        self._client = ChatClient(settings, limits, clock, rng)

    @property
    def usage(self) -> Usage:
        """What was used since the agent was made."""
        return replace(self._client.usage)

    def reseed(self, seed: int) -> None:
        """Begin another series of samples; a seed used before gives its replies again."""
        self.settings = replace(self.settings, seed=seed)
        self._keys = Keys(self.settings)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, in order: from the cache, else from the server.

        Raises:
            ApiError: nothing more can or may be asked; what was answered is in the cache.
        """
        keys = [self._key(r) for r in requests]
        wanted = {
            key: request.chat
            for key, request in zip(keys, requests, strict=True)
            if self.cache.get(key) is None
        }
        self._client.usage.hits += len(keys) - len(wanted)
        failed = BACKGROUND.run(self._fetch(wanted)) if wanted else {}
        return [self._reply(key, failed) for key in keys]

    def close(self) -> None:
        """Close connections and the cache's file; nothing can be asked after it."""
        self._client.hang_up()
        self.cache.close()

    def _key(self, request: Request) -> str:
        messages = [{"role": m["role"], "content": m["content"]} for m in request.chat]
        return self._keys.next(messages, str(request.info.get("task_id", "")))

    def _reply(self, key: str, failed: Mapping[str, Failure]) -> Reply:
        answer = self.cache.get(key)
        if answer is None:
            return Unanswered(reason=f"{self.name}: {failed[key].reason}")
        if answer.finish == "content_filter":
            return Unanswered(reason=f"{self.name}: a content filter withheld the reply")
        self._client.usage.truncated += answer.finish == "length"
        return Reply(answer.text)

    async def _fetch(self, wanted: Mapping[str, Chat]) -> dict[str, Failure]:
        """Ask for all, keep every answer as it arrives, and give the failures."""
        self._client.error = None
        tasks = {key: asyncio.create_task(self._one(key, chat)) for key, chat in wanted.items()}
        try:
            _, open_ = await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_EXCEPTION)
            if open_:
                await self._wind_up(open_)
        finally:
            for task in tasks.values():
                task.cancel()  # does nothing to those that have ended
        outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return {
            key: outcome
            for key, outcome in zip(tasks, outcomes, strict=True)
            if isinstance(outcome, Failure)
        }

    async def _one(self, key: str, chat: Chat) -> Failure | None:
        outcome = await self._client.ask(chat, int(key[:7], 16))
        if isinstance(outcome, Answer):
            self.cache.put(key, outcome)
            return None
        return outcome

    async def _wind_up(self, tasks: set[asyncio.Task[Failure | None]]) -> None:
        """Wait for what is at the server, which may be billed; drop what was not sent."""
        for task in tasks - self._client.sending:
            task.cancel()
        await asyncio.wait(tasks)


def load(
    model: str,
    *,
    sampling: SamplingConfig | None = None,
    seed: int = 0,
    device: str = "auto",
) -> ApiAgent:
    """Make the agent `openai:MODEL` with the settings of the environment.

    Agents loaded in one process for one account share its limits.

    Args:
        model: name at the server.
        sampling: wins over the environment's temperature and max_tokens.
        seed: tells series of samples apart.
        device: nothing is computed here.
    """
    settings = replace(settings_for(model), seed=seed)
    if sampling is not None:
        settings = replace(
            settings, temperature=sampling.temperature, max_tokens=sampling.max_new_tokens
        )
    return ApiAgent(settings, limits=shared_limits(settings))


_SHARED: dict[tuple[object, ...], Limits] = {}


def shared_limits(settings: ApiSettings) -> Limits:
    """Give the one record of what an account has used in this process under these limits."""
    account = (
        settings.base_url,
        settings.key_variable,
        settings.requests_per_minute,
        settings.tokens_per_minute,
        settings.token_limit,
        settings.cost_limit,
    )
    return _SHARED.setdefault(account, Limits.of(settings))
