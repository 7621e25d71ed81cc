"""Configuration of one training run: what is trained, on what, for how long, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator

from coevo.agents.engines.settings import EngineConfig, Torch
from coevo.agents.load import DEVICES
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import config as component
from coevo.envs.core.config import plain, read, read_tree, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.learners.settings import EmaMagnet

LIMITS = ("steps", "budget_seconds", "budget_tokens", "budget_turns")
"""Settings that end a run; the first that is reached counts."""


def _device(given: str) -> str:
    if given not in DEVICES:
        raise ConfigError(f"device={given!r} must be {', '.join(DEVICES[:-1])} or {DEVICES[-1]}")
    return given


@component
class Environment:
    """One of several environments of a run."""

    weight: Annotated[float, real(above=0)] = 1.0
    """Its share of the tasks, before the weights are normalised."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its own arguments, beside the run's `env_options`."""
    skill: str = ""
    """What its tasks train, for statistics; empty takes its name."""


def _environments(given: Any) -> Any:
    """Read a mapping of environments; a bare number is a weight."""
    if not isinstance(given, Mapping):
        return given
    if not given:
        raise ConfigError("env={} must name an environment")
    return {
        str(id): own
        if isinstance(own, Environment)
        else read(Environment, own if isinstance(own, Mapping) else {"weight": own}, f"env.{id}")
        for id, own in given.items()
    }


@component
class TrainConfig:
    """Everything that a run depends on; saved as `config.yaml` and enough to repeat it."""

    algorithm: Algorithm
    """The algorithm, every setting spelled out."""
    env: Annotated[str | Mapping[str, Environment], BeforeValidator(_environments)]
    """Registered environment id; or several, each with its weight or its settings."""
    env_options: Mapping[str, Any] = field(default_factory=lambda: {"prompt_style": "terse"})
    """Arguments of the environment, or of all of them."""
    model: str = "starter"
    """`starter` for the shipped model, a folder with a causal LM, a Hub id; or, where every turn
    has a list of legal moves, `table`: a row of logits for every prompt, and `net`: a small network
    over arrays, such as `net:conv,gru,hidden=32`."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    """How policies draw their tokens; filters, such as `top_p`, are for those that do not learn."""
    sampling_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter set -> settings of `sampling` that are its own: `sampling_of.frozen.top_p=0.9`."""
    engine: EngineConfig = field(default_factory=Torch)
    """Where the tokens of policies come from: `torch`, or `{name: vllm, ...}`."""
    seed: Annotated[int, whole(0, 2**63 - 1)] = 0
    """Root of every generator of the run."""
    steps: Annotated[int, whole(1)] | None = None
    """Updates; None stops by a budget."""
    budget_seconds: Annotated[float, real(above=0)] | None = None
    """Wall-clock seconds of training, evaluation not counted."""
    budget_tokens: Annotated[int, whole(1)] | None = None
    """Sampled tokens of all learning policies."""
    budget_turns: Annotated[int, whole(1)] | None = None
    """Turns of environments, all seats counted."""
    checkpoint_every: Annotated[int, whole(1)] = 20
    """Updates between checkpoints; the last update is always kept."""
    keep_checkpoints: Annotated[int, whole(1)] = 2
    """Complete checkpoints kept on disk."""
    rollout_parts: Annotated[int, whole(1)] = 1
    """Parts that the episodes of an update are played in, whole groups each: what rollout workers
    share out. Equal numbers give equal episodes; others differ by what the size of a batch changes
    about last digits."""
    probe_every: Annotated[int, whole(1)] = 10
    """Updates between probes such as exploitability."""
    probe_points: Annotated[int, whole(0)] = 0
    """Probes spread evenly over the budget; 0 goes by `probe_every` instead."""
    episodes_logged: Annotated[int, whole(0)] = 4
    """Plays per probe written to `episodes.jsonl`."""
    device: Annotated[str, AfterValidator(_device)] = "auto"
    """`cpu`, `cuda`, or `auto`."""
    threads: Annotated[int, whole(0, 1024)] = 0
    """CPU threads of torch; 0 leaves torch's choice. Equal results need equal numbers."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Of the weights that play and compute; beside half precision, float32 copies are moved."""
    gradient_checkpointing: bool = False
    """Compute layers again for the gradient: less memory, more time."""

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in LIMITS):
            raise ConfigError(f"a run needs an end: give one of {', '.join(LIMITS)}")
        for name in self.sampling_of:
            self.sampling_for(name)
        lag = self.algorithm.collect.staleness
        if lag and self.engine.gives_way:
            raise ConfigError(
                f"engine.{self.engine.gives_way} and collect.staleness={lag} contradict each "
                "other: what is played ahead is played while the learner computes; leave one out"
            )
        averaged = self.algorithm.ema or isinstance(self.algorithm.magnet, EmaMagnet)
        if self.dtype != "float32" and averaged:
            raise ConfigError(
                f"dtype={self.dtype!r} and ema={self.algorithm.ema:g}, magnet="
                f"{self.algorithm.magnet} contradict each other: what an average moves by is "
                "rounded away; use magnet=snapshot_magnet, no ema, or dtype=float32"
            )

    def sampling_for(self, name: str) -> SamplingConfig:
        """Return the settings by which a parameter set draws its tokens."""
        own = {**plain(self.sampling), **self.sampling_of.get(name, {})}
        return read(SamplingConfig, own, f"sampling_of.{name}")

    @property
    def environments(self) -> Mapping[str, Environment]:
        """Return every environment of the run with all its arguments."""
        if isinstance(self.env, str):
            return {self.env: Environment(options=self.env_options)}
        joined = {id: {**self.env_options, **own.options} for id, own in self.env.items()}
        return {id: replace(own, options=joined[id]) for id, own in self.env.items()}

    @property
    def env_names(self) -> str:
        return ", ".join(self.environments)

    @property
    def env_title(self) -> str:
        """Return the names of its environments for one line, of many the first three."""
        names = [*self.environments]
        more = len(names) - 3
        return self.env_names if more < 2 else f"{', '.join(names[:3])} and {more} others"

    def skill(self, env: str) -> str:
        """Return what the tasks of an environment train."""
        return self.environments[env].skill or env


def config_text(config: TrainConfig) -> str:
    return str(yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True))


def load_config(path: Path) -> TrainConfig:
    """Read a configuration; a broken file or key gives one clear line."""
    try:
        return read(TrainConfig, read_tree(path))
    except ConfigError as error:
        raise type(error)(f"{path}: {error}") from None
