"""Digests of a log at the checkpoints of its run: a log that was changed is noticed before use.

Every byte is hashed once per process, however often the log is sealed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from coevo.envs.core.config import config, read, whole
from coevo.envs.core.errors import DataError
from coevo.trainers.files import check_regular, replace_text, storage

BLOCK = 2**20
SUFFIX = ".seals.json"


@config
class Seal:
    """What a log held when a checkpoint was saved."""

    step: Annotated[int, whole(0)]
    bytes: Annotated[int, whole(0)]
    sha256: str


@config
class SealFile:
    """The seals of a log, one per checkpoint that is kept."""

    seals: tuple[Seal, ...] = ()


class Seals:
    """The seals of a log that only grows, in a file beside it."""

    def __init__(self, log: Path) -> None:
        """Args: log: the file; it need not be there."""
        self.log, self.path = log, log.with_name(log.name + SUFFIX)
        self._hash, self._size = hashlib.sha256(), 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Seals, (self.log,)  # another process hashes anew

    def read(self) -> tuple[Seal, ...]:
        """Return all seals, oldest first; none of a log that no checkpoint knows."""
        if not self.path.exists():
            return ()
        try:
            check_regular(self.path)
            found: SealFile = read(SealFile, json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())[:200]
            raise DataError(
                f"{self.path} is damaged ({said}); remove it, and {self.log.name} is taken as it is"
            ) from None
        return found.seals

    def add(self, step: int, kept: Collection[int]) -> None:
        """Seal the log as it is at an update; of earlier seals only those in `kept` stay."""
        with storage(self.log):
            self._follow()
        older = tuple(s for s in self.read() if s.step in kept and s.step < step)
        self._write((*older, Seal(step=step, bytes=self._size, sha256=self._hash.hexdigest())))

    def back_to(self, step: int) -> bool:
        """Forget the seals after an update and cut off what the log holds after it.

        Returns False, and cuts nothing, where the log was not sealed at that update.
        """
        every = self.read()
        left = tuple(s for s in every if s.step <= step)
        if left != every:
            self._write(left)
        if not left or left[-1].step != step:
            return False
        with storage(self.log):
            os.truncate(self.log, left[-1].bytes)
        return True

    def forget(self) -> None:
        """Drop all seals: the log is another one now."""
        self._hash, self._size = hashlib.sha256(), 0
        with storage(self.path):
            self.path.unlink(missing_ok=True)

    def check(self, step: int | None = None) -> None:
        """Raise DataError where the log is not what it was at an update, by default the newest.

        A log that is not there passes: it may be moved away.
        """
        found = [s for s in self.read() if step is None or s.step == step]
        if not found or not self.log.exists():
            return
        check_regular(self.log)
        if wrong := self._difference(found[-1]):
            raise DataError(
                f"{self.log} was changed since update {found[-1].step} was saved: {wrong}. Put "
                "it back as it was, or move it away: all else goes on without it; `coevo train "
                "--resume` does that with --skip-damaged"
            )

    def _difference(self, seal: Seal) -> str:
        size = self.log.stat().st_size
        if size < seal.bytes:
            return f"it has {size} bytes, and had {seal.bytes}"
        self._hash, self._size = hashlib.sha256(), 0
        self._follow(seal.bytes)
        same = self._hash.hexdigest() == seal.sha256
        return "" if same else f"its first {seal.bytes} bytes are others"

    def _follow(self, most: int | None = None) -> None:
        """Hash what was added to the log, up to a size, once it is on the disk."""
        if not self.log.exists():
            self._hash, self._size = hashlib.sha256(), 0
            return
        with self.log.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._size:  # cut back by a resume
                self._hash, self._size = hashlib.sha256(), 0
            os.fsync(file.fileno())
            file.seek(self._size)
            left = float("inf") if most is None else most - self._size
            while left and (block := file.read(int(min(BLOCK, left)))):
                self._hash.update(block)
                self._size += len(block)
                left -= len(block)

    def _write(self, seals: tuple[Seal, ...]) -> None:
        data = {"seals": [vars(seal) for seal in seals]}
        with storage(self.path):
            replace_text(self.path, json.dumps(data) + "\n")
