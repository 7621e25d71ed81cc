"""Checkpoints: folders that are complete or not there at all.

A checkpoint is written under a temporary name, flushed to disk, and renamed; its manifest holds
the size and hash of every file. `run_state` says what is in one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from coevo.agents.models import manifest
from coevo.agents.models.manifest import NAME, reason_of, step_of
from coevo.agents.models.manifest import checkpoints as complete
from coevo.envs.core.errors import DataError
from coevo.trainers import ranks
from coevo.trainers.files import StorageError, storage

UNFINISHED = re.compile(r"\.step_\d{6,}(\.old)?\.tmp")


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
    """Delete a checkpoint, its name first: what a kill leaves does not pass for one."""
    if checkpoint.exists():
        old = checkpoint.with_name(f".{checkpoint.name}.old.tmp")
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(checkpoint.rename(old))


def prune(folder: Path, most: int) -> None:
    """Delete checkpoints beyond the newest, and what a kill left half written or deleted.

    Folders with other names are left alone.
    """
    left = complete(folder)[-most:]
    for path in folder.iterdir():
        if path not in left and NAME.fullmatch(path.name):
            remove(path)
        elif UNFINISHED.fullmatch(path.name):
            shutil.rmtree(path)


def write_manifest(work: Path) -> None:
    """Write the manifest of a checkpoint, with size and hash of every file."""
    for path in work.rglob("*"):
        _sync(path)
    (work / manifest.FILE).write_text(manifest.described(work))
    _sync(work / manifest.FILE)
    _sync(work)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
        return manifest.verify(checkpoint)
    except DataError as error:
        raise DataError(f"{error}. {_advice(checkpoint)}") from None


def damaged(checkpoint: Path, what: str) -> str:
    """Return the line about a damaged checkpoint, and what may be done."""
    return f"{manifest.damaged(checkpoint, what)}. {_advice(checkpoint)}"


def _advice(checkpoint: Path) -> str:
    others = [p.name for p in complete(checkpoint.parent) if p.name != checkpoint.name]
    return (
        f"Without it all continues from {others[-1] if others else 'the start'}: "
        "`coevo train --resume` sets it aside with --skip-damaged; where another command wrote it, "
        "remove it by hand"
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
