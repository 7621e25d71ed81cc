"""Optional dependencies that commands need; a missing one is named before anything is imported."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from coevo.commands.arguments import Command, name_of
from coevo.envs.core.errors import INSTALL, MissingExtraError

TRAIN = (
    *("filelock", "jinja2", "matplotlib", "peft", "safetensors"),
    *("tokenizers", "torch", "transformers"),
)
COMPARE = (*TRAIN, "choix", "networkx", "openskill", "pyarrow")
EXTRAS = {"": (), "train": TRAIN, "compare": COMPARE}


def check_extra(args: Command) -> None:
    """Raise MissingExtraError where a command lacks a package; nothing is imported."""
    missing = [name for name in EXTRAS[args.extra] if not _is_installed(name)]
    if missing:
        raise MissingExtraError(
            f"coevo {name_of(args)} needs {', '.join(missing)}: {INSTALL.format(args.extra)}"
        )


def extra_of(package: str) -> str | None:
    """Return the extra that installs a package."""
    return next((extra for extra, packages in EXTRAS.items() if package in packages), None)


def _is_installed(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return find_spec(name) is not None
    except ImportError:
        return False
