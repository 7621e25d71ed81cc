"""The first tier: Monty, an interpreter of a part of Python in processes of its own.

https://github.com/pydantic/monty. It gives programs no files, no network and no modules but its
own. Where bubblewrap starts, its processes are in a jail as well.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from coevo.envs.core.errors import missing_extra
from coevo.envs.programs.jail import Jailed, check_required, jailed
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
"""Processes of a sandbox; programs beyond them wait."""
ADDRESSES = 2**30
"""Bytes of address space of a process in a jail."""
PATIENCE = 60.0
"""Seconds after which a process is killed that no other limit has stopped."""
NOW = datetime(2020, 1, 1)
"""The time that every program sees."""
_KINDS: Mapping[type, Verdict] = {
    TimeoutError: "time",
    MemoryError: "memory",
    RecursionError: "depth",
    SyntaxError: "syntax",
    NotImplementedError: "unsupported",
    ImportError: "unsupported",
    ModuleNotFoundError: "unsupported",
}
_NAME = re.compile(r"name '(\w+)' is not defined")


class MontySandbox:
    """Runs programs in Monty."""

    def __init__(self) -> None:
        if importlib.util.find_spec("pydantic_monty") is None:
            raise missing_extra("pydantic-monty", "programs")
        self._lock = threading.Lock()
        self._started: Any = None
        self._inherited: list[Any] = []
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    @property
    def name(self) -> str:
        """`monty+bwrap`, or `monty` where there is no jail."""
        return "monty+bwrap" if _jail().command else "monty"

    @contextlib.contextmanager
    def open(
        self,
        source: str,
        *,
        seed: int = 0,
        limits: Limits = USUAL,
        functions: Mapping[str, HostFunction] | None = None,
    ) -> Iterator[Program]:
        check_required(_jail().why_not)
        program = _MontyProgram(self._session, source, seed, limits, functions or {})
        try:
            yield program
        finally:
            program.close()

    def close(self) -> None:
        """End the processes; the next program starts others."""
        with self._lock:
            pool, self._started = self._started, None
            if pool is not None:
                pool.__exit__(None, None, None)

    def _session(self, **settings: Any) -> Any:
        from pydantic_monty import Monty

        with self._lock:
            if self._started is None:
                self._started = Monty(
                    binary_path=_binary(),
                    min_processes=0,
                    max_processes=WORKERS,
                    request_timeout=PATIENCE,
                    feed_duration_limit_grace=GRACE,
                ).__enter__()
            return self._started.checkout(**settings)

    def _forget(self) -> None:
        """In a fork, leave the processes to the program that started them; do not end them."""
        self._lock = threading.Lock()
        self._inherited.append(self._started)
        self._started = None


class _MontyProgram(Program):
    def __init__(
        self,
        session: Callable[..., Any],
        source: str,
        seed: int,
        limits: Limits,
        functions: Mapping[str, HostFunction],
    ) -> None:
        super().__init__(source, limits)
        self._new, self._seed, self._functions = session, seed, dict(functions)
        self._holds = contextlib.ExitStack()
        self._session: Any = None

    def _run(self, code: str, inputs: Mapping[str, Any], *, define: bool) -> Called:
        from pydantic_monty import CollectString, MontyError

        printed = CollectString(max_bytes=self.limits.printed)
        try:
            if self._session is None:
                self._session = self._holds.enter_context(self._begun())
            value = self._session.feed_run(
                f"{code}\nNone" if define else code,
                inputs=dict(inputs),
                external_lookup=self._functions,
                print_callback=printed,
            )
        except MontyError as error:
            return Called(_verdict(error), None, first_line(str(error)), printed.output)
        except ValueError as error:  # a number of more digits than Python converts
            return Called("bad_value", None, first_line(str(error)), printed.output)
        if not is_plain(value, self.limits.value):
            detail = f"a {type(value).__name__} that is no plain value, or too large"
            return Called("bad_value", None, detail, printed.output)
        return Called("ok", value, "", printed.output)

    def _begun(self) -> Any:
        limits = {
            "max_feed_duration_secs": self.limits.seconds,
            "max_memory": self.limits.memory,
            "max_recursion_depth": self.limits.depth,
            "max_suspensions": 10**6,  # of calls of our functions; 1000 would end long checks
        }
        policy = {"random_start": {"seed": self._seed}, "datetime": NOW, "sleep": "zero"}
        return self._new(limits=limits, os_policy=policy)

    def _end(self) -> None:
        self._session = None
        self._holds.close()


def _verdict(error: Any) -> Verdict:
    """Return what an error of Monty means.

    Its parser raises NotImplementedError for what it does not know. A program that raises one of
    these itself is judged alike.
    """
    if type(error).__name__ == "MontyCrashedError":
        return "time" if error.timed_out else "crash"
    inner = error.exception()
    unknown = _NAME.search(str(inner)) if isinstance(inner, NameError) else None
    if unknown and hasattr(builtins, unknown[1]):
        return "unsupported"
    return _KINDS.get(type(inner), "raised")


def _jail() -> Jailed:
    return jailed(_monty(), "--version", ADDRESSES)


@functools.cache
def _monty() -> str:
    """Return the path of Monty's executable, which its package puts beside that of Python."""
    own = Path(sysconfig.get_path("scripts"), "monty")
    found = str(own) if own.is_file() else shutil.which("monty")
    if found is None:
        raise missing_extra("pydantic-monty-runtime", "programs")
    return os.path.realpath(found)


@functools.cache
def _binary() -> str:
    """Return what to start as a worker: Monty itself, or a script that puts it into a jail."""
    command = _jail().command
    if not command:
        return _monty()
    folder = Path(tempfile.mkdtemp(prefix="coevo-jail-"))
    atexit.register(_remove, folder, os.getpid())
    script = folder / "monty"
    # What Monty says of its memory is in the verdict already.
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@" 2>/dev/null\n', "utf-8")
    script.chmod(0o700)
    return str(script)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
