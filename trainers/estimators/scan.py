"""Sums that run backwards along a row, y_t = x_t + decay_t y_{t+1}, without a step per token.

Rows are cut into blocks. All blocks are summed side by side, one position of a block at a time;
then the first entries of the blocks are summed over the blocks in the same way, and what comes
from behind a block is added to it. That is about 32 log_32(L) steps in place of L. Every number
comes from the same operations whatever row it stands in, so equal rows stay equal to the last
bit; and factors are only multiplied, never divided, so long rows neither overflow nor lose digits.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 32


def backward_sums(x_BL: Tensor, decay: float | Tensor) -> Tensor:
    """Compute y_t = x_t + decay_t y_{t+1}, with y = 0 behind the end of the row.

    Args:
        x_BL: what every position adds.
        decay: one factor for all positions, or one per position [B, L].

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
