"""Tool calls written in a reply: `search(query=rain, days=3) calc(expression=1+1)`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from coevo.envs.core.errors import DataError

_HEAD = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*)\(")
_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")
_BETWEEN = re.compile(r"[\s,;]*\Z")
_PYTHON = {"True": True, "False": False, "None": None}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Call(NamedTuple):
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any]


class Reading(NamedTuple):
    """The calls found in a text."""

    calls: tuple[Call, ...] | None
    """In order; None where something that begins like a call can't be read."""
    alone: bool
    """Whether nothing but calls, white space, commas and semicolons is in the text."""


def read_calls(text: str) -> Reading:
    """Find every `name(key=value, ...)` of a text.

    A value is what JSON reads (`3`, `true`, `[1, 2]`, `"a, b"`), Python's `True`, `False` and
    `None`, text in single quotes, or else the text as it stands. Commas inside quotes or
    brackets separate nothing.

    >>> read_calls("search(q=x, k=3)").calls
    (Call(name='search', arguments={'q': 'x', 'k': 3}),)
    >>> read_calls("search(x)").calls is None
    True
    """
    calls: list[Call] = []
    alone, at = True, 0
    while (head := _HEAD.search(text, at)) is not None:
        alone = alone and _BETWEEN.match(text[at : head.start()]) is not None
        parts, at = _split(text, head.end())
        arguments = None if parts is None else _arguments(parts)
        if arguments is None:
            return Reading(None, False)
        calls.append(Call(head[1], arguments))
    return Reading(tuple(calls), alone and _BETWEEN.match(text[at:]) is not None)


def calls_of(data: Any) -> tuple[Call, ...]:
    """Read calls from a text or from a list of texts and of `{"name": ..., "arguments": {...}}`.

    Raises:
        DataError: There is something else in it.

    >>> calls_of([{"name": "calc", "arguments": {"e": "1+1"}}, "stop()"])
    (Call(name='calc', arguments={'e': '1+1'}), Call(name='stop', arguments={}))
    """
    if isinstance(data, str):
        calls, alone = read_calls(data)
        if calls is None or not alone:
            raise DataError(f"{data!r} must hold calls like name(key=value) and nothing else")
        return calls
    if not isinstance(data, Sequence):
        raise DataError(f"calls must be a text or a list, given {data!r}")
    return tuple(call for item in data for call in _item(item))


def _item(item: Any) -> Iterable[Call]:
    if isinstance(item, str):
        return calls_of(item)
    if isinstance(item, Mapping) and set(item) <= {"name", "arguments"}:
        name, arguments = item.get("name"), item.get("arguments", {})
        if isinstance(name, str) and isinstance(arguments, Mapping):
            return (Call(name, dict(arguments)),)
    raise DataError(f"{item!r} is no call: expected a text or a name with arguments")


def _split(text: str, start: int) -> tuple[list[str] | None, int]:
    """Cut what follows an opening bracket at its commas; give also where the call ends."""
    parts, awaited, quote, begin, at = [], [")"], "", start, start
    fresh = True  # whether a quote here begins a value; elsewhere it is an apostrophe
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"" and fresh:
            quote = char
        elif char == awaited[-1]:
            awaited.pop()
        elif char in _CLOSERS:
            awaited.append(_CLOSERS[char])
        if not awaited or (char == "," and len(awaited) == 1 and not quote):
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
        if not awaited:
            return parts, at
        fresh = char in "=,:([{" or (fresh and char.isspace())
    return None, at


def _arguments(parts: list[str]) -> dict[str, Any] | None:
    if len(parts) == 1 and not parts[0].strip():
        return {}
    found: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or _NAME.match(name) is None or name in found:
            return None
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text, parse_constant=str)  # NaN would differ from itself
    except (ValueError, RecursionError):
        return _PYTHON.get(text, text)
