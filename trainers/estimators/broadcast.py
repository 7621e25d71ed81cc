"""The only two ways in which a value spreads over policy tokens."""

from __future__ import annotations

import torch
from torch import Tensor


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
