"""The table of environments, registered in PettingZoo and Gymnasium at once.

Registration is explicit: one entry per environment in the table of `coevo/envs/__init__.py`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import gymnasium
import pettingzoo

from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, unknown


@dataclass(frozen=True, kw_only=True)
class EnvSpec:
    """One registered environment."""

    id: str
    """`coevo/<name>-v<number>`; the number goes up whenever scores could change."""
    module: str
    """Module that makes it: `raw_env`, `env` and, where moves are simultaneous, `parallel_env`."""
    summary: str
    """One line for `coevo envs`."""
    kind: str
    """`competitive`, `cooperative` or `mixed`."""
    simultaneous: bool = False
    """Whether all seats move at once with the default arguments: then PettingZoo lists a parallel
    form. Where other arguments make them so, `parallel_env` of the module gives it."""
    seats: int = 2
    """Number of seats with the default arguments."""
    metric: str = ""
    """What the environment is scored by (see `coevo.benchmarks.metrics`); empty takes the mean
    return against random in a contest, and in self-play elsewhere."""
    refs: dict[str, float] = field(default_factory=dict)
    """Scores of named play by that metric with the default arguments: `random` counts as 0 and
    `oracle` as 1 when results are normalised. Constants of the benchmark; empty where there are
    none."""
    refs_source: str = ""
    """How the reference scores were found."""
    starter_trained: bool = False
    """Whether the starter model was trained on it, so that its replies are legal there."""
    listed: bool = True
    """Whether it is one of the environments that coevo offers; others, such as those of
    reproductions, can be made and trained on by their id."""
    suites: tuple[str, ...] | None = None
    """Suites that the environment is in; None takes its family."""

    @property
    def family(self) -> str:
        """Return the folder that holds the module, by which tables are divided.

        >>> EnvSpec(id="a/b-v0", module="coevo.envs.games.x", summary="", kind="mixed").family
        'games'
        """
        return self.module.rpartition(".")[0].rpartition(".")[2]

    @property
    def suite_names(self) -> tuple[str, ...]:
        """Return the suites: as registered, else its family."""
        return tuple(filter(None, (self.family,))) if self.suites is None else self.suites


_ID = re.compile(r"[a-z0-9_]+/[a-z0-9_]+-v[0-9]+")
ENVS: dict[str, EnvSpec] = {}
"""Every registered environment by id."""


def register(id: str, module: str, summary: str, **fields: Any) -> EnvSpec:
    """Register an environment in PettingZoo (aec, parallel) and Gymnasium (single seat).

    Args:
        id: `coevo/<name>-v<number>`.
        module: import path of the module with `raw_env`, `env` and perhaps `parallel_env`.
        summary: one line.
        **fields: the further fields of EnvSpec.
    """
    spec = EnvSpec(id=id, module=module, summary=summary, **fields)
    if not _ID.fullmatch(id):
        raise ConfigError(f"environment id {id!r} must be spelled like 'coevo/kuhn_poker-v0'")
    if id in ENVS:
        raise ConfigError(f"environment {id!r} is registered already, from {ENVS[id].module}")
    ENVS[id] = spec
    pettingzoo.register("aec", id, f"{module}:env")
    if spec.simultaneous:
        pettingzoo.register("parallel", id, f"{module}:parallel_env")
    gymnasium.register(
        id, entry_point="coevo.envs.core.single_agent:SingleAgentEnv", kwargs={"env_id": id}
    )
    return spec


def spec(id: str) -> EnvSpec:
    """Look an environment up; an unknown id lists the nearest ones."""
    if id not in ENVS:
        raise unknown("environment", id, ENVS)
    return ENVS[id]


def list_envs() -> list[EnvSpec]:
    """Return every registered environment that is listed, in order of id."""
    return [ENVS[id] for id in sorted(ENVS) if ENVS[id].listed]


def by_family(specs: Iterable[EnvSpec]) -> list[tuple[str, list[EnvSpec]]]:
    """Return environments by family, both in the order of the alphabet."""
    ordered = sorted(specs, key=lambda s: (s.family, s.id))
    return [(family, list(found)) for family, found in groupby(ordered, lambda s: s.family)]


def make(id: str, **kwargs: Any) -> TextEnv:
    """Return the bare environment, as rollouts use it: no order-checking wrapper.

    Args:
        id: registered id.
        **kwargs: arguments of its task and of `Settings`; an unknown one lists those it takes.
    """
    made: TextEnv = importlib.import_module(spec(id).module).raw_env(**kwargs)
    return made
