"""TRL's environment: a folder of its own, since TRL is no dependency of ours."""

from __future__ import annotations

import os
import subprocess
import tempfile
import venv
from pathlib import Path

from coevo.envs.core.errors import ConfigError

PINS = {"torch": "2.13.0", "transformers": "5.23.0", "trl": "1.16.0"}
"""What is installed; torch is the one we run, so that both sides share its arithmetic."""


def default_env() -> Path:
    """Name the folder of the environment: one per version of TRL."""
    return Path(tempfile.gettempdir()) / f"coevo-trl-{PINS['trl']}"


def prepare(env: Path) -> Path:
    """Return the interpreter of an environment with the pinned packages, made where it is missing.

    Raises:
        ConfigError: The folder is something else, or the packages could not be installed.
    """
    python = env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        if env.exists() and (not env.is_dir() or any(env.iterdir())):
            raise ConfigError(f"--env {env} exists and is no virtual environment; name another one")
        venv.create(env, with_pip=True)
    if not _has_pins(python):
        names = [f"{name}=={version}" for name, version in PINS.items()]
        command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *names]
        run(command, f"--env {env}: pip could not install {' '.join(names)}")
    return python


def _has_pins(python: Path) -> bool:
    code = f"from importlib.metadata import version; print(*map(version, {list(PINS)}))"
    done = subprocess.run(
        [str(python), "-I", "-c", code], capture_output=True, text=True, check=False
    )
    found = [v.split("+")[0] for v in done.stdout.split()]  # a build may carry a local suffix
    return done.returncode == 0 and found == list(PINS.values())


def run(command: list[str], what: str) -> None:
    """Run a command quietly; on failure show what it said last."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise ConfigError(f"{what}: {error}") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-8:]
        raise ConfigError("\n".join([f"{what} (exit status {done.returncode}):", *said]))
