"""Configuration of one training run: what is trained, on what, for how long, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.record import from_plain, to_plain

LIMITS = ("steps", "budget_seconds", "budget_tokens", "budget_turns")
"""Settings that end a run; the first that is reached counts."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Everything that a run depends on; saved as `config.yaml` and enough to repeat it."""

    algorithm: Algorithm
    """The resolved record, every slot spelled out."""
    env: str
    """Registered environment id."""
    env_options: Mapping[str, Any] = field(default_factory=lambda: {"prompt_style": "terse"})
    """Arguments of the environment."""
    model: str = "seed"
    """`seed` for the shipped model, a folder with a causal LM, or a Hub id."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    seed: int = 0
    """Root of every generator of the run."""
    steps: int | None = None
    """Updates; None stops by a budget."""
    budget_seconds: float | None = None
    """Wall-clock seconds of training, evaluation not counted."""
    budget_tokens: int | None = None
    """Sampled tokens of all learning policies."""
    budget_turns: int | None = None
    """Turns of environments, all seats counted."""
    checkpoint_every: int = 20
    """Updates between checkpoints; the last update is always kept."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept on disk."""
    probe_every: int = 10
    """Updates between probes such as exploitability."""
    probe_points: int = 0
    """Probes spread evenly over the budget; 0 goes by `probe_every` instead."""
    episodes_logged: int = 4
    """Plays per probe written to `episodes.jsonl`."""
    device: str = "auto"
    """`cpu`, `cuda`, or `auto`."""
    threads: int = 0
    """CPU threads of torch; 0 leaves torch's choice. Equal results need equal numbers."""
    trust_remote_code: bool = False
    """Run code that comes with a model."""

    def __post_init__(self) -> None:
        limits = {name: getattr(self, name) for name in LIMITS}
        if all(value is None for value in limits.values()):
            raise ConfigError(f"a run needs an end: give one of {', '.join(limits)}")
        for name, value in limits.items():
            if value is not None and value <= 0:
                raise ConfigError(f"{name}={value} must be above 0")
        for name in ("checkpoint_every", "keep_checkpoints", "probe_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("seed", "episodes_logged", "threads", "probe_points"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must not be negative")


def config_text(config: TrainConfig) -> str:
    """Write a configuration as YAML text."""
    return str(yaml.safe_dump(to_plain(config), sort_keys=False, allow_unicode=True))


def save_config(config: TrainConfig, path: Path) -> None:
    """Write a configuration as a YAML file."""
    path.write_text(config_text(config), encoding="utf-8")


def load_config(path: Path) -> TrainConfig:
    """Read a configuration; a broken file or key gives one clear line."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = str(error).replace("\n", " ")
        raise DataError(f"{path} is not YAML: {line}") from None
    return from_plain(TrainConfig, data)
