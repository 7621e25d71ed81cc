"""A digest of the weights behind an agent's name: a run that has trained on is another agent."""

from __future__ import annotations

import hashlib
from pathlib import Path

from coevo.agents.base_model import digest
from coevo.agents.load import path_of, policy_folders
from coevo.agents.registry import is_scripted


def fingerprint(source: str) -> str:
    """Return a digest of the weights behind a name; empty where nothing lies on this disk.

    SHA-256 over the weights and the configuration of every policy, and what it rests on. A single
    model gives the same wherever it lies.

    Args:
        source: what `load_agent` takes.
    """
    source = path_of(source)
    if is_scripted(source) or (source != "starter" and not Path(source).expanduser().exists()):
        return ""
    found, folders = hashlib.sha256(), policy_folders(source)
    for policy, folder in sorted(folders.items()):
        name = policy if len(folders) > 1 else ""
        found.update(f"{name} {digest(folder)}\n".encode())
    return found.hexdigest()[:16]
