"""The second tier: the whole language, a process of CPython for each program, always in a jail.

For graded code that the first tier does not run. There is none without bubblewrap: no program runs
in a bare process. The clock of `time` stands still, `random` is seeded and hashes are fixed;
`datetime` shows the time.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from coevo.envs.core.errors import ConfigError
from coevo.envs.programs.jail import Jailed, jailed
from coevo.envs.programs.runner import decode, encode
from coevo.envs.programs.sandbox import (
    GRACE,
    USUAL,
    Called,
    HostFunction,
    Limits,
    Program,
    Verdict,
    first_line,
    is_plain,
)

WORKERS = 2
"""Processes at a time; programs beyond them wait."""
START_SECONDS = 10.0
"""For the start of a process, beside the limit of the program."""
OWN_MEMORY = 300_000_000
"""Bytes of address space that the interpreter itself may take."""
LONGEST = 2**23
"""Bytes of an answer that is read."""
SYSTEM_PYTHON = "/usr/bin/python3"


class CpythonSandbox:
    """Runs programs in CPython, in a jail."""

    name = "cpython+bwrap"

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(WORKERS)

    @contextlib.contextmanager
    def open(
        self,
        source: str,
        *,
        seed: int = 0,
        limits: Limits = USUAL,
        functions: Mapping[str, HostFunction] | None = None,
    ) -> Iterator[Program]:
        jail = _jail(limits.memory)
        if jail.why_not:
            raise ConfigError(f"programs in the whole language need a jail: {jail.why_not}")
        with self._free:
            program = _CpythonProgram(jail.command, source, seed, limits, functions or {})
            try:
                yield program
            finally:
                program.close()


def why_not() -> str:
    """Return why this tier cannot be used here; empty where it can."""
    return _jail(USUAL.memory).why_not


def _jail(memory: int) -> Jailed:
    return jailed(_python(), "--version", memory + OWN_MEMORY)


@functools.cache
def _python() -> str:
    """Return the Python of the system, which every user may read; else the one that runs this."""
    found = SYSTEM_PYTHON if os.access(SYSTEM_PYTHON, os.X_OK) else sys.executable
    return os.path.realpath(found)


class _Gone(Exception):
    """The process no longer answers."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.called = Called(verdict, None, detail)


class _CpythonProgram(Program):
    def __init__(
        self,
        command: tuple[str, ...],
        source: str,
        seed: int,
        limits: Limits,
        functions: Mapping[str, HostFunction],
    ) -> None:
        super().__init__(source, limits)
        self._command, self._seed, self._functions = command, seed, functions
        self._pipes: _Pipes | None = None

    def _run(self, code: str, inputs: Mapping[str, Any], *, define: bool) -> Called:
        request: dict[str, Any] = {
            "printed": self.limits.printed,
            "seconds": self.limits.seconds,
        }
        if define:
            names = {"functions": list(self._functions), "depth": self.limits.depth}
            request |= {"define": code, "seed": self._seed, **names}
        else:
            plain = {name: encode(value) for name, value in inputs.items()}
            request |= {"evaluate": code, "inputs": plain}
        try:
            if self._pipes is None:
                self._pipes = _Pipes(self._command)
                self._pipes.read(START_SECONDS)  # its first line says that it is there
            return self._read(self._answer(request))
        except _Gone as error:
            return error.called

    def _answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request; serve the functions that are called until there is an answer."""
        assert self._pipes is not None  # started
        patience = self.limits.seconds * self.limits.waiting + GRACE
        while True:
            self._pipes.put(request, patience)
            found = self._pipes.read(patience)
            if "ask" not in found:
                return found
            request = self._served(found)

    def _served(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            arguments = decode(asked["arguments"])
            function = self._functions[asked["ask"]]
        except Exception as error:  # it writes what it likes
            raise _Gone("crash", "it broke the form of its answers") from error
        if type(arguments) is not tuple or not is_plain(arguments, self.limits.value):
            return {"raised": "arguments that are no plain values, or too large"}
        try:
            return {"value": encode(function(*arguments))}
        except Exception as error:  # as in Monty, the program sees it
            return {"raised": first_line(str(error))}

    def _read(self, found: Mapping[str, Any]) -> Called:
        """Make an answer a value; nothing in it is trusted."""
        verdict, printed = found.get("verdict"), str(found.get("printed", ""))
        printed = printed[: self.limits.printed]
        if verdict != "ok":
            known: Verdict = verdict if verdict in get_args(Verdict) else "crash"  # type: ignore[assignment]
            return Called(known, None, first_line(str(found.get("detail", ""))), printed)
        try:
            value = decode(found.get("value"))
            plain = is_plain(value, self.limits.value)
        except Exception:  # a value of any form
            plain = False
        if not plain:
            return Called("bad_value", None, "no plain value, or too large", printed)
        return Called("ok", value, "", printed)

    def _end(self) -> None:
        if self._pipes is not None:
            self._pipes.close()
        self._pipes = None


class _Pipes:
    """A process that answers a line with a line, or is killed."""

    def __init__(self, command: tuple[str, ...]) -> None:
        source = Path(__file__).with_name("runner.py").read_text(encoding="utf-8")
        self._process = subprocess.Popen(
            [*command, "-s", "-S", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._begun = b""
        """What was read of the next line."""

    def put(self, request: Mapping[str, Any], patience: float) -> None:
        """Write a line; raise _Gone where it is not taken in so many seconds."""
        pipe, end = self._process.stdin, time.monotonic() + patience
        assert pipe is not None  # Popen was asked for it
        os.set_blocking(pipe.fileno(), False)
        data = json.dumps(request).encode() + b"\n"
        while data:
            self._wait(pipe, selectors.EVENT_WRITE, end)
            try:
                data = data[os.write(pipe.fileno(), data) :]
            except OSError:
                raise self._ended() from None

    def read(self, patience: float) -> dict[str, Any]:
        """Return the next line; raise _Gone after so many seconds, or where it has a wrong form."""
        try:
            found = json.loads(self._line(time.monotonic() + patience))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _Gone("crash", "it broke the form of its answers")
        return found

    def _line(self, end: float) -> bytes:
        pipe = self._process.stdout
        assert pipe is not None  # Popen was asked for it
        while b"\n" not in self._begun:
            self._wait(pipe, selectors.EVENT_READ, end)
            read = os.read(pipe.fileno(), 2**16)
            if not read:
                raise self._ended()
            self._begun += read
            if len(self._begun) > LONGEST:
                raise _Gone("bad_value", "an answer that is too large")
        line, _, self._begun = self._begun.partition(b"\n")
        return line

    def _ended(self) -> _Gone:
        """Return why the process is there no more: its time of computing was over, or something."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(GRACE) == 128 + signal.SIGPROF:
                return _Gone("time", "its time was over")
        return _Gone("crash", "its process ended")

    def _wait(self, pipe: Any, event: int, end: float) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(pipe, event)
            if not waiting.select(max(end - time.monotonic(), 0)):
                raise _Gone("time", "it was killed after its time was over")

    def close(self) -> None:
        """Kill it and all that it has started, which ends with its namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
