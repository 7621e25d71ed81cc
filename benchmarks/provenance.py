"""Where numbers come from beside their settings: the code, the machine, the packages."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import coevo

PACKAGES = ("numpy", "torch", "transformers", "open_spiel", "pettingzoo")


def provenance() -> dict[str, Any]:
    versions = {"coevo": coevo.__version__, **{name: _version(name) for name in PACKAGES}}
    return {"commit": commit(), "hardware": hardware(), "packages": versions}


def commit() -> str | None:
    """Return the git commit of this code, `-dirty` where files were changed; None outside git."""
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


def hardware(device: str = "auto") -> dict[str, Any]:
    import torch  # slow; everything else here is wanted without it

    from coevo.agents.load import pick_device

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


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
