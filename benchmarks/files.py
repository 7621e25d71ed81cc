"""Names in paths, and small JSON files; imports no model library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from coevo.envs.core.errors import DataError


def short(env_id: str) -> str:
    """Return the name of an environment without its namespace and version."""
    name = env_id.rpartition("/")[2]
    head, dash, version = name.rpartition("-v")
    return head if dash and version.isdigit() else name


def file_name(name: str) -> str:
    """Spell a name so that every file system takes it."""
    return re.sub(r"[^A-Za-z0-9_.=-]+", "-", name).strip("-")


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; raise DataError where it is damaged."""
    try:
        if path.exists() and not path.is_file():  # a pipe may never end
            raise OSError("it is not a file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged: {error}") from None
    return as_table(data, path)


def read_if_there(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file that need not be there yet; empty without one."""
    return read_json(path) if path.exists() or path.is_symlink() else {}


def as_table(data: Any, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise DataError(f"{path} is damaged: it holds no table")
    return data


def within(folder: Path, *parts: str) -> Path:
    """Return a path inside of a folder, its parts as a file of that folder names them.

    DataError where they lead out of it.

    >>> within(Path("runs"), "..", "secret")
    Traceback (most recent call last):
    coevo.envs.core.errors.DataError: runs names a file outside of itself: ../secret
    """
    if any(part in ("", ".", "..") or "/" in part or "\\" in part for part in parts):
        raise DataError(f"{folder} names a file outside of itself: {'/'.join(parts)}")
    return folder.joinpath(*parts)
