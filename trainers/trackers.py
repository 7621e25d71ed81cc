"""Places outside a run folder's own files that show its numbers: TensorBoard, wandb, trackio."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from coevo.envs.core.config import plain
from coevo.envs.core.quoting import visible
from coevo.trainers.config import TrainConfig, config_text
from coevo.trainers.run_folder import RunFolder

PROJECT = "coevo"
"""Project of a run in a tracker, unless WANDB_PROJECT or TRACKIO_PROJECT names another."""
GROUPS = {
    "exploitability": "measured",
    "forfeit_rate": "play",
    "seconds": "run",
    "tokens": "run",
    "tokens_per_second": "run",
    "total_seconds": "run",
    "total_tokens": "run",
    "total_turns": "run",
    "turns": "play",
}
"""Heading of metrics whose name has none; every other one belongs to the learner."""


class Target:
    """Where the numbers of a run go."""

    permanent = True
    """Whether what was written can never be taken back."""
    where: str
    """Where a person finds it."""

    def write(self, line: Mapping[str, Any]) -> None:
        """Write one line of `metrics.jsonl` under the number of its update."""
        raise NotImplementedError  # abstract

    def tell(self, step: int, lines: Iterable[str]) -> None:
        """Write an episode in words; left out where `episodes.jsonl` has to do."""

    def flush(self) -> None:
        """Make visible what was written; left out where a process of its own sends it."""

    def close(self, status: int) -> None:
        """End the run there, with its exit status, and wait until everything is written."""
        raise NotImplementedError  # abstract


class TensorBoard(Target):
    """Event files in the folder `tensorboard/` of a run; those of an earlier start are replaced.

    Args:
        folder: of the run.
        config: of the run: text, and a row of the table of hyperparameters.
        begun: clock time at which the training would have begun, had it never been interrupted.
    """

    permanent = False

    def __init__(self, folder: RunFolder, config: TrainConfig, begun: float) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.text.summary_v2 import text_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        directory = folder.path / "tensorboard"
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        self._event, self._summary, self._text, self._begun = Event, Summary, text_pb, begun
        self._writer = EventFileWriter(str(directory), max_queue_size=1000)
        self.where = f"tensorboard --logdir {directory}"
        self._add(0, hparams_pb(flat(config), folder.path.name, begun))
        self._add(0, text_pb("config", _verbatim(config_text(config).splitlines())))

    def write(self, line: Mapping[str, Any]) -> None:
        """Write the scalars of an update; the clock of the points is the training time."""
        found = [self._summary.Value(tag=k, simple_value=v) for k, v in scalars(line).items()]
        self._add(line["step"], self._summary(value=found), line.get("total_seconds", 0.0))

    def tell(self, step: int, lines: Iterable[str]) -> None:
        self._add(step, self._text("play", _verbatim(lines)))

    def flush(self) -> None:
        self._writer.flush()

    def close(self, status: int) -> None:
        self._writer.close()

    def _add(self, step: int, summary: Any, seconds: float = 0.0) -> None:
        when = self._begun + seconds
        self._writer.add_event(self._event(step=step, wall_time=when, summary=summary))


class Wandb(Target):
    """A run of Weights & Biases, continued under one identity; WANDB_MODE=offline keeps it here."""

    def __init__(self, folder: RunFolder, config: TrainConfig, identity: str) -> None:
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=identity,
            name=folder.path.resolve().name,
            dir=str(folder.path),
            config=flat(config),
            resume="allow",
        )
        place = f"sync it with: wandb sync {folder.path / 'wandb'}/offline-run-*{identity}"
        self.where = f"wandb run {identity}, {place if self._run.offline else self._run.url}"

    def write(self, line: Mapping[str, Any]) -> None:
        self._run.log(scalars(line), step=line["step"])

    def close(self, status: int) -> None:
        self._run.finish(exit_code=status)


class Trackio(Target):
    """A run of trackio: on this machine, or in a Space that TRACKIO_SPACE_ID names."""

    def __init__(self, folder: RunFolder, config: TrainConfig, identity: str) -> None:
        import trackio

        project = os.environ.get("TRACKIO_PROJECT", PROJECT)
        name = f"{folder.path.resolve().name}-{identity}"
        self._module = trackio
        trackio.init(project=project, name=name, config=flat(config), resume="allow")
        self.where = f'trackio show --project "{project}"  # run {name}'

    def write(self, line: Mapping[str, Any]) -> None:
        self._module.log(scalars(line), step=line["step"])

    def close(self, status: int) -> None:
        self._module.finish()


def scalars(line: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a line under names with a heading.

    >>> scalars({"step": 3, "return/a": 0.5, "entropy": 1, "seconds/collect": 2.0, "note": "x"})
    {'return/a': 0.5, 'learner/entropy': 1.0, 'run/seconds/collect': 2.0}
    """
    numbers = {k: v for k, v in line.items() if k != "step" and isinstance(v, int | float)}
    return {headed(k): float(v) for k, v in numbers.items()}


def headed(name: str) -> str:
    """Put a heading before the name of a metric that has none.

    >>> headed("forfeit_rate"), headed("lr"), headed("loss/policy"), headed("tokens/rejected")
    ('play/forfeit_rate', 'learner/lr', 'loss/policy', 'run/tokens/rejected')
    """
    first = name.partition("/")[0]
    heading = GROUPS.get(first, "" if "/" in name else "learner")
    return f"{heading}/{name}" if heading else name


def flat(config: TrainConfig) -> dict[str, bool | float | str]:
    """Return a configuration as one level of dotted names; what is None is left out."""
    found: dict[str, bool | float | str] = {}

    def add(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                add(f"{prefix}.{key}" if prefix else key, inner)
        elif value is not None:
            known = isinstance(value, bool | int | float | str)
            found[prefix] = value if known else ", ".join(map(str, value))

    add("", plain(config))
    return found


def _verbatim(lines: Iterable[str]) -> str:
    """Write lines so that Markdown shows them as they are."""
    return "\n".join(f"    {part}" for line in lines for part in visible(line).split("\n"))
