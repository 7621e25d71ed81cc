"""Where requests of many threads wait for one model: what arrives while it computes is one batch.

Requests with a seed of their own are drawn one by one, so that equal seeds give equal replies
whoever else is asking.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from coevo.agents.api.completion import Result, Written
from coevo.agents.api.wire import ChatRequest, WireError
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.sampling import Prompt, Sample, SamplingConfig, sample
from coevo.envs.core.errors import ConfigError

_UNFINISHED = "\ufffd"
"""What a tokenizer shows for bytes that are not a whole character yet."""


@dataclass(slots=True)
class Job:
    """One request, and where its result is put."""

    request: ChatRequest
    result: Future[Result] = field(default_factory=Future)
    ids: tuple[int, ...] = ()
    """Of the chat, up to where the assistant begins to write."""
    most: int = 0
    """Longest reply in tokens."""

    def alike(self) -> tuple[object, ...]:
        """Give what requests of one batch have in common; a seed stands alone."""
        alone = None if self.request.seed is None else id(self)
        return (self.request.temperature, self.most, alone)


class Desk:
    """Answers requests in one thread of its own.

    Args:
        agent: the model; its `max_new_tokens` is the usual length of a reply.
        rng: seeds the sampling of requests without a seed.
    """

    def __init__(self, agent: LanguageModelAgent, rng: np.random.Generator) -> None:
        self.agent = agent
        self.batches: list[int] = []
        """Number of requests in each call of the model."""
        self._generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="coevo-desk", daemon=True)
        self._thread.start()

    def submit(self, request: ChatRequest) -> Future[Result]:
        """Queue a request; its future raises WireError where it cannot be answered."""
        job = Job(request)
        self._waiting.put(job)
        return job.result

    def close(self) -> None:
        """Finish what is being computed and turn the rest away."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            ready = [job for job in batch if self._prepared(job)]
            groups: dict[tuple[object, ...], list[Job]] = {}
            for job in ready:
                groups.setdefault(job.alike(), []).append(job)
            for jobs in groups.values():
                self._answer(jobs)
        self._turn_away()

    def _next(self) -> list[Job] | None:
        """Give all that wait, at least one; None where the desk closes."""
        jobs = [self._waiting.get()]
        while not self._waiting.empty():
            jobs.append(self._waiting.get())
        open_ = [job for job in jobs if job is not None]
        if len(open_) < len(jobs):
            for job in open_:
                self._waiting.put(job)
            return None
        return open_

    def _turn_away(self) -> None:
        while not self._waiting.empty():
            job = self._waiting.get()
            if job is not None:
                job.result.set_exception(WireError("the server is closing", status=503))

    def _prepared(self, job: Job) -> bool:
        """Tokenise a chat and find how long its reply may be."""
        try:
            job.ids = tuple(self.agent.tokens.prompt(job.request.chat))
            job.most = self._room(len(job.ids), job.request.max_tokens)
        except ConfigError as error:  # roles that the chat template does not take
            job.result.set_exception(WireError(str(error), param="messages"))
        except WireError as error:
            job.result.set_exception(error)
        except Exception as error:
            job.result.set_exception(_unexpected(error))
        return not job.result.done()

    def _room(self, prompt_tokens: int, asked: int | None) -> int:
        config = self.agent.model.config.get_text_config()
        limit = getattr(config, "max_position_embeddings", None)
        wanted = asked or self.agent.sampling.max_new_tokens
        if limit is None:
            return wanted
        if asked is None:
            wanted = max(1, min(wanted, limit - prompt_tokens))
        if prompt_tokens + wanted > limit:
            raise WireError(
                f"this model's context length is {limit} tokens; the messages have {prompt_tokens} "
                f"and the reply may have {wanted}",
                param="messages",
                code="context_length_exceeded",
            )
        return wanted

    def _answer(self, jobs: Sequence[Job]) -> None:
        """Answer requests with equal settings in one call of the model."""
        request = jobs[0].request
        config = SamplingConfig(
            temperature=request.temperature,
            max_new_tokens=jobs[0].most,
            token_budget=self.agent.sampling.token_budget,
        )
        generator = self._generator
        if request.seed is not None:
            generator = torch.Generator().manual_seed(request.seed % 2**63)
        prompts = [Prompt(job.ids) for job in jobs for _ in range(job.request.n)]
        self.batches.append(len(jobs))
        try:
            drawn = iter(
                sample(self.agent.model, prompts, self.agent.tokens.end_ids, config, generator)
            )
            for job in jobs:
                replies = [self._written(next(drawn), job.request) for _ in range(job.request.n)]
                job.result.set_result(Result(len(job.ids), tuple(replies)))
        except Exception as error:
            for job in jobs:
                if not job.result.done():
                    job.result.set_exception(_unexpected(error))

    def _written(self, drawn: Sample, request: ChatRequest) -> Written:
        """Turn sampled ids into pieces of text, up to the first stop text."""
        ended = bool(drawn.ids) and drawn.ids[-1] in self.agent.tokens.end_ids
        said = drawn.ids[:-1] if ended else drawn.ids
        pieces = tuple(_pieces([self.agent.tokens.text(said[: i + 1]) for i in range(len(said))]))
        logprobs = tuple(drawn.logprobs[: len(said)])
        whole = Written(pieces, logprobs, len(drawn.ids), "stop" if ended else "length")
        return cut(whole, request.stop) if request.stop else whole


def cut(reply: Written, stops: Iterable[str]) -> Written:
    """End a reply before the first text that stops it, and count the tokens up to there.

    >>> cut(Written(("a", "b;", "c"), (-1.0, -2.0, -3.0), 4, "length"), [";"]).pieces
    ('a', 'b')
    """
    found = [at for at in (reply.text.find(stop) for stop in stops) if at >= 0]
    if not found:
        return reply
    kept, room = [], min(found)
    for piece in reply.pieces:
        if room <= 0:
            break
        kept.append(piece[:room])
        room -= len(piece)
    logprobs = reply.logprobs[: len(kept)]
    return replace(reply, pieces=tuple(kept), logprobs=logprobs, tokens=len(kept), finish="stop")


def _pieces(prefixes: Sequence[str]) -> Iterable[str]:
    """Give what each token adds to the text; half a character waits for its other half.

    >>> list(_pieces(["a", "a\ufffd", "a\u00e9"]))
    ['a', '', '\u00e9']
    """
    shown = 0
    for number, text in enumerate(prefixes, start=1):
        whole = text if number == len(prefixes) else text.rstrip(_UNFINISHED)
        yield whole[shown:]
        shown = max(shown, len(whole))


def _unexpected(error: Exception) -> WireError:
    return WireError(f"unexpected {type(error).__name__}: {error}", status=500)
