"""A request for chat completions as a server reads it from OpenAI's JSON, and errors about it.

A field that would change what is sampled and that we do not carry out is refused, never ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from coevo.envs.core.chat import Chat, Message, Role

MOST_SAMPLES = 128
MOST_STOPS = 16
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "top_p": (1,),
    "top_k": (0, -1),
    "min_p": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "top_logprobs": (0,),
    "tools": ([],),
    "functions": ([],),
    "response_format": ({"type": "text"},),
}
"""Fields that we do not carry out -> values that ask for nothing."""


class WireError(Exception):
    """A request that is answered by an error.

    Args:
        message: what was given, and what was expected.
        status: of HTTP.
        param: the field at fault.
        code: a word for programs.
    """

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    def body(self) -> dict[str, Any]:
        """Give the error as OpenAI's servers write it."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {
            "error": {
                "message": str(self),
                "type": kind,
                "param": self.param,
                "code": self.code,
            }
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request for replies to one chat."""

    chat: Chat
    temperature: float = 1.0
    max_tokens: int | None = None
    """None for the usual length of the model."""
    seed: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    """Texts that end a reply; they are cut off."""
    logprobs: bool = False
    stream: bool = False
    include_usage: bool = False
    """Whether a stream ends with the counts of tokens."""


def read_request(body: bytes, model: str) -> ChatRequest:
    """Read the body of a request.

    Args:
        body: JSON.
        model: the name that is served.

    Raises:
        WireError: it asks for something else, or for nothing that makes sense.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise WireError("the body is not JSON") from None
    if not isinstance(data, dict):
        raise WireError(f"the body must be a JSON object, not {_kind(data)}")
    _check_model(data.get("model"), model)
    _check_neutral(data)
    stream = data.get("stream_options") or {}
    return ChatRequest(
        chat=_chat(data.get("messages")),
        temperature=_number(data, "temperature", 1.0, 0, 2),
        max_tokens=_length(data),
        seed=_whole(data, "seed", None, -(2**63), 2**64 - 1),
        n=cast("int", _whole(data, "n", 1, 1, MOST_SAMPLES)),
        stop=_stops(data.get("stop")),
        logprobs=_switch(data, "logprobs"),
        stream=_switch(data, "stream"),
        include_usage=isinstance(stream, dict) and stream.get("include_usage") is True,
    )


def unknown_model(name: str, served: str) -> WireError:
    """Build the error for a model that is not served."""
    return WireError(
        f"the model {name!r} is not served here; there is {served!r}",
        status=404,
        param="model",
        code="model_not_found",
    )


def _check_model(name: Any, served: str) -> None:
    if not isinstance(name, str):
        raise WireError("model must be the name of a model", param="model")
    if name != served:
        raise unknown_model(name, served)


def _check_neutral(data: Mapping[str, Any]) -> None:
    for name, values in _NEUTRAL.items():
        given = data.get(name)
        if given is not None and given not in values:
            raise WireError(
                f"{name} is not supported here; leave it out",
                param=name,
                code="unsupported_parameter",
            )


def _chat(messages: Any) -> Chat:
    if not isinstance(messages, list) or not messages:
        raise WireError("messages must be a list with at least one message", param="messages")
    return tuple(_message(m, f"messages[{i}]") for i, m in enumerate(messages))


def _message(given: Any, where: str) -> Message:
    role = given.get("role") if isinstance(given, dict) else None
    if not isinstance(role, str) or role not in ROLES:
        raise WireError(f"{where}.role must be {', '.join(ROLES)}", param="messages")
    return Message(role=ROLES[role], content=_content(given.get("content"), where))


def _content(content: Any, where: str) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [p.get("text") if isinstance(p, dict) else None for p in content]
        if all(isinstance(t, str) for t in texts):
            return "".join(cast("list[str]", texts))
    raise WireError(f"{where}.content must be text", param="messages")


def _length(data: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        if data.get(name) is not None:
            return _whole(data, name, None, 1, 2**31)
    return None


def _stops(given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else [] if given is None else given
    sound = isinstance(texts, list) and len(texts) <= MOST_STOPS
    if not sound or not all(isinstance(t, str) and t for t in texts):
        raise WireError(f"stop must be a text, or at most {MOST_STOPS} texts", param="stop")
    return tuple(texts)


def _number(data: Mapping[str, Any], name: str, usual: float, low: float, high: float) -> float:
    given = data.get(name)
    if given is None:
        return usual
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise WireError(f"{name}={given!r} must be a number in {low}..{high}", param=name)
    return float(given)


def _whole(
    data: Mapping[str, Any], name: str, usual: int | None, low: int, high: int
) -> int | None:
    given = data.get(name)
    if given is None:
        return usual
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        raise WireError(f"{name}={given!r} must be a whole number in {low}..{high}", param=name)
    return given


def _switch(data: Mapping[str, Any], name: str) -> bool:
    given = data.get(name)
    if given is not None and not isinstance(given, bool):
        raise WireError(f"{name}={given!r} must be true or false", param=name)
    return bool(given)


def _kind(data: Any) -> str:
    return {list: "a list", str: "text", type(None): "null"}.get(type(data), "a number")
