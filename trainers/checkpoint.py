"""Checkpoints: safetensors and JSON in one folder, complete or not there at all.

A checkpoint is written under a temporary name, flushed to disk, and renamed; its manifest holds
the size and hash of every file. Each learning policy is a folder that `--model` and `--agent`
take as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from coevo.agents.population import Population
from coevo.envs.core.errors import DataError
from coevo.trainers.learner import Learner
from coevo.trainers.run_folder import StorageError, storage

SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    step: int = 0
    """Updates done."""
    seconds: float = 0.0
    """Training time so far."""
    tokens: int = 0
    """Tokens sampled by learning policies so far."""


def save(
    folder: Path,
    learners: Mapping[str, Learner],
    population: Population,
    progress: Progress,
    state: Mapping[str, Any],
    keep: int,
) -> Path:
    """Write a checkpoint and drop the oldest beyond `keep`.

    Args:
        folder: `checkpoints/` of the run.
        learners: parameter set -> learner.
        population: whose snapshots are kept.
        progress: counters.
        state: JSON-able state of estimators and reward modules.
        keep: complete checkpoints to leave on disk.
    """
    final = folder / f"step_{progress.step:06d}"
    work = folder / f".{final.name}.tmp"
    with storage(final):
        shutil.rmtree(work, ignore_errors=True)
        try:
            work.mkdir(parents=True)
            _write(work, learners, population, progress, state)
            _seal(work)
            if final.exists():
                shutil.rmtree(final)
            work.rename(final)
            _sync(folder)
        except SafetensorError as error:
            raise StorageError(
                f"cannot write {final}: {error}. Earlier checkpoints are intact"
            ) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    for old in complete(folder)[:-keep]:
        shutil.rmtree(old)
    return final


def _write(
    work: Path,
    learners: Mapping[str, Learner],
    population: Population,
    progress: Progress,
    state: Mapping[str, Any],
) -> None:
    for name, learner in learners.items():
        agent = learner.agent
        learner.output.save_pretrained(work / name)
        agent.tokens.tokenizer.save_pretrained(work / name)
        for part, module in learner.models().items():
            save_file(_own(module.state_dict()), work / name / f"{part}.tensors")
        save_file(_optimizer_tensors(learner.optimizer), work / name / "optimizer.tensors")
    for name, snapshot in population.snapshots().items():
        save_file(_own(snapshot.model.state_dict()), work / f"{name}.snapshot")
    data = {"schema": SCHEMA, **vars(progress), "learners": sorted(learners), "state": dict(state)}
    (work / "progress.json").write_text(json.dumps(data, indent=2), encoding="utf-8")


def _own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give every tensor memory of its own: safetensors refuses tied weights."""
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{i}.{k}": v.clone() for i, slots in state.items() for k, v in slots.items()}


def _seal(work: Path) -> None:
    files = sorted(p for p in work.rglob("*") if p.is_file())
    entries = {}
    for path in files:
        _sync(path)
        entries[path.relative_to(work).as_posix()] = {
            "bytes": path.stat().st_size,
            "sha256": _hash(path),
        }
    (work / MANIFEST).write_text(json.dumps({"schema": SCHEMA, "files": entries}, indent=2))
    _sync(work / MANIFEST)
    _sync(work)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def complete(folder: Path) -> list[Path]:
    """Give the checkpoints that were finished, oldest first."""
    return sorted(p for p in folder.glob("step_*") if (p / MANIFEST).is_file())


def latest(folder: Path) -> Path | None:
    """Give the newest finished checkpoint, or None."""
    found = complete(folder)
    return found[-1] if found else None


def verify(checkpoint: Path) -> None:
    """Compare every file with the manifest; raise DataError naming the first that differs."""
    try:
        files = json.loads((checkpoint / MANIFEST).read_text())["files"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{checkpoint} has no readable {MANIFEST}: {error}") from None
    for name, entry in files.items():
        path = checkpoint / name
        size = path.stat().st_size if path.is_file() else None
        if size != entry["bytes"] or _hash(path) != entry["sha256"]:
            what = (
                "is missing"
                if size is None
                else f"has {size} bytes, not the {entry['bytes']} written"
            )
            if size == entry["bytes"]:
                what = "has other content than was written"
            others = [p.name for p in complete(checkpoint.parent) if p != checkpoint]
            raise DataError(
                f"checkpoint {checkpoint} is damaged: {name} {what}. "
                f"Remove that folder to continue from {others[-1] if others else 'the start'}"
            )


def load(
    checkpoint: Path, learners: Mapping[str, Learner], population: Population
) -> tuple[Progress, dict[str, Any]]:
    """Fill learners and population from a verified checkpoint; give counters and state."""
    verify(checkpoint)
    data = json.loads((checkpoint / "progress.json").read_text(encoding="utf-8"))
    if data["learners"] != sorted(learners):
        raise DataError(
            f"{checkpoint} holds the policies {data['learners']}, the configuration "
            f"{sorted(learners)}"
        )
    for name, learner in learners.items():
        learner.output.load_state_dict(_model_tensors(checkpoint / name, learner))
        for part, module in learner.models().items():
            module.load_state_dict(load_file(checkpoint / name / f"{part}.tensors"))
        _load_optimizer(learner.optimizer, load_file(checkpoint / name / "optimizer.tensors"))
    for path in sorted(checkpoint.glob("*.snapshot")):
        population.restore_snapshot(path.stem).model.load_state_dict(load_file(path))
    progress = Progress(data["step"], data["seconds"], data["tokens"])
    return progress, data["state"]


def _model_tensors(folder: Path, learner: Learner) -> dict[str, Tensor]:
    """Read a model's weights as saved, tied ones filled in from their partner."""
    loaded = type(learner.model).from_pretrained(folder, dtype=learner.model.dtype)
    return dict(loaded.state_dict())


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, slot = name.partition(".")
        state.setdefault(int(index), {})[slot] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
