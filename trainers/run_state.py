"""State of a run in a checkpoint: safetensors and JSON.

Each learning policy is a folder that `--model` and `--agent` take as it is. The state of the
collector can be many episodes: it is compressed in a file of its own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from coevo.agents.agent import Agent
from coevo.agents.load import SEATS, no_progress_bars
from coevo.agents.models.adapters import load_own, own_tensors
from coevo.agents.models.base_model import BaseModel
from coevo.agents.models.manifest import SCHEMA, reason_of
from coevo.agents.policy import Policy
from coevo.agents.population import Population, Team
from coevo.envs.core.config import config, read, real, whole
from coevo.envs.core.errors import DataError, UndefinedError, legible
from coevo.trainers import ranks
from coevo.trainers.checkpoint import check_name, damaged, verify, write
from coevo.trainers.files import check_regular
from coevo.trainers.learners.eight_bit import joined, parts_of
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.masters import part_of, unsharded
from coevo.trainers.progress import Progress

COLLECT = "collect.json.gz"


@config
class Recorded:
    """What `progress.json` holds."""

    schema: Annotated[int, whole(1)]
    step: Annotated[int, whole(0)]
    seconds: Annotated[float, real(0)]
    tokens: Annotated[int, whole(0)]
    turns: Annotated[int, whole(0)] = 0
    learners: tuple[str, ...]
    state: Mapping[str, Any]
    """What the run carries beside its weights, by part: `estimator`, `rewards`, ..."""

    @property
    def progress(self) -> Progress:
        return Progress(self.step, self.seconds, self.tokens, self.turns)


def recorded(checkpoint: Path) -> Recorded:
    """Return what a checkpoint says about its run.

    Raises:
        DataError: it is damaged, was renamed to another update, or is of a version that is not
            read.
    """
    try:
        check_regular(checkpoint / "progress.json")
        text = (checkpoint / "progress.json").read_text(encoding="utf-8")
        data = json.loads(text)
        if isinstance(data, dict) and data.get("schema") != SCHEMA:
            raise DataError(
                f"{checkpoint} has schema {data.get('schema')!r}, this version reads {SCHEMA}"
            )
        found: Recorded = read(Recorded, data)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(damaged(checkpoint, f"progress.json: {reason_of(error)}")) from None
    check_name(checkpoint, found.step)
    return found


def save(
    folder: Path,
    learners: Mapping[str, Learner],
    population: Population,
    progress: Progress,
    state: Mapping[str, Any],
    most: int,
    tensors: Mapping[str, Mapping[str, Tensor]] | None = None,
) -> Path:
    """Write a checkpoint and drop the oldest beyond `most`.

    `state` is JSON-able, of estimators, reward modules and, as `collect`, of the collector;
    `tensors` is state that is no JSON, by the name of its owner.
    """
    moments = {n: optimizer_tensors(x.optimizer) for n, x in learners.items()}  # on every rank

    def fill(work: Path) -> None:
        work.mkdir(parents=True)
        with no_progress_bars():
            _write(work, learners, population, progress, state)
        for name, own in moments.items():
            save_file(own, work / name / "optimizer.tensors")
        for name, owned in (tensors or {}).items():
            if owned:
                save_file(own_memory(owned), work / f"{name}.tensors")

    return write(folder, progress.step, fill, most)


def _write(
    work: Path,
    learners: Mapping[str, Learner],
    population: Population,
    progress: Progress,
    state: Mapping[str, Any],
) -> None:
    for name, learner in learners.items():
        _check_finite(own_tensors(learner.output))
        learner.agent.weights.write(work / name, learner.output)
        for part, module in learner.models().items():
            save_file(own_memory(own_tensors(module)), work / name / f"{part}.tensors")
    if isinstance(population, Team):
        (work / SEATS).write_text(json.dumps(dict(population.set_of), indent=2), encoding="utf-8")
        for name in population.frozen:
            _policy(population.fixed[name]).weights.write_frozen(work / name)
    for name, snapshot in population.snapshots().items():
        save_file(own_memory(snapshot.model.state_dict()), work / f"{name}.snapshot")
    small = {name: part for name, part in state.items() if name != "collect"}
    data = {"schema": SCHEMA, **vars(progress), "learners": sorted(learners), "state": small}
    (work / "progress.json").write_text(json.dumps(data, indent=2), encoding="utf-8")
    if "collect" in state:
        text = json.dumps(state["collect"]).encode()
        (work / COLLECT).write_bytes(gzip.compress(text, 6, mtime=0))  # equal runs, equal files


def own_memory(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return every tensor memory of its own: safetensors refuses tied weights.

    The copy lies in main memory; the accelerator's may be full.
    """
    _check_finite(tensors)
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }


