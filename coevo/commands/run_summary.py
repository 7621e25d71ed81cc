"""What a run leaves behind beside its checkpoints: `summary.json` and where it came from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import coevo
from coevo.agents.load import pick_device
from coevo.envs.core.errors import DataError
from coevo.trainers.config import TrainConfig
from coevo.trainers.record import to_plain
from coevo.trainers.run_folder import RunFolder


def origin(config: TrainConfig, command: str) -> dict[str, Any]:
    """Say what is needed to judge and repeat a result."""
    return {
        "command": command,
        "algorithm": config.algorithm.name,
        "env": config.env,
        "model": config.model,
        "seed": config.seed,
        "config_hash": config_hash(config),
        "commit": commit(),
        "version": coevo.__version__,
        "hardware": hardware(config.device),
    }


def config_hash(config: TrainConfig) -> str:
    """Give the SHA-256 of a configuration; equal for equal runs wherever their folders lie."""
    text = json.dumps(to_plain(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def commit() -> str | None:
    """Give the git commit of this code, `-dirty` where files were changed; None outside git."""
    folder = Path(coevo.__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        return _git(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def hardware(device: str) -> dict[str, Any]:
    """Say what a run was computed on.

    Args:
        device: `cpu`, `cuda` or `auto`; a GPU that was not used is not named.
    """
    gpu = torch.cuda.get_device_name() if pick_device(device).type == "cuda" else None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": gpu,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def read_summary(folder: RunFolder) -> dict[str, Any]:
    """Read what an earlier part of a run has written; empty where there is nothing."""
    if not folder.summary.is_file():
        return {}
    try:
        data = json.loads(folder.summary.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder.summary} is damaged; remove it to go on: {error}") from None
    if not isinstance(data, dict):
        raise DataError(f"{folder.summary} is damaged; remove it to go on: it holds no table")
    return data


def write_summary(folder: RunFolder, summary: Mapping[str, Any]) -> None:
    """Write what is known so far, tables first."""
    first = {key: summary[key] for key in ("before", "after") if key in summary}
    folder.write_json(folder.summary, first | dict(summary))
