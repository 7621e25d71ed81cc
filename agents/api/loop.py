"""An event loop in its own thread, so that synchronous code can wait for asynchronous work.

A notebook runs a loop in the main thread already; this one is independent of it. All agents of the
process use it, so that they may share limits.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Begin = Callable[[], None]
"""Says that work is under way, from when on it cannot be cancelled."""


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine without waiting for it."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def submit(work: Callable[[Begin], Coroutine[Any, Any, T]]) -> Future[T]:
    """Run a coroutine without waiting for it; it can be cancelled until it says that it is begun.

    Args:
        work: makes the coroutine; what it is given raises CancelledError where it is too late.
    """
    future: Future[T] = Future()

    def begin() -> None:
        if not (future.running() or future.set_running_or_notify_cancel()):
            raise asyncio.CancelledError

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None  # this is a coroutine
        future.add_done_callback(lambda f: _loop().call_soon_threadsafe(_stop, f, task))
        try:
            found = await work(begin)
            begin()
        except asyncio.CancelledError:
            if future.running():
                future.set_exception(asyncio.CancelledError())
        except BaseException as error:
            begin()
            future.set_exception(error)
        else:
            future.set_result(found)

    start(run())
    return future


def _stop(future: Future[Any], task: asyncio.Task[Any]) -> None:
    if future.cancelled():
        task.cancel()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="coevo-api", daemon=True).start()
    return loop
