"""The folder of one run: configuration, metrics, episodes, checkpoints, summary.

Every file is written so that a kill at any moment leaves something that can be continued:
appended lines are truncated to the checkpoint on resume, everything else is renamed into place.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from coevo.envs.core.config import read_tree
from coevo.envs.core.episode import Episode, write_episodes
from coevo.envs.core.errors import CoevoError, ConfigError, DataError
from coevo.trainers.checkpoint import complete, latest_step, step_of
from coevo.trainers.config import TrainConfig, config_text, load_config
from coevo.trainers.files import aside, lines_of, parsed, replace_text, storage, truncate_lines
from coevo.trainers.seals import Seals

CHANGED = "episodes.jsonl.changed"
"""Name under which episodes lie that are not those of the run."""


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path | str) -> None:
        """Args: path: the folder; it need not exist yet."""
        self.path = Path(path)
        self._seals = Seals(self.episodes)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def episodes(self) -> Path:
        return self.path / "episodes.jsonl"

    @property
    def summary(self) -> Path:
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

        Raises:
            ConfigError: the folder holds another run: a setting differs that is not in `changing`.
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
        """Hold the folder for one writer; DataError where another one holds it."""
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

    def seal(self, step: int) -> None:
        """Note the digest of the episodes that a checkpoint of an update belongs to."""
        self._seals.add(step, [step_of(path) for path in complete(self.checkpoints)])

    def check_episodes(self, step: int) -> None:
        """Raise DataError where the episodes are not those that were logged up to a checkpoint."""
        self._seals.check(step)

    def set_episodes_aside(self) -> str:
        """Rename the episodes if they were changed since the newest checkpoint; say what was."""
        try:
            self.check_episodes(latest_step(self.checkpoints))
        except DataError as error:
            number = sum(p.name.startswith(CHANGED) for p in self.path.iterdir())
            place = self.path / f"{CHANGED}{number or ''}"
            with storage(place):
                self.episodes.rename(place)
            self._seals.forget()
            return f"set aside as {place}: {str(error).partition('. Put ')[0]}"
        return ""

    def truncate(self, step: int) -> None:
        """Drop what was logged after an update that is going to be repeated.

        Raises:
            DataError: the episodes up to it are not those that were logged.
        """
        self.check_episodes(step)
        truncate_lines(self.metrics, lambda line: line.get("step", 0) <= step)
        if not self.episodes.exists():
            self._seals.forget()
        elif not self._seals.back_to(step):
            truncate_lines(
                self.episodes, lambda line: line.get("outcome", {}).get("step", 0) <= step
            )

    @property
    def damaged_lines(self) -> list[Path]:
        """Files of lines that could be no part of the log, kept beside it."""
        found = (aside(path) for path in (self.metrics, self.episodes))
        return [path for path in found if path.exists()]

    def read_metrics(self) -> list[dict[str, Any]]:
        """Read all complete lines of the metrics."""
        if not self.metrics.exists():
            return []
        found = [parsed(line) for line in lines_of(self.metrics)]
        for number, data in enumerate(found[:-1], start=1):
            if data is None or type(data.get("step")) is not int:
                raise DataError(f"{self.metrics}, line {number} is damaged: not of an update")
        return [data for data in found if data is not None and type(data.get("step")) is int]


class Onlooker(RunFolder):
    """The folder as ranks see it that do not write to it."""

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        yield

    def log(self, step: int, metrics: Mapping[str, Any], episodes: Sequence[Episode] = ()) -> None:
        """Write nothing."""

    def truncate(self, step: int) -> None:
        """Leave everything as it is."""

    def seal(self, step: int) -> None:
        """Write nothing."""
