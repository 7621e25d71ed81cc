"""An event loop in a thread of its own, so that plain code can wait for asynchronous work.

A notebook runs a loop in the main thread already; this one is independent of it. All agents of the
process use it, so that they may share limits.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine without waiting for it."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine; Ctrl-C cancels it."""
    future = start(work)
    try:
        return future.result()
    finally:
        future.cancel()  # nothing to cancel unless the wait itself was interrupted


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="coevo-api", daemon=True).start()
    return loop
