"""Processes of an engine, which Ctrl-C does not reach, and folders in memory for its weights."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds between two looks at whether processes live."""
DEAF = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
"""Signals that a terminal sends to all processes of a command."""


@contextlib.contextmanager
def unsignalled() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile: the run decides when to stop."""
    resource_tracker.ensure_running()  # its start would open what is shut here
    with _mask("SIG_BLOCK"):
        yield


@contextlib.contextmanager
def signalled() -> Iterator[None]:
    """Let Ctrl-C stop what a process does meanwhile that was started `unsignalled`.

    A signal that came before arrives at the start.
    """
    with _mask("SIG_UNBLOCK"):
        yield


@contextlib.contextmanager
def _mask(how: str) -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(getattr(signal, how), DEAF)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def answer(question: Callable[[], T], processes: Sequence[BaseProcess]) -> T:
    """Return an answer; a client that is asked may wait for a dead process for ever.

    Args:
        question: asks, and waits for the answer.
        processes: what must live for that; without any the question is asked as it is.

    Raises:
        ChildProcessError: one has died.
    """
    if not processes:
        return question()
    found: Future[T] = Future()

    def ask() -> None:
        try:
            found.set_result(question())
        except BaseException as error:  # raised by the thread that waits
            found.set_exception(error)

    threading.Thread(target=ask, name="coevo-asks", daemon=True).start()
    while wait([found], timeout=PATIENCE).not_done:
        if not all(p.is_alive() for p in processes) and wait([found], timeout=PATIENCE).not_done:
            raise ChildProcessError("its process has died")
    return found.result()


# ---- Folders in memory ---------------------------------------------------------------------------


SHARED = Path("/dev/shm")
"""Where files lie in memory."""
PREFIX = "coevo_weights_"
YOUNG = 60.0
"""Seconds in which a folder may not have been claimed yet by who made it."""


class MemoryFolder:
    """A folder that goes with its owner; on disk where none can lie in memory.

    The owner holds a lock on it, which ends with its process however that ends. Folders without one
    are removed when the next is made.
    """

    def __init__(self, place: Path = SHARED) -> None:
        place = place if os.access(place, os.W_OK) else Path(tempfile.gettempdir())
        for left in place.glob(f"{PREFIX}*"):
            _remove_unclaimed(left)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        self._claim = _claimed(self.path)
        weakref.finalize(self, _remove, self.path, self._claim)


def _claimed(folder: Path) -> int:
    """Lock a folder, and return what holds the lock.

    Raises:
        OSError: another process has it, or this one may not lock it.
    """
    import fcntl  # not on every system that this module is imported on

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def _remove_unclaimed(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > YOUNG:
            _remove(folder, _claimed(folder))


def _remove(folder: Path, claim: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(claim)
