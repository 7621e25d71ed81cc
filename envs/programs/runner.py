"""Runs one program for `cpython`, inside of its jail: this file is given to another Python as text.

It writes an empty object when it is there. Then it reads a JSON object per line and writes one:
`define` or `evaluate`, with `inputs`, gives `verdict`, `value`, `detail` and `printed`. In between
it may write `ask` and `arguments`, to call a function of ours, and then reads `value`. It runs
under any Python from 3.8 on and imports nothing of coevo. The program can reach all of it: no line
from here is believed to be more than a value of the program.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import signal
import sys
import time
from typing import Any

NOW = 1577836800.0


def encode(value: Any) -> Any:
    """Return a plain value as JSON that keeps apart what JSON does not; TypeError for others."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, bytes):
        return ["bytes", bytes.hex(value)]
    if isinstance(value, dict):
        return ["dict", *(encode(x) for pair in dict.items(value) for x in pair)]
    kinds: Any = (list, tuple, set, frozenset)
    for kind in kinds:
        if isinstance(value, kind):
            return [kind.__name__, *map(encode, kind.__iter__(value))]
    raise TypeError("a " + type(value).__name__ + " is no plain value")


def decode(found: Any) -> Any:
    """Return the value that `encode` gave."""
    if not isinstance(found, list):
        return found
    kind, parts = found[0], found[1:]
    if kind == "complex":
        return complex(*parts)
    if kind == "bytes":
        return bytes.fromhex(*parts)
    parts = [decode(x) for x in parts]
    if kind == "dict":
        return dict(zip(parts[::2], parts[1::2]))  # noqa: B905  # not before 3.10
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](parts)


class Printed(io.StringIO):
    """What a call printed, as far as there is room."""

    room = 0

    def write(self, text: str) -> int:
        """Keep what fits."""
        kept = text[: max(self.room, 0)]
        self.room -= len(kept)
        super().write(kept)
        return len(text)


class Server:
    """Answers line by line."""

    def __init__(self) -> None:
        """Take the pipes away from the program, which has no input and no output."""
        self.lines = os.fdopen(os.dup(0), "rb")
        self.out = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nothing, handle)
        self.names = {"__name__": "program", "__builtins__": builtins}

    def serve(self) -> None:
        """Say that it is there, then answer until the other end closes."""
        self.put({})
        for line in self.lines:
            request = json.loads(line)
            printed = sys.stdout = Printed()
            printed.room = request["printed"]
            found = self.answer(request)
            found["printed"] = printed.getvalue()
            self.put(found)

    def put(self, found: dict) -> None:
        """Write one line."""
        self.out.write(json.dumps(found).encode() + b"\n")
        self.out.flush()

    def answer(self, request: dict) -> dict:
        """Run one request; whatever is raised becomes a verdict."""
        try:
            signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # ends the process
            value = self.run(request)
        except BaseException as error:
            return {"verdict": verdict(error), "detail": words(error)}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            found = {"verdict": "ok", "value": encode(value)}
            json.dumps(found)  # a whole number may have too many digits
            return found
        except BaseException as error:
            return {"verdict": "bad_value", "detail": words(error)}

    def run(self, request: dict) -> Any:
        """Define, or evaluate."""
        if "define" in request:
            self.prepare(request)
            code = compile(request["define"], "program.py", "exec")
            exec(code, self.names)  # noqa: S102  # what the jail is for
            return None
        self.names.update({name: decode(x) for name, x in request["inputs"].items()})
        return eval(request["evaluate"], self.names)  # noqa: S307

    def prepare(self, request: dict) -> None:
        """Set what makes a program the same at every run, and the functions it may call."""
        sys.setrecursionlimit(request["depth"])
        if "random" in request["define"]:
            import random  # noqa: TID251  # seeded, for the program

            random.seed(request["seed"])
        for name in ("time", "monotonic", "perf_counter"):
            setattr(time, name, lambda: NOW)
        time.sleep = lambda seconds: None
        for name in request["functions"]:
            self.names[name] = self.asking(name)

    def asking(self, name: str) -> Any:
        """Return a function that asks the other end."""

        def ask(*arguments: Any) -> Any:
            self.put({"ask": name, "arguments": encode(arguments)})
            found = json.loads(self.lines.readline())
            if "raised" in found:
                raise RuntimeError(found["raised"])
            return decode(found["value"])

        return ask


def verdict(error: BaseException) -> str:
    """Return what an error means."""
    kinds = [(SyntaxError, "syntax"), (MemoryError, "memory"), (RecursionError, "depth")]
    return next((name for kind, name in kinds if isinstance(error, kind)), "raised")


def words(error: BaseException) -> str:
    """Return an error in words; those of a program may raise another."""
    try:
        return type(error).__name__ + ": " + str(error)[:200]
    except BaseException:
        return "an error without words"


if __name__ == "__main__":
    Server().serve()
