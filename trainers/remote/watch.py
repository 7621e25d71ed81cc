"""A watch over Ray's own processes: where one dies, Ray ends this process without a word."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread

NAMES = ("raylet", "gcs_server")
"""Programs of Ray without which nothing goes on; its agents take the first one with them."""
PACE = 0.05
"""Seconds between two looks."""


@contextlib.contextmanager
def watched(clean: Callable[[], None]) -> Iterator[None]:
    """Say in one line which process of Ray has died, clean up and exit with status 1.

    Only processes that this one has started are watched, and only where there is /proc.
    """
    over, own = Event(), started()
    thread = Thread(target=_watch, args=(own, over, clean), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def started() -> dict[int, str]:
    """Return the children of this process that are Ray's, by their numbers."""
    found = {}
    for place in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, place.read_text().split()):
            with contextlib.suppress(OSError):
                program = Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]
                if (name := program.rpartition("/")[2]) in NAMES:
                    found[pid] = name
    return found


def _watch(own: Mapping[int, str], over: Event, clean: Callable[[], None]) -> None:
    while own and not over.wait(PACE):
        dead = [name for pid, name in own.items() if not _alive(pid)]
        if dead and not over.is_set():
            os.write(2, said(dead[0]).encode())
            clean()
            os._exit(1)


def said(name: str) -> str:
    """Return what is said of a process of Ray that has died."""
    return (
        f"coevo: error: Ray's process {name} was killed or has failed, and nothing goes on without "
        "it; what was saved before is intact: continue a run with `coevo train --resume`, all "
        "else with the same command\n"
    )


def _alive(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
