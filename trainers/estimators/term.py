"""What a regulariser gives back."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor


class Term(NamedTuple):
    """One regulariser: what enters the loss and what enters the log."""

    loss_BL: Tensor
    """Term of every token, coefficient and sign included."""
    value_BL: Tensor
    """The measured quantity, without the coefficient."""
    stats: Mapping[str, Tensor] = MappingProxyType({})
    """Further numbers for the log and for `CONTROL`; those named `sum/` are added up."""
