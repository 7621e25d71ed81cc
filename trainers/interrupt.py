"""Ctrl-C, made a request to stop after the current update."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Interrupt:
    """Turns the first Ctrl-C into a request to stop after the current update."""

    asked = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)
