"""A pretrained language model that is taught the form of replies before a claim trains it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from coevo.agents.sampling import SamplingConfig
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder


@dataclass(frozen=True)
class Taught:
    """How a model is taught in a world: by `sft`, as `coevo imitate` does it for its size.

    It is taught, trained and measured on a GPU where there is one.
    """

    model: str = "smollm2"
    """What is taught: a name of `coevo fetch`, a folder, a Hub id."""
    by: str = "random"
    """Who is imitated; random legal play teaches the form alone."""
    steps: int = 50
    replies: int = 8
    """Replies of an optimiser step."""
    lr: float = 8.6e-5
    max_new_tokens: int = 8
    """Longest reply, when the taught model is trained and measured as well."""
    guided: Literal["none", "choice"] = "none"
    """Whether it is then restricted to legal moves."""

    def settings(self, env: str, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Teach, unless this process did so before, and return the settings of a run from there."""
        changes = {
            "cycle.demonstrate.by": self.by,
            "cycle.make_items.to.most": self.replies,
            "collect.episodes": self.replies,
            "optim.lr": self.lr,
        }
        shared: dict[str, Any] = {
            "sampling": SamplingConfig(max_new_tokens=self.max_new_tokens, guided=self.guided),
            "threads": 1,
            "device": "auto",
        }
        config = TrainConfig(
            algorithm=algorithm("sft", None, changes),
            env=env,
            env_options=options,
            model=self.model,
            seed=seed,
            steps=self.steps,
            checkpoint_every=self.steps,
            episodes_logged=0,
            **shared,
        )
        place = _place()
        if repr(config) not in place.taught:
            folder = RunFolder(place.path / str(len(place.taught)))
            folder.create(config)
            train(config, folder)
            place.taught[repr(config)] = folder.path
        return {**shared, "model": str(place.taught[repr(config)])}


class _Place:
    """Where taught models lie until the process ends."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="coevo-taught-")
        self.path = Path(self._temporary.name)
        self.taught: dict[str, Path] = {}


@cache
def _place() -> _Place:
    return _Place()
