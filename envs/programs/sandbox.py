"""The contract of a sandbox: it runs programs that are not trusted, and what they do is data.

    with interpreter().open("double = lambda x: 2 * x") as program:
        program.call("double(x)", x=4).value  # 8

`tiers.interpreter` gives the first tier, an interpreter of its own; `tiers.language` the second
one, the whole language in a jail. A program starts without state and ends with its `with` block:
what it returns follows from its source, its seed and the values it is given. It has no files, no
network, no clock. Values go in and out as copies of plain data. It raises nothing here, whatever
it does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, Protocol

Verdict = Literal[
    "ok", "syntax", "unsupported", "raised", "time", "memory", "depth", "crash", "bad_value"
]
"""`unsupported`: the tier lacks a part of the language. `crash`: the process ended. `bad_value`:
what it returned is no plain data, or too large."""
LOST: tuple[Verdict, ...] = ("time", "memory", "crash")
"""Verdicts after which the program starts anew, without what it had in memory."""
DETAIL = 150
"""Characters of a detail."""
DEEPEST = 100
"""Levels of a value that is nested."""
GRACE = 0.5
"""Seconds beyond the limit after which the process of a program is killed."""
_SCALARS = (bool, int, float, complex, str, bytes, NoneType)
_PARTS = (list, tuple, set, frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use."""

    seconds: float = 0.5
    """For its definition, and for each call; `GRACE` follows."""
    waiting: float = 1.0
    """Seconds that may pass for each of them that is computed, where the tier tells them apart
    (CPython): a busy machine then changes no verdict."""
    memory: int = 20_000_000
    """Bytes of its values."""
    depth: int = 200
    """Function calls inside one another."""
    printed: int = 10_000
    """Bytes that a call may print."""
    value: int = 100_000
    """Parts and characters of a result."""


USUAL = Limits()
"""Of programs that are called many times, such as players."""


@dataclass(frozen=True, slots=True)
class Called:
    """What came of a definition or a call."""

    verdict: Verdict
    value: Any = None
    """What it returned, where the verdict is `ok`."""
    detail: str = ""
    """What went wrong, on one line; what the program says there is not trusted."""
    printed: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"


HostFunction = Callable[..., Any]
"""A function of ours that a program may call with plain values."""


class Program(ABC):
    """A program that is open in a sandbox.

    Args:
        source: its text; it is run before the first call.
        limits: what it may use.
    """

    def __init__(self, source: str, limits: Limits) -> None:
        self.source, self.limits = source, limits
        self.lost = 0
        """How often it had to start anew."""
        self._defined: Called | None = None

    def call(self, expression: str, **inputs: Any) -> Called:
        """Evaluate an expression over what the program defines, and inputs by name.

        After a verdict of `LOST` the next call starts the program anew. A program that could not be
        defined gives that verdict to every call.
        """
        if self._defined is None:
            self._defined = self._run(self.source, {}, define=True)
        if not self._defined.ok:
            return self._defined
        found = self._run(expression, inputs, define=False)
        if found.verdict in LOST:
            self.lost += 1
            self.close()
        return found

    def close(self) -> None:
        """End what runs it; a later call starts it anew."""
        self._defined = None
        self._end()

    @abstractmethod
    def _run(self, code: str, inputs: Mapping[str, Any], *, define: bool) -> Called:
        """Run statements, or evaluate an expression, in the state that earlier ones left."""

    @abstractmethod
    def _end(self) -> None:
        """Let go of the process."""


class Sandbox(Protocol):
    """Opens programs; any thread may do so."""

    @property
    def name(self) -> str:
        """What keeps programs in: `monty`, `monty+bwrap`, `cpython+bwrap`."""

    def open(
        self,
        source: str,
        *,
        seed: int = 0,
        limits: Limits = USUAL,
        functions: Mapping[str, HostFunction] | None = None,
    ) -> AbstractContextManager[Program]:
        """Open a program.

        Args:
            source: its text.
            seed: of its `random`.
            limits: what it may use.
            functions: name -> a function of ours that it may call.
        """


def is_plain(value: object, limit: int) -> bool:
    """Return whether a value is plain data to its last part, and no larger than a limit.

    >>> is_plain({"a": [1, (None, 2.5)]}, 20), is_plain([print], 20), is_plain("long" * 9, 20)
    (True, False, False)
    """
    left, size = [(value, 0)], 0
    while left:
        part, depth = left.pop()
        size += 1 + _length(part)
        if size > limit or depth > DEEPEST:
            return False
        if type(part) is dict:
            left += [(x, depth + 1) for pair in part.items() for x in pair]
        elif type(part) in _PARTS:
            left += [(x, depth + 1) for x in part]  # type: ignore[attr-defined]
        elif type(part) not in _SCALARS:
            return False
    return True


def _length(part: object) -> int:
    if type(part) is int:
        return part.bit_length() // 8
    return len(part) if type(part) in (str, bytes, dict, *_PARTS) else 0  # type: ignore[arg-type]


def first_line(text: str) -> str:
    r"""Return the first line of a text, cut.

    >>> first_line(" no\nmore")
    'no'
    """
    return (text.strip().splitlines() or [""])[0][:DETAIL]
