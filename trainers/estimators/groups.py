"""The one segment reduction under every centre and scale: mean and deviation per group."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError


class GroupStats(NamedTuple):
    """Statistics of an entry's group, written back to every entry (shapes as the input)."""

    mean: Tensor
    """Weighted mean of the group; 0 where the group has no weight."""
    std: Tensor
    """Standard deviation; exactly 0 where the group is constant or too small for the ddof."""
    total: Tensor
    """Sum of the weights of the group."""
    constant: Tensor
    """True where all entries of the group with weight are equal (so also for a group of one)."""


def wide(tensor: Tensor) -> Tensor:
    """Convert to the precision of statistics: float64, or float32 where the device lacks it.

    >>> wide(torch.tensor([1.0], dtype=torch.bfloat16)).dtype
    torch.float64
    """
    return tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)


def combined(*columns: Tensor) -> Tensor:
    """Number the combinations of several keys of one shape: equal ones get equal numbers.

    >>> combined(torch.tensor([7, 7, 9]), torch.tensor([0, 1, 1])).tolist()
    [0, 1, 2]
    """
    index = torch.zeros_like(columns[0])
    for column in columns:  # `unique` over the rows of a table is 20 times slower
        _, code = column.unique(return_inverse=True)
        most = int(code.max()) + 1 if code.numel() else 1
        _, index = (index * most + code).unique(return_inverse=True)
    return index


def group_stats(y: Tensor, key: Tensor, weight: Tensor, ddof: int = 1) -> GroupStats:
    """Compute mean, deviation and count per group: sum_i w_i y_i / W, W = sum_i w_i.

    The variance is sum_i w_i (y_i - mean)^2 / (W - ddof), so a weight counts repetitions.

    Args:
        y: Values, any shape.
        key: Group of every value (int64): the same shape, or [B] where all of a row share one.
        weight: How often every value counts, the same shape; 0 hides it, whatever it holds.
        ddof: Degrees of freedom taken off the count.

    Raises:
        ConfigError: The shapes differ.

    >>> stats = group_stats(torch.tensor([1.0, 0.0, 5.0]), torch.tensor([0, 0, 1]), torch.ones(3))
    >>> stats.mean.tolist(), stats.std.round(decimals=4).tolist()
    ([0.5, 0.5, 5.0], [0.7071, 0.7071, 0.0])
    """
    if y.shape != weight.shape or key.shape not in (y.shape, y.shape[:1]):
        raise ConfigError(
            f"y, key and weight have shapes {tuple(y.shape)}, {tuple(key.shape)} and "
            f"{tuple(weight.shape)}; they must agree, or the key have one entry per row"
        )
    _, index_N = key.reshape(-1).unique(return_inverse=True)
    groups = int(index_N.max()) + 1 if index_N.numel() else 0
    # what shares one entry of the key is summed first: N = B rows, or all entries
    shape_NM = (len(index_N), y.numel() // max(len(index_N), 1))
    weight_NM = wide(weight).reshape(shape_NM)
    y_NM = torch.where(weight_NM > 0, wide(y).reshape(shape_NM), 0.0)
    zeros_K = y_NM.new_zeros(groups)
    count_K = zeros_K.index_add(0, index_N, weight_NM.sum(1))
    total_K = zeros_K.index_add(0, index_N, (weight_NM * y_NM).sum(1))
    mean_K = total_K / count_K.where(count_K > 0, 1.0)
    square_NM = weight_NM * (y_NM - mean_K[index_N].unsqueeze(1)) ** 2
    constant_K = _constant(y_NM, index_N, weight_NM, groups)
    defined_K = (count_K > ddof) & ~constant_K
    square_K = zeros_K.index_add(0, index_N, square_NM.sum(1))
    variance_K = square_K / (count_K - ddof).where(defined_K, 1.0)
    std_K = torch.where(defined_K, variance_K.sqrt(), 0.0)
    parts = (mean_K, std_K, count_K, constant_K)
    return GroupStats(
        *(part[index_N].unsqueeze(1).expand(shape_NM).reshape(y.shape) for part in parts)
    )


def extremes(y: Tensor, key: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Give the lowest and the highest kept value of every entry's group; inf, -inf without one.

    Args:
        y: Values [N].
        key: Group of every value (int64) [N].
        keep: True where a value takes part [N].

    >>> low_N, high_N = extremes(torch.tensor([1.0, 3.0]), torch.zeros(2).long(), torch.ones(2) > 0)
    >>> low_N.tolist(), high_N.tolist()
    ([1.0, 1.0], [3.0, 3.0])
    """
    _, index_N = key.unique(return_inverse=True)
    groups = int(index_N.max()) + 1 if index_N.numel() else 0
    low_K, high_K = _extremes(y, index_N, keep, groups)
    return low_K[index_N], high_K[index_N]


def _constant(y_NM: Tensor, index_N: Tensor, weight_NM: Tensor, groups: int) -> Tensor:
    """Compare extremes: a variance would leave a rounding residue that eps then magnifies."""
    if y_NM.shape[1] == 0:
        return torch.ones(groups, dtype=torch.bool, device=y_NM.device)
    seen_NM = weight_NM > 0
    low_N = torch.where(seen_NM, y_NM, torch.inf).amin(1)
    high_N = torch.where(seen_NM, y_NM, -torch.inf).amax(1)
    low_K, _ = _extremes(low_N, index_N, torch.ones_like(low_N) > 0, groups)
    _, high_K = _extremes(high_N, index_N, torch.ones_like(high_N) > 0, groups)
    return high_K <= low_K


def _extremes(y_N: Tensor, index_N: Tensor, keep_N: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    low_K, high_K = y_N.new_full((groups,), torch.inf), y_N.new_full((groups,), -torch.inf)
    low_N, high_N = torch.where(keep_N, y_N, torch.inf), torch.where(keep_N, y_N, -torch.inf)
    return (
        low_K.scatter_reduce(0, index_N, low_N, "amin"),
        high_K.scatter_reduce(0, index_N, high_N, "amax"),
    )
