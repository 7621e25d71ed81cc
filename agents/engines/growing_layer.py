"""Layers of a cache of keys and values that are written in place.

Apart from what uses them: the model library takes seconds to import, and a table needs none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from coevo.agents.engines.prefix_cache import SPARE


class GrowingLayer(DynamicLayer):
    """Keys and values of all tokens, with room behind them.

    Concatenation, which transformers does, copies everything for every token.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Tensor] = []

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write what is new behind what is there; return all of it."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[2]
        if not self._rooms or end > self._rooms[0].shape[2]:
            rooms = [_larger(t, end) for t in (key_states, value_states)]
            for room, old in zip(rooms, (self.keys, self.values), strict=True):
                if start and old is not None:
                    room[:, :, :start] = old
            self._rooms = rooms
        for room, new in zip(self._rooms, (key_states, value_states), strict=True):
            room[:, :, start:end] = new
        self.keys, self.values = (room[:, :, :end] for room in self._rooms)
        return self.keys, self.values

    def held(self) -> tuple[Tensor, Tensor]:
        """Return keys and values of all tokens."""
        assert self.keys is not None and self.values is not None  # something was read
        return self.keys, self.values

    def begin(self, keys: Tensor, values: Tensor, length: int) -> None:
        """Take tensors as they are, of whose tokens the first ones are there already."""
        self.lazy_initialization(keys, values)
        self._rooms = [keys, values]
        self.keys, self.values = (room[:, :, :length] for room in self._rooms)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        end = self.get_seq_length()
        self._rooms = [room.index_select(0, beam_idx) for room in self._rooms]
        self.keys, self.values = (room[:, :, :end] for room in self._rooms)


def _larger(like: Tensor, length: int) -> Tensor:
    rows, heads, _, width = like.shape
    return like.new_empty(rows, heads, length + max(SPARE, length // 4), width)


def in_place(layers: Sequence[object]) -> list[Any]:
    """Return layers that write in place, for others that hold keys and values alone.

    A sliding window is left to the mask.

    Raises:
        TypeError: a layer holds more.
    """
    if not layers or any(type(x) not in (DynamicLayer, DynamicSlidingWindowLayer) for x in layers):
        raise TypeError("layers hold more than keys and values")
    return [GrowingLayer() for _ in layers]
