"""The folder of one run: configuration, metrics, episodes, checkpoints, summary.

Every file is written so that a kill at any moment leaves something that can be continued:
appended lines are truncated to the checkpoint on resume, everything else is renamed into place.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from coevo.envs.core.config import read_tree
from coevo.envs.core.episode import Episode, write_episodes
from coevo.envs.core.errors import CoevoError, ConfigError, DataError
from coevo.trainers.config import TrainConfig, config_text, load_config


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


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path | str) -> None:
        """Args: path: the folder; it need not exist yet."""
        self.path = Path(path)

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        """One JSON object per update."""
        return self.path / "metrics.jsonl"

    @property
    def episodes(self) -> Path:
        """Sampled episodes, one per line."""
        return self.path / "episodes.jsonl"

    @property
    def summary(self) -> Path:
        """Result of the run."""
        return self.path / "summary.json"

    def create(self, config: TrainConfig) -> None:
        """Make the folder for a new run; refuse one that holds a run already."""
        if (self.path / "config.yaml").exists():
            raise DataError(
                f"{self.path} holds a run already; continue it with --resume {self.path}, or give "
                "another --out"
            )
        with storage(self.path):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            replace_text(self.path / "config.yaml", config_text(config))

    def withdraw(self) -> None:
        """Take back what `create` made for a run that was refused; anything else there stays."""
        for name in ("config.yaml", "summary.json", ".writer.lock"):
            (self.path / name).unlink(missing_ok=True)
        for folder in (self.checkpoints, self.path):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def claim(self, settings: Mapping[str, Any], changing: Collection[str] = ()) -> None:
        """Make the folder for a run that is no `TrainConfig`, or for going on with just that run.

        Args:
            settings: of the run, as plain data.
            changing: names that may differ.

        Raises:
            ConfigError: the folder holds another run.
        """
        path = self.path / "config.yaml"
        if not path.exists():
            with storage(self.path):
                self.checkpoints.mkdir(parents=True, exist_ok=True)
                text = yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)
                replace_text(path, text)
            return
        found = read_tree(path)
        for name, value in settings.items():
            before = found.get(name) if isinstance(found, dict) else None
            if name not in changing and before != value:
                raise ConfigError(
                    f"{self.path} holds a run with {name}={before}, not {value}; give another "
                    "folder"
                )

    def holds(self, config: TrainConfig) -> bool:
        """Return whether this is the folder of just that run."""
        try:
            return config_text(self.config()) == config_text(config)
        except CoevoError:
            return False

    def clear(self) -> None:
        """Delete the run that the folder holds, its configuration first."""
        if self.path.exists():
            with storage(self.path):
                (self.path / "config.yaml").unlink(missing_ok=True)
                shutil.rmtree(self.path)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for one writer.

        Raises:
            DataError: another one holds it.
        """
        with storage(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            held = FileLock(self.path / ".writer.lock")
            try:
                held.acquire(timeout=0)
            except Timeout:
                raise DataError(f"{self.path} is being written by another process") from None
        try:
            yield
        finally:
            held.release()

    def config(self) -> TrainConfig:
        """Read the configuration that the run was started with."""
        if not (self.path / "config.yaml").is_file():
            raise DataError(f"{self.path} is not a run folder: it has no config.yaml")
        return load_config(self.path / "config.yaml")

    def log(self, step: int, metrics: Mapping[str, Any], episodes: Sequence[Episode] = ()) -> None:
        """Append one update's metrics and some of its plays."""
        with storage(self.metrics), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **metrics}) + "\n")
        if episodes:
            with storage(self.episodes):
                for episode in episodes:
                    episode.outcome = {**episode.outcome, "step": step}
                write_episodes(self.episodes, episodes)

    def truncate(self, step: int) -> None:
        """Drop what was logged after an update that is going to be repeated."""
        truncate_lines(self.metrics, lambda line: line.get("step", 0) <= step)
        truncate_lines(self.episodes, lambda line: line.get("outcome", {}).get("step", 0) <= step)

    @property
    def damaged_lines(self) -> list[Path]:
        """Files of lines that could be no part of the log, kept beside it."""
        found = (_aside(path) for path in (self.metrics, self.episodes))
        return [path for path in found if path.exists()]

    def read_metrics(self) -> list[dict[str, Any]]:
        """Read all complete lines of the metrics."""
        if not self.metrics.exists():
            return []
        found = [_parsed(line) for line in _lines(self.metrics)]
        for number, data in enumerate(found[:-1], start=1):
            if data is None or type(data.get("step")) is not int:
                raise DataError(f"{self.metrics}, line {number} is damaged: not of an update")
        return [data for data in found if data is not None and type(data.get("step")) is int]

    def write_json(self, path: Path, data: Mapping[str, Any]) -> None:
        """Write a JSON file in one step."""
        with storage(path):
            replace_text(path, json.dumps(data, indent=2) + "\n")


class Onlooker(RunFolder):
    """The folder as ranks see it that do not write to it."""

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold nothing."""
        yield

    def log(self, step: int, metrics: Mapping[str, Any], episodes: Sequence[Episode] = ()) -> None:
        """Write nothing."""

    def truncate(self, step: int) -> None:
        """Leave everything as it is."""


def truncate_lines(path: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Keep the lines of a JSON-lines file that satisfy a condition.

    A last line that a kill has cut is dropped. Lines before it that cannot be read are no work of
    ours: they are moved to a file beside it.
    """
    if not path.exists():
        return
    kept, damaged = [], []
    lines = _lines(path)
    for number, line in enumerate(lines):
        try:
            data = _parsed(line)
            if data is not None and keep(data):
                kept.append(line)
            elif data is None and number < len(lines) - 1:
                damaged.append(line)
        except (TypeError, AttributeError):  # a step that is no number
            damaged.append(line)
    with storage(path):
        if damaged:
            with _aside(path).open("a", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in damaged)
        replace_text(path, "".join(line + "\n" for line in kept))


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _lines(path: Path) -> list[str]:
    """Read lines; a kill may have cut the last one inside a character.

    Only a line feed ends a line: agents may say any other character that ends lines elsewhere.
    """
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    return text.removesuffix("\n").split("\n") if text else []


def _parsed(line: str) -> dict[str, Any] | None:
    """Parse a line; the last one may have been cut by a kill."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


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
