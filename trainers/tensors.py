"""Operations on padded tensors: groups of entries, turns of tokens, sums along a row.

Groups   mean and deviation per group: the one segment reduction under every baseline and scale.
Turns    the only two ways in which a value spreads over the tokens of a trajectory.
Rows     sums that run backwards, y_t = x_t + decay_t y_{t+1}, without a step per token.
Order    an arbitrary but fixed order of trajectories, from their keys and not from their rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError

_BLOCK = 32
"""Entries of a row that are summed one by one; blocks are summed side by side."""
_BITS = (1 << 31) - 1


# ---- Groups ------------------------------------------------------------------------------


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
    index_N, groups = _numbered(key)
    # what shares one entry of the key is summed first: N = B rows, or all entries
    shape_NM = (len(index_N), y.numel() // max(len(index_N), 1))
    weight_NM = wide(weight).reshape(shape_NM)
    seen_NM = weight_NM > 0
    y_NM = torch.where(seen_NM, wide(y).reshape(shape_NM), 0.0)
    zeros_K = y_NM.new_zeros(groups)
    count_K = zeros_K.index_add(0, index_N, weight_NM.sum(1))
    total_K = zeros_K.index_add(0, index_N, (weight_NM * y_NM).sum(1))
    mean_K = total_K / count_K.where(count_K > 0, 1.0)
    # extremes tell a constant group: its variance may be a rounding residue that eps magnifies
    low_K, high_K = _extremes(y_NM, index_N, seen_NM, groups)
    square_NM = (y_NM - mean_K[index_N].unsqueeze(1)).square_().mul_(weight_NM)
    square_K = zeros_K.index_add(0, index_N, square_NM.sum(1))
    constant_K = high_K <= low_K
    defined_K = (count_K > ddof) & ~constant_K
    variance_K = square_K / (count_K - ddof).where(defined_K, 1.0)
    std_K = torch.where(defined_K, variance_K.sqrt(), 0.0)
    parts = (mean_K, std_K, count_K, constant_K)
    return GroupStats(
        *(part[index_N].unsqueeze(1).expand(shape_NM).reshape(y.shape) for part in parts)
    )


def quantile(value_N: Tensor, share: float, *, nearest: bool = False) -> Tensor:
    """Return a quantile of values, between the two nearest or the nearest of them; 0 of none.

    >>> quantile(torch.tensor([3.0, 1.0, 2.0]), 0.75).item()
    2.5
    """
    if not len(value_N):
        return value_N.new_zeros(())
    sorted_N, place = value_N.sort().values, share * (len(value_N) - 1)
    if nearest:
        return sorted_N[round(place)]
    low = int(place)
    return torch.lerp(sorted_N[low], sorted_N[min(low + 1, len(value_N) - 1)], place - low)


def extremes(y: Tensor, key: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lowest and highest kept value of every group, in the shape of its key.

    Keys are as in `group_stats`. A group that keeps nothing has inf and -inf.

    >>> y_BT, keep_BT = torch.tensor([[1.0, 9.0], [3.0, 2.0]]), torch.tensor([[1, 0], [1, 1]]) > 0
    >>> low_B, high_B = extremes(y_BT, torch.zeros(2).long(), keep_BT)
    >>> low_B.tolist(), high_B.tolist()
    ([1.0, 1.0], [3.0, 3.0])
    """
    index_N, groups = _numbered(key)
    shape_NM = (len(index_N), y.numel() // max(len(index_N), 1))
    low_K, high_K = _extremes(y.reshape(shape_NM), index_N, keep.reshape(shape_NM), groups)
    return low_K[index_N].reshape(key.shape), high_K[index_N].reshape(key.shape)


def _numbered(key: Tensor) -> tuple[Tensor, int]:
    _, index_N = key.reshape(-1).unique(return_inverse=True)
    return index_N, int(index_N.max()) + 1 if index_N.numel() else 0


def _extremes(y_NM: Tensor, index_N: Tensor, keep_NM: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    low_K, high_K = y_NM.new_full((groups,), torch.inf), y_NM.new_full((groups,), -torch.inf)
    if y_NM.shape[1] == 0:
        return low_K, high_K
    low_N = torch.where(keep_NM, y_NM, torch.inf).amin(1)
    high_N = torch.where(keep_NM, y_NM, -torch.inf).amax(1)
    return (
        low_K.scatter_reduce(0, index_N, low_N, "amin"),
        high_K.scatter_reduce(0, index_N, high_N, "amax"),
    )


# ---- Turns -------------------------------------------------------------------------------


def expand_rows(a_B: Tensor, turn_of_BS: Tensor) -> Tensor:
    """Return every token of a row the value of the row; padding gets 0.

    >>> expand_rows(torch.tensor([2.0, 3.0]), torch.tensor([[0, 0], [0, -1]])).tolist()
    [[2.0, 2.0], [3.0, 0.0]]
    """
    return torch.where(turn_of_BS >= 0, a_B.unsqueeze(1), 0.0)


def expand_turns(a_BT: Tensor, turn_of_BS: Tensor) -> Tensor:
    """Return every token the value of its turn; padding gets 0.

    >>> expand_turns(torch.tensor([[2.0, 3.0]]), torch.tensor([[0, 1, 1, -1]])).tolist()
    [[2.0, 3.0, 3.0, 0.0]]
    """
    if a_BT.shape[1] == 0:
        return a_BT.new_zeros(turn_of_BS.shape)
    return torch.where(turn_of_BS >= 0, a_BT.gather(1, turn_of_BS.clamp(min=0)), 0.0)


def sum_turns(y_BS: Tensor, turn_of_BS: Tensor, turns: int) -> Tensor:
    """Sum token values over each of the `turns` turns, [B, T]; padding counts nothing.

    >>> sum_turns(torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[0, 1, 1]]), 3).tolist()
    [[1.0, 6.0, 0.0]]
    """
    valid_BS = turn_of_BS >= 0
    total_BT = y_BS.new_zeros(y_BS.shape[0], turns)
    if turns == 0:
        return total_BT
    return total_BT.scatter_add(1, turn_of_BS.clamp(min=0), torch.where(valid_BS, y_BS, 0))


# ---- Rows --------------------------------------------------------------------------------


def discounted(x_BL: Tensor, mask_BL: Tensor, gamma: float) -> Tensor:
    """Sum backwards, y_t = x_t + gamma y_next; positions outside the mask are jumped over, get 0.

    >>> x_BL, mask_BL = torch.tensor([[1.0, 9.0, 1.0]]), torch.tensor([[True, False, True]])
    >>> discounted(x_BL, mask_BL, 0.5).tolist()
    [[1.5, 0.0, 1.0]]
    """
    x_BL = torch.where(mask_BL, x_BL, 0.0)
    if has_holes(mask_BL):
        decay = torch.where(mask_BL, x_BL.new_tensor(gamma), 1.0)
        return torch.where(mask_BL, backward_sums(x_BL, decay), 0.0)
    return backward_sums(x_BL, gamma)


def has_holes(mask_BL: Tensor) -> bool:
    """Whether a position outside the mask comes before one inside.

    >>> has_holes(torch.tensor([[True, False, True]])), has_holes(torch.tensor([[True, False]]))
    (True, False)
    """
    return bool((mask_BL[:, 1:] & ~mask_BL[:, :-1]).any())


def backward_sums(x_BL: Tensor, decay: float | Tensor) -> Tensor:
    """Compute y_t = x_t + decay_t y_{t+1}, y = 0 behind the end; one decay, or one each [B, L].

    Rows are cut into blocks. All blocks are summed side by side, one position of a block at a time;
    then the first entries of the blocks are summed over the blocks in the same way, and what comes
    from behind a block is added to it: about 32 log_32(L) steps in place of L. Every number comes
    from the same operations in every row, so equal rows stay equal to the last bit. Factors are
    multiplied, never divided, so long rows neither overflow nor lose digits.

    >>> backward_sums(torch.tensor([[1.0, 1.0, 1.0]]), 0.5).tolist()
    [[1.75, 1.5, 1.0]]
    >>> backward_sums(torch.ones(1, 3), torch.tensor([[1.0, 0.0, 1.0]])).tolist()
    [[2.0, 1.0, 1.0]]
    """
    rows, length = x_BL.shape
    if x_BL.numel() == 0:
        return x_BL.clone()
    y_KBN = _blocks(x_BL)
    size, _, blocks = y_KBN.shape
    whole = isinstance(decay, Tensor)
    decay_KBN = _blocks(decay) if isinstance(decay, Tensor) else y_KBN.new_full((size, 1, 1), decay)
    for k in range(size - 2, -1, -1):
        y_KBN[k] += decay_KBN[k] * y_KBN[k + 1]
    if blocks > 1:
        for k in range(size - 2, -1, -1):  # from here to the end of the block
            decay_KBN[k] *= decay_KBN[k + 1]
        ahead_BN = backward_sums(y_KBN[0], decay_KBN[0] if whole else float(decay_KBN[0]))
        ahead_BN = torch.cat([ahead_BN[:, 1:], ahead_BN.new_zeros(rows, 1)], dim=1)
        for k in range(size):
            y_KBN[k] += decay_KBN[k] * ahead_BN
    return y_KBN.permute(1, 2, 0).reshape(rows, -1)[:, :length]


def _blocks(x_BL: Tensor) -> Tensor:
    """Cut rows into N blocks of K entries, the last one filled up with 0: a copy [K, B, N]."""
    rows, length = x_BL.shape
    size = min(length, _BLOCK)
    padded_BL = torch.nn.functional.pad(x_BL, (0, -length % size))
    blocks_KBN = padded_BL.reshape(rows, -1, size).permute(2, 0, 1)
    return blocks_KBN.clone(memory_format=torch.contiguous_format)


# ---- Order -------------------------------------------------------------------------------


def rank_in_group(id_B: Tensor, group_B: Tensor, seed: int = 0) -> Tensor:
    """Return every trajectory its place, from 0, in a scrambled order of its group.

    The order follows from identities and seed alone, so it is the same however rows are sorted
    and on every machine; another seed gives an unrelated order. Equal identities keep row order.

    >>> id_B, group_B = torch.arange(6), torch.tensor([0, 0, 0, 1, 1, 1])
    >>> sorted(rank_in_group(id_B, group_B)[:3].tolist())
    [0, 1, 2]
    >>> back = rank_in_group(id_B.flip(0), group_B.flip(0)).flip(0)
    >>> torch.equal(back, rank_in_group(id_B, group_B))
    True
    """
    order_B = id_B.argsort(stable=True)
    order_B = order_B[_scrambled(id_B[order_B], seed).argsort(stable=True)]
    order_B = order_B[group_B[order_B].argsort(stable=True)]
    sorted_B = group_B[order_B]
    rank_B = torch.arange(len(id_B), device=id_B.device)
    first_B = torch.searchsorted(sorted_B, sorted_B)
    return torch.empty_like(rank_B).scatter(0, order_B, rank_B - first_B)


def _scrambled(id_B: Tensor, seed: int) -> Tensor:
    """Mix the bits of an identity; factors of 31 bits cannot overflow int64."""
    code_B = ((id_B ^ (id_B >> 31)) & _BITS) * 0x1E3779B1 + (seed & _BITS) * 0x05EBCA6B
    for factor in (0x2C1B3C6D, 0x297A2D39):
        code_B = ((code_B ^ (code_B >> 15)) & _BITS) * factor
    return (code_B ^ (code_B >> 15)) & _BITS
