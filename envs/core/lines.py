"""Reading files of JSON lines that come from elsewhere, within limits of size and number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coevo.envs.core.errors import DataError

LONGEST = 2**20
"""Bytes of a line; a question or a passage has a few thousand."""
LARGEST = 2**33
"""Bytes of a file."""
MOST = 30_000_000
"""Lines of a file; the largest corpora in use have 21 million passages."""


def lines_of(
    path: Path, *, largest: int = LARGEST, most: int = MOST
) -> Iterator[tuple[int, bytes]]:
    """Return the lines of a file that are not blank, with their numbers, one after the other.

    Raises:
        DataError: it is no file, cannot be read, or is beyond a limit; the line is named.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"cannot read {path}: it is not a file")
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size > largest:
                raise DataError(f"{path} has {size} bytes; {largest} is the most that is read")
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise DataError(f"{path}, line {number}: longer than {LONGEST} bytes")
                if number > most:
                    raise DataError(f"{path} has more than {most} lines")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
