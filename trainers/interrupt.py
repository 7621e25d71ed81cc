"""Signals to stop, made a request to stop after the current update."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

STOPPING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
"""Signals that ask a run to stop: Ctrl-C, a scheduler, a terminal that is closed."""


class Interrupt:
    """Turns the first signal to stop into a request to stop after the current update."""

    asked = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {n: signal.signal(n, self._note) for n in STOPPING if _heard(n)}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def as_one() -> Iterator[None]:
    """Let a scheduler, or a terminal that is closed, stop a command just as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    usual = [n for n in STOPPING if main and signal.getsignal(n) is signal.SIG_DFL]
    for number in usual:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in usual:
            signal.signal(number, signal.SIG_DFL)


def _heard(number: signal.Signals) -> bool:
    """Return whether a signal is listened to: `nohup` has SIGHUP ignored, and that stays."""
    return number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