def _check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Refuse to save what no number is: nothing could go on from it."""
    for name, tensor in tensors.items():
        if not bool(tensor.isfinite().all()):
            raise UndefinedError(f"{name} is not finite, so no checkpoint was written")


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return what an optimiser remembers of every parameter, by number and name."""
    state = optimizer.state_dict()["state"]
    found: dict[str, Tensor] = {}
    for i, slots in state.items():
        for name, tensor in slots.items():
            every = unsharded(tensor)
            if not ranks.number():  # the first rank writes
                found |= {f"{i}.{name}{part}": own for part, own in parts_of(every).items()}
    return own_memory(found)


def load(
    checkpoint: Path, learners: Mapping[str, Learner], population: Population
) -> tuple[Progress, dict[str, Any]]:
    """Fill learners and population from a verified checkpoint; give counters and state."""
    files = verify(checkpoint)
    data = recorded(checkpoint)
    if list(data.learners) != sorted(learners):
        raise DataError(
            f"{checkpoint} holds the policies {list(data.learners)}, the configuration "
            f"{sorted(learners)}"
        )
    with legible(checkpoint):
        _fill(checkpoint, files, learners, population)
        state: dict[str, Any] = dict(data.state)
        for name in ("estimator", "rewards"):
            if not isinstance(state[name], dict):
                raise TypeError(f"state.{name} is {state[name]!r}, not a mapping")
        if COLLECT in files:
            packed = (checkpoint / COLLECT).read_bytes()
            state["collect"] = json.loads(gzip.decompress(packed))
        owners = [n.removesuffix(".tensors") for n in files if n.endswith(".tensors")]
        own = [n for n in owners if "/" not in n]
        if own:
            state["tensors"] = {name: load_file(checkpoint / f"{name}.tensors") for name in own}
    return data.progress, state


def _fill(
    checkpoint: Path,
    files: Sequence[str],
    learners: Mapping[str, Learner],
    population: Population,
) -> None:
    for name, learner in learners.items():
        _check_base(checkpoint / name, learner.agent)
        with no_progress_bars():
            load_own(learner.output, learner.agent.weights.read(checkpoint / name))
        for part, module in learner.models().items():
            load_own(module, load_file(checkpoint / name / f"{part}.tensors"))
        learner.masters.take()
        load_optimizer(learner.optimizer, load_file(checkpoint / name / "optimizer.tensors"))
    if isinstance(population, Team):
        for name in population.frozen:
            _check_base(checkpoint / name, population.fixed[name])
    for name in sorted(f for f in files if f.endswith(".snapshot")):
        snapshot = population.restore_snapshot(name.removesuffix(".snapshot"))
        snapshot.model.load_state_dict(load_file(checkpoint / name))
        snapshot.publish(snapshot.version)


def _policy(agent: Agent) -> Policy:
    assert isinstance(agent, Policy)  # a frozen place of a team
    return agent


def _check_base(folder: Path, agent: Agent) -> None:
    """Refuse to go on upon another base than the one that was trained on."""
    base = BaseModel.read(folder)
    if base is not None:
        base.check(_policy(agent).weights.known_base, folder)


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser back what `optimizer_tensors` returned, or this rank's part of it."""
    state: dict[int, dict[str, Tensor]] = {}
    moved = [p for group in optimizer.param_groups for p in group["params"]]
    for name, tensor in tensors.items():
        index, _, slot = name.partition(".")
        like = moved[int(index)]
        whole = tensor.shape != like.shape or "." in slot  # number of steps, parts of a moment
        state.setdefault(int(index), {})[slot] = tensor if whole else part_of(tensor, like)
    state = {index: joined(slots) for index, slots in state.items()}
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
