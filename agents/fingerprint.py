"""A digest of the weights behind an agent's name: a run that has trained on is another agent."""

from __future__ import annotations

import hashlib
from pathlib import Path

from coevo.agents.load import policy_folders
from coevo.agents.scripted import SCRIPTED

SAMPLE = 2**20
"""Bytes read from either end of a file; reading all of a large model takes minutes."""


def fingerprint(source: str) -> str:
    """Tell the weights behind a name from others; empty where nothing lies on this disk.

    SHA-256 over the sizes and both ends of the weights and the configuration of every policy. A
    single model gives the same wherever it lies.

    Args:
        source: what `load_agent` takes.
    """
    if source in SCRIPTED or (source != "seed" and not Path(source).expanduser().exists()):
        return ""
    found, folders = hashlib.sha256(), policy_folders(source)
    for policy, folder in sorted(folders.items()):
        name = policy if len(folders) > 1 else ""
        for path in sorted(folder.iterdir()):
            if path.suffix in (".safetensors", ".bin", ".zip") or path.name == "config.json":
                found.update(f"{name}/{path.name} {path.stat().st_size}\n".encode())
                found.update(_ends(path))
    return found.hexdigest()[:16]


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        file.seek(max(path.stat().st_size - SAMPLE, 0))
        return head + file.read(SAMPLE)
