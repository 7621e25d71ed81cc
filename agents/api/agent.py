"""A model behind an OpenAI-compatible chat API as an agent: `openai:MODEL`.

Read `submit` first: what the cache knows is answered from it, the rest is asked for at once, with
bounded concurrency, and kept as it arrives.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request, Unanswered
from coevo.agents.api.cache import Keys, ReplyCache
from coevo.agents.api.client import ChatClient
from coevo.agents.api.limits import Limits
from coevo.agents.api.loop import Begin, submit
from coevo.agents.api.outcome import Answer, Failure, Usage
from coevo.agents.api.settings import ApiSettings, settings_for
from coevo.agents.futures import all_of
from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import CoevoError, ConfigError

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
        self._open: dict[str, Future[Reply]] = {}
        """What was asked and has no answer yet."""
        self._counting = threading.Lock()

    @property
    def usage(self) -> Usage:
        usage = self._client.usage
        return replace(usage, failures=usage.failures.copy())

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
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
        return all_of(self.submit(requests))

    def submit(self, requests: Sequence[Request]) -> list[Future[Reply]]:
        if not self._open:
            self._client.error = None
        return [self._asked(r) for r in requests]

    def _asked(self, request: Request) -> Future[Reply]:
        key = self._keys.next(request.chat, _task(request), request.conversation)
        if (known := self._open.get(key)) is not None:
            self._hit()
            return known
        reply = self._open[key] = submit(partial(self._one, key, request.chat))
        reply.add_done_callback(lambda _: self._open.pop(key, None))
        return reply

    def _hit(self, tokens: int = 0) -> None:
        with self._counting:
            self._client.usage.hits += 1
            self._client.usage.cached_tokens += tokens

    def close(self) -> None:
        """Close connections and the cache's file; nothing can be asked after it."""
        self._client.close()
        self._cache.close()

    def _reply(self, outcome: Answer | Failure) -> Reply:
        if isinstance(outcome, Failure):
            return Unanswered(reason=f"{self.name}: {outcome.reason}")
        if outcome.finish == "content_filter":
            self._client.usage.failures["content filter"] += 1
            return Unanswered(reason=f"{self.name}: a content filter withheld the reply")
        self._client.usage.truncated += outcome.finish == "length"
        return Reply(outcome.text)

    async def _one(self, key: str, chat: Chat, begin: Begin) -> Reply:
        try:
            if known := self._cache.get(key):
                self._hit(known.tokens)
                return self._reply(known)
            outcome = await self._client.ask(chat, int(key[:7], 16), begin)
            if isinstance(outcome, Answer):
                self._cache.put(key, outcome)
        except CoevoError as error:
            begin()
            self._client.error = self._client.error or error
            # What is at the server may be billed; what was not sent is dropped.
            for other in list(self._open.values()):
                other.cancel()
            raise
        return self._reply(outcome)


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

    Raises:
        ConfigError: guided choice is asked for, which such servers do not offer in one way.
    """
    if sampling is not None and sampling.guided != "none":
        raise ConfigError(
            f"sampling.guided={sampling.guided} restricts the tokens of models that run here, and "
            f"openai:{model} samples at its server; leave it out, or load its weights"
        )
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
