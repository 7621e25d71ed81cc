"""Checkpoints: folders that are complete or not there at all.

A checkpoint is written under a temporary name, flushed to disk, and renamed; its manifest holds
the size and hash of every file. `run_state` says what is in one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated

from safetensors import SafetensorError

from coevo.envs.core.config import config, read, whole
from coevo.envs.core.errors import DataError
from coevo.trainers import ranks
from coevo.trainers.files import StorageError, storage

SCHEMA = 2
MANIFEST = "manifest.json"
NAME = re.compile(r"step_(\d{6,})")
UNFINISHED = re.compile(r"\.step_\d{6,}\.tmp")


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


def reason_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200]


def write(folder: Path, step: int, fill: Callable[[Path], None], most: int) -> Path:
    """Let `fill` make a temporary folder, put it in its place, and keep the newest `most`."""
    final = folder / f"step_{step:06d}"
    if ranks.number():
        return final  # the first rank writes
    work = folder / f".{final.name}.tmp"
    with storage(final):
        shutil.rmtree(work, ignore_errors=True)
        try:
            fill(work)
            write_manifest(work)
            remove(final)
            work.rename(final)
            _sync(folder)
            prune(folder, most)
        except SafetensorError as error:
            raise StorageError(
                f"cannot write {final}: {reason_of(error)}. {_safe(folder, final)}"
            ) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


def _safe(folder: Path, failed: Path) -> str:
    """Say which checkpoint is left after one could not be written."""
    left = [path.name for path in complete(folder) if path != failed]
    if not left:
        return "There is no earlier checkpoint; free some room, and the run begins again"
    return f"{left[-1]} is intact; free some room and continue with `coevo train --resume`"


def remove(checkpoint: Path) -> None:
    """Delete a checkpoint, its manifest first: what a kill leaves does not pass for complete."""
    if checkpoint.exists():
        (checkpoint / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(checkpoint)


def prune(folder: Path, most: int) -> None:
    """Delete checkpoints beyond the newest, and what a kill left half written or deleted.

    Folders with other names are left alone.
    """
    left = complete(folder)[-most:]
    for path in folder.iterdir():
        if path not in left and (NAME.fullmatch(path.name) or UNFINISHED.fullmatch(path.name)):
            remove(path)


def write_manifest(work: Path) -> None:
    """Write the manifest of a checkpoint, with size and hash of every file."""
    entries = {}
    for path in sorted(work.rglob("*")):
        _sync(path)
        if path.is_dir():
            continue
        entries[path.relative_to(work).as_posix()] = {
            "bytes": path.stat().st_size,
            "sha256": _hash(path),
        }
    (work / MANIFEST).write_text(json.dumps({"schema": SCHEMA, "files": entries}, indent=2))
    _sync(work / MANIFEST)
    _sync(work)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def complete(folder: Path) -> list[Path]:
    """Return the checkpoints that were finished, oldest first; copies under other names are not."""
    found = [p for p in folder.glob("step_*") if NAME.fullmatch(p.name)]
    return sorted((p for p in found if (p / MANIFEST).is_file()), key=step_of)


def step_of(path: Path) -> int:
    """Return the update after which a checkpoint is named."""
    return int(path.name.removeprefix("step_"))


def latest(folder: Path) -> Path | None:
    """Return the newest finished checkpoint, or None."""
    found = complete(folder)
    return found[-1] if found else None


def latest_step(folder: Path) -> int:
    """Return the update of the newest finished checkpoint: those up to it are never repeated."""
    newest = latest(folder)
    return 0 if newest is None else step_of(newest)


def check_name(checkpoint: Path, step: int) -> None:
    """Raise DataError where a checkpoint that holds one update is named after another."""
    named = NAME.fullmatch(checkpoint.name)
    if named and int(named[1]) != step:
        raise DataError(
            f"checkpoint {checkpoint} holds update {step}, so it was renamed: name it "
            f"step_{step:06d}, or move it out of {checkpoint.parent}"
        )


def verify(checkpoint: Path) -> list[str]:
    """Compare every file with the manifest and give their names; other files are ignored.

    Raises:
        DataError: a file is missing or differs; the message names the first.
    """
    try:
        text = (checkpoint / MANIFEST).read_text(encoding="utf-8")
        manifest: Manifest = read(Manifest, json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        what = f"{MANIFEST} is not readable ({reason_of(error)})"
        raise DataError(damaged(checkpoint, what)) from None
    if manifest.schema != SCHEMA:
        raise DataError(damaged(checkpoint, f"{MANIFEST} has schema {manifest.schema}"))
    if not manifest.files:
        raise DataError(damaged(checkpoint, f"{MANIFEST} is not readable (it names no file)"))
    files = {name: (entry.bytes, entry.sha256) for name, entry in manifest.files.items()}
    for name, (size, digest) in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DataError(damaged(checkpoint, f"{MANIFEST} names {name!r}, outside of it"))
        wrong = _difference(checkpoint / name, size, digest)
        if wrong:
            raise DataError(damaged(checkpoint, f"{name} {wrong}"))
    return list(files)


def _difference(path: Path, size: int, digest: str) -> str:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != size:
        return f"has {path.stat().st_size} bytes, not the {size} written"
    return "" if _hash(path) == digest else "has other content than was written"


def damaged(checkpoint: Path, what: str) -> str:
    others = [p.name for p in complete(checkpoint.parent) if p.name != checkpoint.name]
    return (
        f"checkpoint {checkpoint} is damaged: {what}. Without it all continues from "
        f"{others[-1] if others else 'the start'}: `coevo train --resume` sets it aside with "
        "--skip-damaged; where another command wrote it, remove it by hand"
    )


def set_aside(folder: Path) -> list[tuple[Path, str]]:
    """Rename the newest checkpoints that are damaged until one is whole.

    Nothing is deleted: `step_000004` becomes `step_000004.damaged`, which is no checkpoint. Returns
    the new name of each, and what is wrong with it.
    """
    found = []
    while (newest := latest(folder)) is not None:
        try:
            verify(newest)
            break
        except DataError as error:
            number = sum(p.name.startswith(f"{newest.name}.damaged") for p in folder.iterdir())
            place = newest.with_name(f"{newest.name}.damaged{number or ''}")
            with storage(place):
                newest.rename(place)
            found.append((place, str(error).partition(" is damaged: ")[2].partition(". With ")[0]))
    return found
