"""`manifest.json`: says of which kind a folder of results is, how it was asked for and on what."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from coevo import __version__
from coevo.envs.core.errors import DataError
from coevo.trainers.run_folder import replace_text, storage

NAME = "manifest.json"
PACKAGES = ("coevo", "numpy", "torch", "transformers", "open_spiel", "pettingzoo")


def write_facts(folder: Path, kind: str, facts: Mapping[str, Any]) -> None:
    """Write a manifest, with what the numbers of the folder will depend on.

    Args:
        folder: made if it is missing.
        kind: of results, such as `comparison`.
        facts: settings, as plain values.
    """
    everything = {"kind": kind, **facts, **surroundings()}
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / NAME, json.dumps(everything, indent=2) + "\n")


def read_facts(folder: Path, kind: str) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        DataError: there is none, or it is of another kind.
    """
    path = folder / NAME
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{folder} holds no {kind}: {path}: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        raise DataError(f"{path} is no manifest of a {kind}; give another --out")
    return facts


def surroundings() -> dict[str, Any]:
    """Describe what the numbers depend on: code, hardware, packages."""
    return {
        "commit": _commit(),
        "hardware": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "accelerator": _accelerator(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _commit() -> str | None:
    """Give the commit of the checkout, with a plus sign where files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _accelerator() -> str | None:
    import torch  # slow; everything else here is wanted without it

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _version(package: str) -> str | None:
    if package == "coevo":
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None
