"""The settings of a comparison, fixed before anything runs and written to `manifest.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic wants this one under Python 3.12

from coevo.benchmarks.files import short
from coevo.benchmarks.results_folder import MANIFEST, ResultsFolder
from coevo.envs.core.config import plain
from coevo.envs.core.config import read as read_config
from coevo.envs.core.errors import ConfigError, DataError, unknown
from coevo.envs.core.registry import ENVS
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.algorithms import algorithm as registered
from coevo.trainers.sb3.hyperparameters import baseline

KIND = "comparison"
BASELINES = "sb3:"
"""Prefix of learners from stable-baselines3, which are none of ours."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything that decides about the results."""

    algorithms: tuple[str, ...]
    """Names, with a variant after a colon; `sb3:NAME` for baselines of stable-baselines3."""
    environments: tuple[str, ...]
    seeds: tuple[int, ...]
    """Seed s fixes start weights, tasks and sampling for every algorithm, so that runs pair."""
    budgets: Mapping[str, Any]
    """Environment -> {tokens, turns, seconds}; a run ends at the first that is reached."""
    baseline: str
    """Whom the headline compares with."""
    model: str = "starter"
    """Start weights of every run."""
    points: int = 20
    """Measurements on the way, evenly spaced over the budget; the start counts as another."""
    games: int = 32
    """Episodes of a measurement on the way; ten times as many at the end."""
    env_options: Mapping[str, Any] = field(default_factory=lambda: {"prompt_style": "terse"})
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """How replies are drawn, in training and in measurements; filters (`top_p` and the like) in
    measurements alone: a learner draws from the distribution that it learns."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ: `SETTING`, `ALGORITHM.SETTING` or `ENVIRONMENT.SETTING`."""
    threads: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("algorithms", "environments", "seeds"):
            given = getattr(self, name)
            if not given or len(set(given)) < len(given):
                hint = "; what differs in a setting needs a variant" if given else ""
                raise ConfigError(f"{name}={list(given)} must be one or more, each once{hint}")
        if self.baseline not in self.algorithms:
            raise unknown("baseline", self.baseline, self.algorithms)
        for name, least in (("points", 2), ("games", 2), ("threads", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least {least}")
        for env in self.environments:
            budget = {k: v for k, v in self.budgets.get(env, {}).items() if v is not None}
            if not budget or min(budget.values()) <= 0:
                raise ConfigError(f"{env} needs a budget above 0: tokens, turns or seconds")
            if list(budget) == ["tokens"] and (named := self._of_sb3()):
                raise ConfigError(
                    f"{named[0]} samples no tokens: give --budget-turns or --budget beside or "
                    "instead of --budget-tokens"
                )
        for name in self.algorithms:
            if name.startswith(BASELINES):
                baseline(name.removeprefix(BASELINES))
            else:
                self.algorithm(name, self.environments[0])
        self._check_changes()

    def _check_changes(self) -> None:
        bases = [name.partition(":")[0] for name in self.algorithms]
        here = {*bases, *map(short, self.environments)}
        for key in self.changes:
            first = key.partition(".")[0]
            if first in {*ALGORITHMS, *map(short, ENVS)} - here:
                raise unknown("algorithm or environment of this comparison", first, here)

    def _of_sb3(self) -> list[str]:
        return [a for a in self.algorithms if a.startswith(BASELINES)]

    def algorithm(self, name: str, env_id: str) -> Algorithm:
        base, _, variant = name.partition(":")
        return registered(base, variant or None, self._changes(base, env_id))

    def _changes(self, base: str, env_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        places = {*ALGORITHMS, *map(short, self.environments)}
        for key, value in self.changes.items():
            first, _, rest = key.partition(".")
            if first not in places:
                found[key] = value
            elif first in (base, short(env_id)):
                found[rest] = value
        return found


class Measured(TypedDict):
    """What the manifest says about the metric of an environment."""

    metric: str
    higher_is_better: bool
    references: Mapping[str, float]


def write(folder: Path, manifest: Manifest, metrics: Callable[[], Mapping[str, Any]]) -> None:
    """Write the manifest of a new comparison, or check that the one there is the same.

    `metrics` gives environment -> what is measured there; it is only called where the comparison is
    new.
    """
    settings: dict[str, Any] = plain(manifest)
    ResultsFolder(folder, KIND).begin(settings, facts=lambda: {"metrics": dict(metrics())})


def read(folder: Path) -> tuple[Manifest, dict[str, Any]]:
    results = ResultsFolder(folder, KIND)
    facts = results.manifest()
    plan = {f.name: facts[f.name] for f in fields(Manifest) if f.name in facts}
    try:
        found: Manifest = read_config(Manifest, plan)
        measured: dict[str, Measured] = read_config(
            dict[str, Measured], facts.get("metrics"), "metrics"
        )
        if missing := set(found.environments) - set(measured):
            raise ConfigError(f"metrics says nothing about {sorted(missing)[0]}")
    except ConfigError as error:
        raise DataError(f"{folder / MANIFEST} cannot be continued: {error}") from None
    return found, facts


def per_environment(environments: Sequence[str], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return every environment its budget.

    `limits`: kind of limit -> a number for all, or environment (short or full) -> number.
    """
    out: dict[str, Any] = {}
    for env in environments:
        own = {k: _share(k, v, env) for k, v in limits.items() if v is not None}
        out[env] = {k: v for k, v in own.items() if v is not None}
    return out


def _share(kind: str, given: Any, env: str) -> Any:
    if not isinstance(given, Mapping):
        return given
    return given.get(env, given.get(short(env)))
