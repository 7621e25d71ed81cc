"""One model of several that started from the same weights: mean, task arithmetic, TIES, DARE.

What run i has learnt is its task vector, tau_i = theta_i - theta_0, tensor by tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from coevo.envs.core.errors import ConfigError

How = Literal["mean", "task_arithmetic", "ties", "dare"]
Tensors = Mapping[str, Tensor]


def task_vector(base: nn.Module, trained: nn.Module, name: str) -> dict[str, Tensor]:
    """Return what training has changed, by parameter; tied parameters stand there once.

    Raises:
        ConfigError: the models differ in their parameters.
    """
    start, end = dict(base.named_parameters()), dict(trained.named_parameters())
    here = {n: tuple(p.shape) for n, p in start.items()}
    there = {n: tuple(p.shape) for n, p in end.items()}
    if here != there:
        odd = sorted({*here.items()} ^ {*there.items()})[0][0]
        raise ConfigError(
            f"{name} cannot be merged: it differs from the base model in {odd}, "
            f"{there.get(odd, 'none')} against {here.get(odd, 'none')}; give the model that it "
            "started from with --base"
        )
    return {n: (end[n] - p).detach().float() for n, p in start.items()}


def merged(
    how: How, vectors: Sequence[Tensors], weights: Sequence[float], keep: float, seed: int
) -> dict[str, Tensor]:
    """Return what is added to the base model.

    Args:
        how: `mean` sum_i w_i tau_i / sum_i w_i; `task_arithmetic` sum_i w_i tau_i; `ties` and
            `dare` as below.
        vectors: task vector of every model.
        weights: w_i, one for each.
        keep: share of the entries that `ties` and `dare` keep.
        seed: of what `dare` drops.
    """
    rules: Mapping[How, Callable[[], list[dict[str, Tensor]]]] = {
        "mean": lambda: [_times(v, 1 / sum(weights)) for v in vectors],
        "task_arithmetic": lambda: [dict(v) for v in vectors],
        "dare": lambda: [dropped(v, keep, seed + i) for i, v in enumerate(vectors)],
    }
    if how == "ties":
        return ties([trimmed(v, keep) for v in vectors], weights)
    parts = rules[how]()
    return {
        n: sum_of([w * part[n] for w, part in zip(weights, parts, strict=True)]) for n in parts[0]
    }


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).sum(0)


def ties(vectors: Sequence[Tensors], weights: Sequence[float]) -> dict[str, Tensor]:
    """Return the mean, entry by entry, of the vectors that agree with the sign of their sum.

    Source: Yadav et al. 2023, TIES-Merging, arXiv 2306.01708, after its trimming.

    >>> a, b = {"w": torch.tensor([3.0, -1.0, 0.0])}, {"w": torch.tensor([1.0, 2.0, 0.0])}
    >>> ties([a, b], [1.0, 1.0])["w"].tolist()
    [2.0, 2.0, 0.0]
    """
    out = {}
    for name in vectors[0]:
        stacked_M = torch.stack([v[name] for v in vectors])
        weight_M = torch.tensor(weights).reshape(-1, *[1] * vectors[0][name].ndim)
        sign = (weight_M * stacked_M).sum(0).sign()
        agrees_M = weight_M * ((stacked_M.sign() == sign) & (stacked_M != 0))
        out[name] = (agrees_M * stacked_M).sum(0) / agrees_M.sum(0).clamp(min=1e-12)
    return out


def trimmed(vector: Tensors, keep: float) -> dict[str, Tensor]:
    """Return a task vector with its largest entries alone, over all tensors together.

    >>> trimmed({"a": torch.tensor([3.0, -1.0]), "b": torch.tensor([0.5, -2.0])}, 0.5)
    {'a': tensor([3., 0.]), 'b': tensor([ 0., -2.])}
    """
    size_N = torch.cat([t.abs().flatten() for t in vector.values()])
    kept = max(1, round(keep * len(size_N)))
    least = size_N.kthvalue(len(size_N) - kept + 1).values
    return {n: torch.where(t.abs() >= least, t, 0.0) for n, t in vector.items()}


def dropped(vector: Tensors, keep: float, seed: int) -> dict[str, Tensor]:
    """Return a task vector without a random part of its entries, the others divided by `keep`.

    Source: Yu et al. 2024, DARE, arXiv 2311.03099.

    >>> dropped({"w": torch.ones(4)}, 0.5, seed=1)["w"].unique().tolist()
    [0.0, 2.0]
    """
    rng = torch.Generator().manual_seed(seed)
    return {
        n: torch.where(torch.rand(t.shape, generator=rng) < keep, t / keep, 0.0)
        for n, t in vector.items()
    }


@torch.no_grad()
def add(base: nn.Module, change: Tensors) -> None:
    """Add a change to the parameters of a model."""
    for name, parameter in base.named_parameters():
        parameter.add_(change[name].to(parameter))


def _times(vector: Tensors, factor: float) -> dict[str, Tensor]:
    return {n: factor * t for n, t in vector.items()}
