"""The `summary.json` of a run, and where the run came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import coevo
from coevo.benchmarks.provenance import commit, hardware
from coevo.envs.core.config import plain
from coevo.trainers.config import TrainConfig
from coevo.trainers.files import write_json
from coevo.trainers.run_folder import RunFolder


def origin(config: TrainConfig, command: str) -> dict[str, Any]:
    return {
        "command": command,
        "algorithm": config.algorithm.name,
        "env": config.env_names,
        "model": config.model,
        "seed": config.seed,
        "config_hash": config_hash(config),
        "commit": commit(),
        "version": coevo.__version__,
        "hardware": hardware(config.device),
    }


def config_hash(config: TrainConfig) -> str:
    """Return the SHA-256 of a configuration; equal for equal runs wherever their folders lie."""
    text = json.dumps(plain(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_summary(folder: RunFolder, summary: Mapping[str, Any]) -> None:
    """Write what is known so far, tables first."""
    first = {key: summary[key] for key in ("before", "after") if key in summary}
    write_json(folder.summary, first | dict(summary))
