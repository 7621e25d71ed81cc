"""Processes of an engine: started out of reach of Ctrl-C, and watched while they are asked."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds between two looks at whether processes live."""


@contextlib.contextmanager
def unsignalled() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile: the run decides when to stop."""
    resource_tracker.ensure_running()  # its start would open what is shut here
    deaf = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, deaf)
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
        except BaseException as error:  # whoever waits raises it
            found.set_exception(error)

    threading.Thread(target=ask, name="coevo-asks", daemon=True).start()
    while wait([found], timeout=PATIENCE).not_done:
        if not all(p.is_alive() for p in processes) and wait([found], timeout=PATIENCE).not_done:
            raise ChildProcessError("its process has died")
    return found.result()
