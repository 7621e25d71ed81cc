"""Reading files of questions that are no JSON lines: JSON lists and comma-separated tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from coevo.envs.core.errors import DataError
from coevo.envs.core.lines import LONGEST

LARGEST = 2**30
"""Bytes of a file, which is held in memory as a whole."""


def json_list(path: Path) -> Iterator[tuple[int, object]]:
    """Return the entries of a JSON list, with their numbers from 1 on.

    Raises:
        DataError: it cannot be read, or is no list.
    """
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, list):
        raise DataError(f"{path} must hold a list, found {type(data).__name__}")
    yield from enumerate(data, 1)


def csv_rows(path: Path, columns: tuple[str, ...] = ()) -> Iterator[tuple[int, object]]:
    """Return the rows of a table as mappings, with the numbers of their lines.

    Args:
        path: the file.
        columns: names of its columns; empty takes them from its first line.
    """
    lines = _text(path).splitlines(keepends=True)
    csv.field_size_limit(LONGEST)
    reader = csv.DictReader(lines, fieldnames=columns or None, strict=True)
    try:
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if value is not None}
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise DataError(f"{path} has {size} bytes; {LARGEST} is the most that is read")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error.reason}") from None
