"""Following a run's `metrics.jsonl` in TensorBoard, wandb or trackio.

The loggers read the file; the loop does not know them. TensorBoard's files are written anew at
every start of a run. What a tracker received cannot be taken back, so an update is sent only when
a checkpoint holds it and it will not be repeated. A run that was set back further, or copied, is
sent under a new name, from its beginning.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import (
    ConfigError,
    DataError,
    MissingExtraError,
    missing_extra,
    unknown,
)
from coevo.trainers.checkpoint import latest_step
from coevo.trainers.config import TrainConfig
from coevo.trainers.files import check_regular, write_json
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.tail import Tail, records
from coevo.trainers.trackers import Target, TensorBoard, Trackio, Wandb

NAMES = ("tensorboard", "wandb", "trackio")
NOTES = "loggers.json"
"""File of a run: its loggers, and what was sent to each tracker."""

Tell = Callable[[Episode], Iterable[str]]


class LoggerError(DataError):
    """A tracker refused to start."""


def read_names(text: str) -> tuple[str, ...]:
    """Read a list of loggers with commas between; `none` is the empty one.

    Raises:
        UnknownNameError: there is no such logger.
        MissingExtraError: its package is not installed.

    >>> read_names("none"), read_names("tensorboard")
    ((), ('tensorboard',))
    """
    names = tuple(part.strip() for part in text.split(","))
    if names == ("none",):
        return ()
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"loggers={text!r} names {name!r} twice")
        if name not in NAMES:
            raise unknown("logger", name, [*NAMES, "none"])
        _installed(name)
    return names


def _installed(name: str) -> None:
    """Refuse a logger without its package; a folder of that name is no package."""
    try:
        found = importlib.import_module(name).__file__
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        found = None
    if found is None and name == "tensorboard":
        raise missing_extra(name, "log")
    if found is None:
        raise MissingExtraError(
            f"this needs the package {name!r}, which is not installed: pip install {name}"
        )


def recorded(folder: RunFolder) -> tuple[str, ...]:
    """Return the loggers that a run had when it was last started."""
    return tuple(_notes(folder))


def _notes(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Read what a run remembers about its loggers; a damaged file is like none."""
    try:
        check_regular(folder.path / NOTES)
        data = json.loads((folder.path / NOTES).read_text(encoding="utf-8"))
        return {name: dict(note) for name, note in data.items() if name in NAMES}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


class Loggers:
    """Writes a run to its loggers as it goes; a context manager around `train`.

    A logger that fails on the way is left out with a word, and the run goes on.

    Args:
        elapsed: seconds of training before this start.
        tell: words for a play.
        say: takes one line for the person at the screen.

    Raises:
        LoggerError: on entering, when a logger cannot be started.
    """

    def __init__(
        self,
        names: Sequence[str],
        folder: RunFolder,
        config: TrainConfig,
        *,
        elapsed: float,
        tell: Tell,
        say: Callable[[str], None],
    ) -> None:
        self.names, self.folder, self.config = names, folder, config
        self._begun, self._tell, self._say = time.time() - elapsed, tell, say
        self._targets: dict[str, Target] = {}
        self._waiting: dict[str, deque[dict[str, Any]]] = {}
        self._notes: dict[str, dict[str, Any]] = {}
        self._metrics, self._episodes = Tail(folder.metrics), Tail(folder.episodes)
        self._last_step = 0

    def __enter__(self) -> Loggers:
        self._notes = {name: self._note(name) for name in self.names}
        for name in self.names:
            try:
                self._targets[name] = self._open(name)
            except Exception as error:
                self._close(1)
                raise LoggerError(
                    f"{name} cannot be started: {type(error).__name__}: {error}. Continue without "
                    f"it: coevo train --resume {self.folder.path} --log none"
                ) from error
            self._waiting[name] = deque()
        if self._notes or (self.folder.path / NOTES).exists():
            self._remember()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.catch_up()
        self._close(0 if kind is None else 130 if kind is KeyboardInterrupt else 1)

    @property
    def places(self) -> list[str]:
        """Where a person finds what was written."""
        return [target.where for target in self._targets.values()]

    def catch_up(self) -> None:
        """Write what the run has logged since the last call."""
        if not self._targets:
            return
        lines = [line for line in records(self._metrics.read().lines) if "step" in line]
        plays = self._new_plays() if "tensorboard" in self._targets else []
        saved = latest_step(self.folder.checkpoints)
        for name in tuple(self._targets):
            self._waiting[name].extend(lines)
            try:
                self._write(name, saved, plays)
            except Exception as error:
                self._drop(name, error)

    def _note(self, name: str) -> dict[str, Any]:
        """Say under which name a run is continued, and what is known there already."""
        if name == "tensorboard":
            return {}
        path = str(self.folder.path.resolve())
        old = _notes(self.folder).get(name, {})
        if old.get("folder") == path and old["written"] <= latest_step(self.folder.checkpoints):
            return old
        return {"id": uuid.uuid4().hex[:8], "folder": path, "written": 0}

    def _open(self, name: str) -> Target:
        if name == "tensorboard":
            return TensorBoard(self.folder, self.config, self._begun)
        maker = Wandb if name == "wandb" else Trackio
        return maker(self.folder, self.config, self._notes[name]["id"])

    def _write(self, name: str, saved: int, plays: Sequence[Episode]) -> None:
        target, waiting, note = self._targets[name], self._waiting[name], self._notes[name]
        before = note.get("written", 0)
        while waiting and (waiting[0]["step"] <= saved or not target.permanent):
            line = waiting.popleft()
            if line["step"] > before:
                target.write(line)
                note |= {"written": line["step"]} if target.permanent else {}
        for play in plays:
            target.tell(int(play.outcome["step"]), self._tell(play))
        target.flush()
        if note.get("written", 0) > before:
            self._remember()

    def _new_plays(self) -> list[Episode]:
        """Return the first play of every update whose plays were logged since the last call."""
        found = []
        for line in self._episodes.read().lines:
            with contextlib.suppress(DataError):
                play = Episode.from_json(line)
                if play.outcome.get("step", 0) > self._last_step:
                    self._last_step = int(play.outcome["step"])
                    found.append(play)
        return found

    def _remember(self) -> None:
        write_json(self.folder.path / NOTES, self._notes)

    def _drop(self, name: str, error: Exception) -> None:
        del self._targets[name]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        self._say(f"{name} is left out from here on: {text}. Everything is in {self.folder.path}")

    def _close(self, status: int) -> None:
        for name, target in tuple(self._targets.items()):
            try:
                target.close(status)
            except Exception as error:
                self._drop(name, error)
