"""Replies of a model, and the JSON of OpenAI's chat completions that tells them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coevo.agents.api.wire import ChatRequest


@dataclass(frozen=True, slots=True)
class Written:
    """One reply of the model."""

    pieces: tuple[str, ...]
    """The text, token by token; tokens that end inside a character have an empty piece."""
    logprobs: tuple[float, ...]
    """Of the tokens with a piece, under the distribution that was sampled from."""
    tokens: int
    """Sampled, the end of the turn included."""
    finish: str
    """stop or length."""

    @property
    def text(self) -> str:
        """Give the whole reply."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Result:
    """All replies to one request."""

    prompt_tokens: int
    replies: tuple[Written, ...]

    def usage(self) -> dict[str, int]:
        """Count the tokens of all replies."""
        written = sum(r.tokens for r in self.replies)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": self.prompt_tokens + written,
        }


def completion(head: Mapping[str, Any], request: ChatRequest, result: Result) -> dict[str, Any]:
    """Give the answer as one object.

    Args:
        head: id, created, model.
        request: what was asked for.
        result: what the model wrote.
    """
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": reply.text, "refusal": None},
            "logprobs": _logprobs(reply.pieces, reply.logprobs) if request.logprobs else None,
            "finish_reason": reply.finish,
        }
        for index, reply in enumerate(result.replies)
    ]
    return {**head, "object": "chat.completion", "choices": choices, "usage": result.usage()}


def chunks(
    head: Mapping[str, Any], request: ChatRequest, result: Result
) -> Iterator[dict[str, Any]]:
    """Give the answer as the parts of a stream, token by token."""

    def chunk(index: int, delta: dict[str, str], **more: Any) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": None, **more}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    for index, reply in enumerate(result.replies):
        yield chunk(index, {"role": "assistant", "content": ""})
        for piece, logprob in zip(reply.pieces, reply.logprobs, strict=True):
            more = {"logprobs": _logprobs([piece], [logprob])} if request.logprobs else {}
            yield chunk(index, {"content": piece}, **more)
        yield chunk(index, {}, finish_reason=reply.finish)
    if request.include_usage:
        last = {"object": "chat.completion.chunk", "choices": [], "usage": result.usage()}
        yield {**head, **last}


def _logprobs(pieces: Sequence[str], logprobs: Sequence[float]) -> dict[str, Any]:
    content = [
        {"token": piece, "logprob": lp, "bytes": list(piece.encode()), "top_logprobs": []}
        for piece, lp in zip(pieces, logprobs, strict=True)
    ]
    return {"content": content, "refusal": None}
