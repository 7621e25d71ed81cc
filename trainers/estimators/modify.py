"""Modify: what happens to an advantage after it is normalised, left to right, in its own level.

Every modifier has the form `(a, frame, *, options) -> a`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.normalise import center_batch, scale_batch_std, scale_token_std
from coevo.trainers.estimators.option import Table, check_range


def no_change(a: Tensor, frame: Frame) -> Tensor:
    """Leave the advantage as it is.

    >>> from coevo.trainers.estimators import from_lists
    >>> no_change(torch.tensor([2.0]), Frame(from_lists([[2.0]]), "row")).tolist()
    [2.0]
    """
    return a


def clip(a: Tensor, frame: Frame, *, bound: float = 5.0) -> Tensor:
    """Limit the advantage to [-bound, bound].

    >>> from coevo.trainers.estimators import from_lists
    >>> clip(torch.tensor([7.0, -1.0]), Frame(from_lists([[7.0], [-1.0]]), "row")).tolist()
    [5.0, -1.0]
    """
    check_range("bound", bound, 0.0, float("inf"))
    return torch.clamp(a, -bound, bound)


def batch_whiten(a: Tensor, frame: Frame) -> Tensor:
    """Centre and divide by the deviation over the batch, counting entries as the frame says.

    >>> from coevo.trainers.estimators import from_lists
    >>> frame = Frame(from_lists([[3.0], [1.0]]), "row")
    >>> batch_whiten(torch.tensor([3.0, 1.0]), frame).round(decimals=4).tolist()
    [0.7071, -0.7071]
    """
    centred, _ = center_batch(a, frame, {})
    return scale_batch_std(centred, a, frame)


def token_whiten(a: Tensor, frame: Frame) -> Tensor:
    """Centre and divide by the deviation over all policy tokens of the batch.

    >>> from coevo.trainers.estimators import from_lists
    >>> frame = Frame(from_lists([[1.0], [0.0]], tokens=[[3], [1]]), "row")
    >>> token_whiten(torch.tensor([1.0, 0.0]), frame).round(decimals=4).tolist()
    [0.5, -1.5]
    """
    return scale_token_std(a, a, frame)


MODIFY: Table = {
    "none": no_change,
    "clip": clip,
    "batch_whiten": batch_whiten,
    "token_whiten": token_whiten,
}
