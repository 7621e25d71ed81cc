"""Folders in memory for weights on their way; those of processes that were killed are removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path

SHARED = Path("/dev/shm")
"""Where files lie in memory."""
PREFIX = "coevo_weights_"
YOUNG = 60.0
"""Seconds in which a folder may not have been claimed yet by who made it."""


class MemoryFolder:
    """A folder that goes with its owner; on disk where none can lie in memory.

    The owner holds a lock on it, which ends with its process however that ends. Folders without one
    are removed when the next is made.
    """

    def __init__(self, place: Path = SHARED) -> None:
        place = place if os.access(place, os.W_OK) else Path(tempfile.gettempdir())
        for left in place.glob(f"{PREFIX}*"):
            _remove_unclaimed(left)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        self._claim = _claimed(self.path)
        weakref.finalize(self, _remove, self.path, self._claim)


def _claimed(folder: Path) -> int:
    """Lock a folder, and return what holds the lock.

    Raises:
        OSError: somebody else has it, or it is not ours to touch.
    """
    import fcntl  # not on every system that this module is imported on

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def _remove_unclaimed(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > YOUNG:
            _remove(folder, _claimed(folder))


def _remove(folder: Path, claim: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(claim)
