"""What functions of texts have returned, remembered up to a number of bytes."""

from __future__ import annotations

import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
ENTRY = 300
"""Bytes of an entry beside its texts and its value."""


def remembered(most_bytes: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that remembers what was returned last, as far as the bytes go.

    `functools.lru_cache` counts entries, and one entry can be a text of any length. The bytes of an
    entry are those of its arguments and its value: texts, numbers, arrays, or tuples of these. What
    is larger than a tenth of the bound is not remembered.

    Args:
        most_bytes: of all entries together; the one that was not asked for longest goes first.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        lock, held = threading.Lock(), [0]

        @functools.wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            assert not kwargs  # a key would have to order them
            with lock:
                if args in entries:
                    entries.move_to_end(args)
                    found: R = entries[args][0]
                    return found
            value = function(*args, **kwargs)
            size = ENTRY + sum(map(_size, (*args, value)))
            with lock:
                if 10 * size <= most_bytes and args not in entries:
                    entries[args] = value, size
                    held[0] += size
                while held[0] > most_bytes:
                    held[0] -= entries.popitem(last=False)[1][1]
            return value

        ask.held = lambda: held[0]  # type: ignore[attr-defined]
        return ask

    return decorate


def _size(value: Any) -> int:
    parts = value if isinstance(value, tuple) else ()
    return sys.getsizeof(value) + sum(map(sys.getsizeof, parts))
