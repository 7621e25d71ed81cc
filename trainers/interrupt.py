"""Signals to stop, made a request to stop after the current update."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

STOPPING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
"""Signals that ask a run to stop: Ctrl-C, a scheduler, a terminal that is closed."""


BURST = 1.0
"""Seconds within which signals count as one: schedulers and shells send the same one twice."""


class Interrupt:
    """Turns the first signal to stop into a request to stop after the current update.

    A second one, more than `BURST` seconds later, ends the update at once where the last finished
    update can still be saved (`stoppable`), and waits for its end elsewhere. A third one ends it
    there too: the last resort. Saving is never ended.
    """

    asked = False

    def __init__(self) -> None:
        self._accepted: list[float] = []
        self._stoppable: Callable[[], bool] | None = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {n: signal.signal(n, self._note) for n in STOPPING if _heard(n)}
        return self

    @contextlib.contextmanager
    def stoppable(self, unharmed: Callable[[], bool]) -> Iterator[None]:
        """Let further signals end what is done meanwhile.

        Args:
            unharmed: whether the state is still that of the last finished update.
        """
        self._stoppable = unharmed
        try:
            yield
        finally:
            self._stoppable = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        now, self.asked = time.monotonic(), True
        if self._accepted and now - self._accepted[-1] < BURST:
            return
        self._accepted.append(now)
        if self._stoppable is None or len(self._accepted) == 1:
            return
        if len(self._accepted) > 2 or self._stoppable():
            raise KeyboardInterrupt

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
