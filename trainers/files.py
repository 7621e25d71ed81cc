"""Files that a kill or a full disk cannot damage."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from coevo.envs.core.errors import CoevoError, DataError


class StorageError(CoevoError, OSError):
    """The disk refused a write; what was written before is intact."""


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn a failed write into one line that says what is safe."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise StorageError(
            f"cannot write {path}: {reason}. What was written before is intact; free some room "
            "and go on: a run with `coevo train --resume`, all else with the same command"
        ) from None


def truncate_lines(path: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Keep the lines of a JSON-lines file that satisfy a condition.

    A last line that a kill has cut is dropped. Lines before it that cannot be read are no work of
    ours: they are moved to a file beside it.
    """
    if not path.exists():
        return
    kept, damaged = [], []
    lines = lines_of(path)
    for number, line in enumerate(lines):
        try:
            data = parsed(line)
            if data is not None and keep(data):
                kept.append(line)
            elif data is None and number < len(lines) - 1:
                damaged.append(line)
        except (TypeError, AttributeError):  # a step that is no number
            damaged.append(line)
    with storage(path):
        if damaged:
            with aside(path).open("a", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in damaged)
        replace_text(path, "".join(line + "\n" for line in kept))


def aside(path: Path) -> Path:
    """Return the file that keeps damaged lines of another."""
    return path.with_name(f"{path.name}.damaged")


def check_regular(path: Path) -> None:
    """Raise DataError where a path is a folder, or a pipe, which may never end."""
    if path.exists() and not path.is_file():
        raise DataError(f"cannot read {path}: it is not a file")


def lines_of(path: Path) -> list[str]:
    """Read lines; a kill may have cut the last one inside a character.

    Only a line feed ends a line: agents may say any other character that ends lines elsewhere.
    """
    try:
        check_regular(path)
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    return text.removesuffix("\n").split("\n") if text else []


def parsed(line: str) -> dict[str, Any] | None:
    """Parse a line; the last one may have been cut by a kill."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file in one step."""
    with storage(path):
        replace_text(path, json.dumps(data, indent=2) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new content, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
