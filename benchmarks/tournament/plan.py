"""What a tournament is, fixed before anything is played and written to `manifest.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coevo.agents.fingerprint import fingerprint
from coevo.benchmarks.manifest_file import NAME, read_facts, write_facts
from coevo.benchmarks.scores import is_contest
from coevo.benchmarks.tournament.schedule import Schedule, pairs, plays_per_deal
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, DataError

KIND = "tournament"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that the results of a tournament depend on, beside the agents' weights."""

    agents: tuple[str, ...]
    """Names as they were given; two or more, each once."""
    env: str
    """Registered environment id."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    games: int = 400
    """Most plays per pair, rounded up to whole deals."""
    seed: int = 0
    """Of deals, sampling and resampling."""
    adaptive: bool = False
    """Whether pairs stop as soon as their direction is known."""
    exploiter: Mapping[str, float] | None = None
    """Budget of one trained exploiter, {"tokens": N} or {"seconds": S}; None trains none."""

    def __post_init__(self) -> None:
        twice = [name for name in self.agents if self.agents.count(name) > 1]
        if twice:
            raise ConfigError(
                f"agent {twice[0]!r} is named twice; every agent plays under one name"
            )
        if len(self.agents) < 2:
            given = ", ".join(self.agents) or "none"
            raise ConfigError(f"a tournament needs two agents or more; given: {given}")
        if "human" in self.agents:
            raise ConfigError("'human' cannot play a tournament; play one game with `coevo play`")
        if self.games < 1:
            raise ConfigError(f"games={self.games} must be at least 1")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} must not be negative")

    def environment(self) -> TextEnv:
        """Make the environment; one that is for a single seat is refused."""
        env = make(self.env, **self.env_options)
        if len(env.possible_agents) < 2:
            raise ConfigError(f"{self.env} has one seat: there is nobody to play against")
        return env

    def schedule(self, env: TextEnv) -> Schedule:
        """Give all that can be played: with self-play where a play is no contest."""
        return Schedule(
            seats=tuple(env.possible_agents),
            pairs=tuple(pairs(self.agents, self_play=not is_contest(env))),
            deals=math.ceil(self.games / plays_per_deal(len(env.possible_agents))),
            seed=self.seed,
            adaptive=self.adaptive,
        )


def described(plan: Plan) -> dict[str, Any]:
    """Describe a tournament: its settings, and who plays."""
    return {**_settings(plan), "weights": {name: fingerprint(name) for name in plan.agents}}


def open_folder(folder: Path, plan: Plan) -> None:
    """Write the manifest of a new tournament, or check that an old one is the same.

    Raises:
        ConfigError: the folder holds a tournament with other settings, or its agents have changed.
        DataError: it holds something else.
    """
    wanted = described(plan)
    if (folder / NAME).exists():
        _check_same(folder, read_manifest(folder), wanted)
        return
    inside = [p for p in folder.glob("*") if not p.name.startswith(".")] if folder.is_dir() else []
    if inside or (folder.exists() and not folder.is_dir()):
        raise DataError(f"{folder} holds something else; give another --out")
    write_facts(folder, KIND, wanted)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a tournament."""
    return read_facts(folder, KIND)


def _settings(plan: Plan) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(plan)))


def _check_same(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    for name in Plan.__dataclass_fields__:
        if old.get(name) != new[name]:
            raise ConfigError(
                f"{folder} holds a tournament with {name}={_shown(old.get(name))}, not "
                f"{_shown(new[name])}; give another --out"
            )
    changed = [a for a in new["agents"] if old["weights"].get(a) != new["weights"][a]]
    if changed:
        raise ConfigError(
            f"{changed[0]} has other weights than when {folder} was begun; name a checkpoint, "
            "which stays as it is, and give another --out"
        )


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
