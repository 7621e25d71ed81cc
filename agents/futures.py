"""Waiting for futures: replies of servers, steps of slow environments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, wait
from typing import Any, TypeVar

T = TypeVar("T")


def all_of(futures: Sequence[Future[T]]) -> list[T]:
    """Return all results, in order.

    Raises:
        Exception: the first error of any; what was not under way then is never begun.
    """
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        drop(futures)  # nothing, unless one has failed or the wait was interrupted
    _check(futures)
    return [f.result() for f in futures]


def some_of(futures: Collection[Future[T]], *, at_least: int = 1) -> list[Future[T]]:
    """Return those that have a result, in order; wait for one if there must be one.

    Raises:
        Exception: the first error of any, as in `all_of`.
    """
    if at_least:
        wait(futures, return_when=FIRST_COMPLETED)
    found = [f for f in futures if f.done()]
    if any(f.cancelled() or f.exception() for f in found):
        _check(futures)
    return found


def drop(futures: Collection[Future[Any]]) -> list[Future[Any]]:
    """Cancel what is not under way yet, and return what is, or has ended."""
    return [f for f in futures if not f.cancel()]


def _check(futures: Collection[Future[Any]]) -> None:
    begun = drop(futures)
    wait(begun)
    for future in begun:
        if (error := future.exception()) is not None:
            raise error
