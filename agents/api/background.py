"""An event loop in a thread of its own, so that plain code can wait for asynchronous work.

A notebook runs a loop in the main thread already; this one is independent of it.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for threads that have no event loop; starts at the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        finally:
            future.cancel()  # nothing to cancel unless the wait itself was interrupted

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine without waiting for it; where the loop has ended, drop it."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            return
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what runs and end the thread; a later `run` starts a new one."""
        with self._lock:
            if self._loop is None or self._thread is None:
                return
            asyncio.run_coroutine_threadsafe(_last(), self._loop)
            self._thread.join(timeout=2)
            if not self._thread.is_alive():
                self._loop.close()
            self._loop = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="coevo-api", daemon=True
                )
                self._thread.start()
            return self._loop


async def _last() -> None:
    """Cancel all other tasks of the running loop, let them end, and stop it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    asyncio.get_running_loop().stop()


BACKGROUND = Background()
"""Shared by all agents of the process, so that they may share limits."""
atexit.register(BACKGROUND.stop)
