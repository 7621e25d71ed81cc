"""The manifest of a checkpoint: size and hash of every file, by which damage is found.

A checkpoint is a folder `step_000020`. Copies under other names are folders of models like any
other: nothing says what their files should hold.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated

from coevo.envs.core.config import config, read, whole
from coevo.envs.core.errors import DataError

FILE = "manifest.json"
SCHEMA = 2
NAME = re.compile(r"step_(\d{6,})")
"""How checkpoints are called."""


@config
class Entry:
    """What a manifest says about a file."""

    bytes: Annotated[int, whole(0)]
    sha256: str


@config
class Manifest:
    """What a checkpoint consists of."""

    schema: Annotated[int, whole(1)]
    files: Mapping[str, Entry]


def is_checkpoint(path: Path) -> bool:
    """Return whether a path is a checkpoint, by its name."""
    return NAME.fullmatch(path.name) is not None and path.is_dir()


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(filter(is_checkpoint, folder.glob("step_*")), key=step_of)


def step_of(path: Path) -> int:
    """Return the update after which a checkpoint is named."""
    return int(path.name.removeprefix("step_"))


def described(checkpoint: Path) -> str:
    """Return the manifest of the files that lie in a checkpoint now, as text."""
    entries = {
        path.relative_to(checkpoint).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": _hash(path),
        }
        for path in sorted(checkpoint.rglob("*"))
        if path.is_file() and path != checkpoint / FILE
    }
    return json.dumps({"schema": SCHEMA, "files": entries}, indent=2)


def verify(
    checkpoint: Path, wanted: Callable[[str], bool] = lambda name: True, *, content: bool = True
) -> list[str]:
    """Compare files with the manifest and give their names; others are ignored.

    Args:
        checkpoint: its folder.
        wanted: says by its name whether a file is compared.
        content: whether hashes are compared, too, for which whole files are read.

    Raises:
        DataError: a file is missing or differs; the message names the first.
    """
    files = {name: entry for name, entry in _entries(checkpoint).items() if wanted(name)}
    for name, entry in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DataError(damaged(checkpoint, f"{FILE} names {name!r}, outside of it"))
        if wrong := _difference(checkpoint / name, entry, content):
            raise DataError(damaged(checkpoint, f"{name} {wrong}"))
    return list(files)


def damaged(checkpoint: Path, what: str) -> str:
    """Return the line about a checkpoint in which a file is not what was written."""
    return f"checkpoint {checkpoint} is damaged: {what}"


def reason_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200]


def _entries(checkpoint: Path) -> Mapping[str, Entry]:
    try:
        text = (checkpoint / FILE).read_text(encoding="utf-8")
        manifest: Manifest = read(Manifest, json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        what = f"{FILE} is not readable ({reason_of(error)})"
        raise DataError(damaged(checkpoint, what)) from None
    if manifest.schema != SCHEMA:
        raise DataError(damaged(checkpoint, f"{FILE} has schema {manifest.schema}"))
    if not manifest.files:
        raise DataError(damaged(checkpoint, f"{FILE} is not readable (it names no file)"))
    return manifest.files


def _difference(path: Path, entry: Entry, content: bool) -> str:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != entry.bytes:
        return f"has {path.stat().st_size} bytes, not the {entry.bytes} written"
    same = not content or _hash(path) == entry.sha256
    return "" if same else "has other content than was written"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
