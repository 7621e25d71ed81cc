"""Which trajectories of a batch may be compared, and what each was worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor

from coevo.trainers.items.sequences import Batch, Sequences

Units = tuple[Sequences, list[float], list[list[int]]]
"""What items are made of: sequences, the worth of each trajectory, and which may be compared."""


def turns(batch: Batch, weights: Mapping[str, float]) -> Units:
    """Return single turns as trajectories of their own, each worth what it was paid."""
    sequences, of_U2 = batch.sequences.by_turn()
    worth_U = _paid(batch, weights).sum(2)[of_U2[:, 0], of_U2[:, 1]]
    return sequences, worth_U.tolist(), [[u] for u in range(len(of_U2))]


def worths(batch: Batch, weights: Mapping[str, float]) -> list[float]:
    """Return the sum of the rewards of every trajectory, components weighted."""
    worth: list[float] = _paid(batch, weights).sum((1, 2)).tolist()
    return worth


def _paid(batch: Batch, weights: Mapping[str, float]) -> Tensor:
    """Return what every turn was paid, [B, T, K]."""
    found = batch.trajectories
    weight_K = found.reward_BTK.new_tensor([weights.get(c, 1.0) for c in found.components])
    return found.reward_BTK * weight_K


def groups(batch: Batch) -> Iterator[list[int]]:
    """Return the trajectories with tokens that may be compared, task by task."""
    keys = batch.trajectories.keys
    learns = set(batch.sequences.trajectory_C.tolist())
    found: dict[tuple[int, ...], list[int]] = {}
    names = [keys[k].tolist() for k in ("group", "seat", "policy")]
    for b, key in enumerate(zip(*names, strict=True)):
        if b in learns:
            found.setdefault(key, []).append(b)
    yield from found.values()
