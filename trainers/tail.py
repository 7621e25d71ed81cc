"""Reading a file of lines while another process appends to it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from coevo.trainers.files import check_regular

MARK = 256
"""Bytes before the place reached that have to be the same the next time."""


class News(NamedTuple):
    """What a file holds that was not read before."""

    lines: list[bytes]
    """Whole lines, without their ends."""
    anew: bool
    """Whether the file was cut back or replaced: the lines are all it holds, not an addition."""


class Tail:
    """Gives the new lines of a growing file each time it is asked.

    A line that is still being written waits until it is whole. A file that is not there yet is
    empty. Of a run that is resumed the end is cut off and written again: that is noticed by the
    bytes before the place reached, and everything is read from the start.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = 0
        self._mark = b""

    def read(self) -> News:
        """Return what was added since the last call."""
        check_regular(self.path)
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            lost = self._place > 0
            self._place, self._mark = 0, b""
            return News([], anew=lost)
        with file:
            anew = not self._same(file)
            if anew:
                self._place, self._mark = 0, b""
            return News(self._lines(file), anew)

    def _same(self, file: BinaryIO) -> bool:
        """Return whether the file still ends where it was left as it was left."""
        file.seek(self._place - len(self._mark))
        return file.read(len(self._mark)) == self._mark

    def _lines(self, file: BinaryIO) -> list[bytes]:
        file.seek(self._place)
        added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._place += len(whole)
        self._mark = (self._mark + whole)[-MARK:]
        return whole.split(b"\n")[:-1]


def records(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Parse lines of JSON; what is no object is passed over.

    >>> records([b'{"step": 1}', b'{"ste'])
    [{'step': 1}]
    """
    found = []
    for line in lines:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            found.append(data)
    return found
