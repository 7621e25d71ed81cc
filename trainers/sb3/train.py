"""Learners of stable-baselines3 as baselines: same environments, same budgets, same loop and files.

One seat at a time learns on the vector view of an environment, changing seats with every episode;
the other seats are past selves. Turns count the replies of all seats, as in every other run; the
last update may go over the budget by what one update takes (`update_steps` actions, and the replies
to them).

A run that is stopped or killed goes on from its newest checkpoint: weights, optimiser, past selves
and counters. Episodes under way, DQN's replay buffer and the state of random generators are made
anew, so a continued run is a complete run of the same budget, but not bit-equal to one in a piece.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coevo.agents.models.sb3 import SB3Agent
from coevo.trainers import checkpoint
from coevo.trainers.loop import EvaluationHook, UpdateResult, drive
from coevo.trainers.measuring import Outcome, totals
from coevo.trainers.progress import Progress
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.sb3.hyperparameters import SB3Config
from coevo.trainers.sb3.learner import SB3Learner


class SB3Run:
    """A run of a baseline in memory, filled from its newest checkpoint if there is one.

    Raises:
        ConfigError: the folder holds another run.
        DataError: its newest checkpoint is damaged.
    """

    def __init__(self, config: SB3Config, folder: RunFolder) -> None:
        folder.claim(config.to_plain(), changing=("sb3_defaults",))
        newest = checkpoint.latest(folder.checkpoints)
        if newest is not None:
            checkpoint.verify(newest)
        self.config, self.folder = config, folder
        self.learner = SB3Learner(config, newest)
        self.moving = False

    @property
    def progress(self) -> Progress:
        return self.learner.progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self.learner.progress = progress

    def policies(self) -> Mapping[str, SB3Agent]:
        """Return the policy as it is now; later updates do not change it."""
        return {"policy": self.learner.agent()}

    def save(self) -> None:
        most = self.config.keep_checkpoints
        self.folder.seal(self.progress.step)
        checkpoint.write(self.folder.checkpoints, self.progress.step, self.learner.save, most)

    def update(self) -> Outcome:
        """Play and learn once; return metrics and the episodes that ended."""
        began, self.moving = time.monotonic(), True
        metrics = self.learner.update(self.progress.share(self.config))
        return metrics | {"seconds": time.monotonic() - began}, self.learner.finished


def sb3_updates(run: SB3Run, hooks: Sequence[EvaluationHook] = ()) -> Iterator[UpdateResult]:
    """Train a learner of stable-baselines3 until its budget is spent, or continue such a run.

    Hooks measure the policy now and then, also before the first update (`step` 0).

    Raises:
        KeyboardInterrupt: after the current update was finished and saved.
    """
    if hooks and not run.folder.read_metrics():
        measured: dict[str, Any] = {}
        for hook in hooks:
            measured |= hook(run.policies())
        run.folder.log(0, measured | totals(run.progress))
    yield from drive(run, run.update, hooks)
