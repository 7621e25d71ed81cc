"""A model of stable-baselines3 with the views it plays on and the selves it plays against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from coevo.agents.models.network import Network, layers_of
from coevo.agents.models.sb3 import ARCHIVE, Card, SB3Agent, network_of, save_sb3
from coevo.agents.models.seated import stream_seed
from coevo.agents.strategies.game_tree import check_knowable
from coevo.envs import make
from coevo.envs.bridges.vector import LEARNER, VectorView, numbered, vector_env
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError, legible
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.tensors import encoding
from coevo.trainers.checkpoint import check_name
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.progress import Progress
from coevo.trainers.sb3.hyperparameters import SB3Config, SelfPlay, baseline

PAST, PROGRESS = "past.safetensors", "progress.json"
NEVER = 10**9
"""Interval at which SB3 writes a log of its own."""


class PastSelves:
    """The learner after its newest update, and after some earlier ones.

    Playing only the newest self chases it in circles where no pure strategy is best; older ones in
    between are the opponents of fictitious self-play (Heinrich et al., 2015), a few instead of all.
    There is none to draw before the first `renew`.
    """

    def __init__(self, settings: SelfPlay) -> None:
        self.settings = settings
        self.kept: list[Network] = []
        """Past selves, oldest first."""
        self.newest: list[Network] = []
        """The learner as it is, alone."""

    def renew(self, now: Network, step: int) -> None:
        """Take over the learner after an update; keep it if its turn has come."""
        self.newest = [replace(now, name="newest_self")]
        if step % self.settings.every == 0:
            self.kept = [*self.kept, replace(now, name="past_self")][-self.settings.size :]

    def draw(self, rng: np.random.Generator) -> Network:
        """Draw the player of one seat for one episode."""
        among = self.newest if rng.random() < self.settings.latest else self.kept
        return among[int(rng.integers(len(among)))]

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the weights of the kept selves, by number and name."""
        return {f"{i}/{k}": t for i, net in enumerate(self.kept) for k, t in net.tensors().items()}

    def restore(self, now: Network, tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the learner and the kept selves of a checkpoint."""
        rows: dict[int, dict[str, np.ndarray]] = {}
        for name, tensor in tensors.items():
            row, _, key = name.partition("/")
            rows.setdefault(int(row), {})[key] = tensor
        self.newest = [replace(now, name="newest_self")]
        self.kept = [
            replace(now, layers=layers_of(rows[i]), name="past_self") for i in sorted(rows)
        ]


class SB3Learner:
    """Learns update by update; goes on from a folder written by `save`.

    SB3 seeds the global generators of Python, NumPy and torch, and draws its actions from them. Of
    its file only tensors are read (`weights_only`).

    Raises:
        ConfigError: the environment has no vector view, or its requests tell an agent too little.
        MissingExtraError: stable-baselines3 is not installed.
    """

    def __init__(self, config: SB3Config, start: Path | None = None) -> None:
        self.config, self.past = config, PastSelves(config.self_play)
        self._options = {"prompt_style": "terse", **config.env_options}
        task = numbered(make(config.env, **self._options))
        if not isinstance(task, OpenSpielTask):
            raise ConfigError(
                f"env={config.env} has no rules of OpenSpiel, from which agents of "
                "stable-baselines3 find their numbers; coevo.envs.bridges.vector gives you a view "
                "for learners of your own"
            )
        check_knowable(str(task.game))
        self.game, self.seats = task.game, list(task.seats)
        self._finished: list[Episode] = []
        self._played = 0
        self.views = [self._view() for _ in range(config.learner.envs)]
        self.progress, done = Progress(), 0
        if start is not None:
            with legible(start / PROGRESS):
                facts = json.loads((start / PROGRESS).read_text(encoding="utf-8"))
                done = int(facts.pop("timesteps"))
                self.progress = Progress(**facts)
                check_name(start, self.progress.step)
        # Cells of neighbouring seeds and parts of one run must not see each other's deals again.
        self.model = self._model(stream_seed(config.seed, self.progress.turns) % 2**31)
        if start is None:
            self.past.renew(network_of(self.model), 0)
        else:
            with legible(start):
                self._restore(start, done)

    def update(self, share: float) -> dict[str, Any]:
        """Play and learn once, at a share of the budget that is spent; return metrics."""
        self.model.budget_left = 1.0 - share
        actions = sum(v.actions for v in self.views)
        illegal = sum(v.illegal_actions for v in self.views)
        self._finished.clear()
        self.model.learn(
            self.config.learner.update_steps, reset_num_timesteps=False, log_interval=NEVER
        )
        self.past.renew(network_of(self.model), self.progress.step + 1)
        turns = sum(v.turns for v in self.views)
        played, self._played = turns - self._played, turns
        self.progress = self.progress.plus(turns=played)
        actions = sum(v.actions for v in self.views) - actions
        illegal = sum(v.illegal_actions for v in self.views) - illegal
        metrics = rollout_metrics(self.seats, self._finished) if self._finished else {}
        own = {
            "episodes": len(self._finished),
            f"illegal_rate/{LEARNER}": illegal / max(actions, 1),
        }
        return metrics | own | self._logged()

    @property
    def finished(self) -> list[Episode]:
        """Episodes that ended in the last update."""
        return list(self._finished)

    def agent(self) -> SB3Agent:
        """Return the policy as it is now; later updates do not change it."""
        return SB3Agent(network_of(self.model), self._card())

    def save(self, folder: Path) -> None:
        """Write what an update needs, except episodes under way and the replay buffer."""
        save_sb3(folder, self.model, self._card())
        save_file(self.past.tensors(), folder / PAST)
        facts = vars(self.progress) | {"timesteps": self.model.num_timesteps}
        (folder / PROGRESS).write_text(json.dumps(facts, indent=2), encoding="utf-8")

    def _restore(self, folder: Path, timesteps: int) -> None:
        self.model.set_parameters(folder / ARCHIVE, device="cpu")
        self.model.num_timesteps = timesteps
        if hasattr(self.model, "learning_starts"):
            self.model.learning_starts += timesteps  # the replay buffer has to be filled again
        self.past.restore(network_of(self.model), load_file(folder / PAST))

    def _view(self) -> VectorView:
        given = self.config.opponents
        return vector_env(
            self.config.env,
            opponents=self.past if given == "self" else given,
            on_end=self._finished.append,
            **self._options,
        )

    def _model(self, seed: int) -> Any:
        cls = baseline(self.config.algo).load()
        from stable_baselines3.common.logger import Logger
        from stable_baselines3.common.utils import LinearSchedule
        from stable_baselines3.common.vec_env import DummyVecEnv

        settings, views = self.config.learner, iter(self.views)
        model = _by_budget(cls)(
            "MlpPolicy",
            DummyVecEnv([lambda: next(views)] * len(self.views)),
            learning_rate=LinearSchedule(settings.learning_rate, 0.0, 1.0),
            policy_kwargs={"net_arch": list(settings.hidden)},
            seed=seed,
            device="cpu",  # rows are too small for an accelerator to pay
            **settings.passed_on(),
        )
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model

    def _card(self) -> Card:
        return Card(
            algo=self.config.algo,
            env=self.config.env,
            env_options=dict(self.config.env_options),
            game=str(self.game),
            encoding=str(encoding(self.game)),
            steps=self.progress.step,
            timesteps=self.model.num_timesteps,
        )

    def _logged(self) -> dict[str, float]:
        """Return what SB3 says about its last gradient steps."""
        own = {k: float(v) for k, v in self.model.logger.name_to_value.items() if "train/" in k}
        return {k: v for k, v in own.items() if math.isfinite(v)}


def _by_budget(cls: type[Any]) -> type[Any]:
    """Let the schedules of a learner fall with the run's budget instead of with its actions."""

    class ByBudget(cls):
        budget_left = 1.0

        def _update_current_progress_remaining(self, done: int, total: int) -> None:
            self._current_progress_remaining = self.budget_left

    ByBudget.__name__ = cls.__name__
    return ByBudget
