"""A cache of keys and values, so that a longer context reads its new tokens only.

The keys and values of a token lie in one slot of a pool, and a context is a list of slots: contexts
that begin alike share them (as in SGLang's RadixAttention, Zheng et al. 2024, arXiv:2312.07104,
section 3). The pool grows by doubling up to a bound in bytes; then the context that was used
longest ago goes first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain

import numpy as np
import torch
from torch import Tensor

Ids = tuple[int, ...]
Layers = Sequence[tuple[Tensor, Tensor]]
"""Keys and values of every layer, [B, heads, L, width] each."""

_FIRST = 256
"""Slots to begin with. Slot 0 stays zero: it stands for padding."""
SPARE = 16
"""Tokens of room, at least, beside what a batch needs."""


class PrefixCache:
    """Keys and values by exact token ids, of one version of one policy.

    Args:
        limit: bytes of keys and values at most; 0 keeps nothing.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.slots = 0
        """Tokens that the limit has room for; 0 until it is known what a token takes."""
        self._pools: list[Tensor] = []
        """Keys and values of the layers in turn, [heads, slots, width]."""
        self._users = np.ones(1, dtype=np.int32)
        """By how many contexts each slot is held."""
        self._contexts: OrderedDict[Ids, np.ndarray] = OrderedDict()
        """Ids -> their slots, least recently used first."""
        self._sorted: list[Ids] = []

    @property
    def nbytes(self) -> int:
        return sum(pool.nbytes for pool in self._pools)

    def longest(self, ids: Ids) -> np.ndarray:
        """Return the slots of the longest beginning of a context that is known."""
        at = bisect_right(self._sorted, ids)
        # Of sorted sequences, one beside the place of another has most in common with it.
        near = self._sorted[max(0, at - 1) : at + 1]
        if not near:
            return self._users[:0]
        count, key = max((_common(key, ids), key) for key in near)
        if count:
            self._contexts.move_to_end(key)
        return self._contexts[key][:count]

    @contextmanager
    def holding(self, contexts: Sequence[np.ndarray]) -> Iterator[None]:
        """Keep slots in place for a while, whatever else needs room."""
        for slots in contexts:
            self._users[slots] += 1
        try:
            yield
        finally:
            for slots in contexts:
                self._users[slots] -= 1

    def read(self, slots_BC: np.ndarray) -> list[tuple[Tensor, Tensor]]:
        """Return keys and values of every layer, [B, heads, C, width]; slot 0 is padding."""
        flat = torch.from_numpy(slots_BC.ravel()).to(self._pools[0].device)
        found = [
            pool.index_select(1, flat).unflatten(1, slots_BC.shape).transpose(0, 1)
            for pool in self._pools
        ]
        return list(zip(found[::2], found[1::2], strict=True))

    def keep(self, contexts: Mapping[int, Ids], layers: Layers) -> None:
        """Remember contexts whose last token is the last one of their row.

        What has no room even when nothing else is kept is left out.
        """
        if not self.limit:
            return
        self._begin(layers)
        length = layers[0][0].shape[2]
        new: list[np.ndarray] = []
        rows: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        with ExitStack() as until_written:
            for row, ids in contexts.items():
                known = self.longest(ids)
                count = len(ids) - len(known)
                with self.holding([known]):
                    added = self._room(count)
                if added is None or not count:
                    continue
                self._add(ids, np.concatenate([known, added]))
                until_written.enter_context(self.holding([added]))
                new.append(added)
                rows.append(np.full(count, row))
                columns.append(np.arange(length - count, length))
            if new:
                slots, row_N, column_N = map(np.concatenate, (new, rows, columns))
                self._write(slots, row_N, column_N, layers)

    def _begin(self, layers: Layers) -> None:
        if not self._pools:
            tensors = list(chain.from_iterable(layers))
            self._pools = [t.new_zeros(t.shape[1], 1, t.shape[3]) for t in tensors]
            self.slots = self.limit // self.nbytes

    def _room(self, count: int) -> np.ndarray | None:
        """Return free slots; None where there are not enough."""
        while len(free := np.flatnonzero(self._users == 0)) < count:
            size = min(max(_FIRST, 2 * len(self._users), len(self._users) + count), self.slots)
            if size > len(self._users):
                self._grow(size)
            elif self._contexts:
                self._drop()
            else:
                return None
        return free[:count]

    def _grow(self, size: int) -> None:
        old = len(self._users)
        self._users = np.concatenate([self._users, np.zeros(size - old, dtype=np.int32)])
        for i, pool in enumerate(self._pools):
            self._pools[i] = pool.new_zeros(pool.shape[0], size, pool.shape[2])
            self._pools[i][:, :old] = pool

    def _add(self, ids: Ids, slots: np.ndarray) -> None:
        self._contexts[ids] = slots
        self._users[slots] += 1
        at = bisect_left(self._sorted, ids)
        # A beginning of it says nothing more; sorted, it stands right before.
        if at and _common(self._sorted[at - 1], ids) == len(self._sorted[at - 1]):
            self._users[self._contexts.pop(self._sorted[at - 1])] -= 1
            self._sorted[at - 1] = ids
        else:
            self._sorted.insert(at, ids)

    def _drop(self) -> None:
        ids, slots = self._contexts.popitem(last=False)
        self._users[slots] -= 1
        del self._sorted[bisect_left(self._sorted, ids)]

    def _write(
        self, slots: np.ndarray, rows: np.ndarray, columns: np.ndarray, layers: Layers
    ) -> None:
        device = self._pools[0].device
        slot_N, row_N, column_N = (torch.from_numpy(a).to(device) for a in (slots, rows, columns))
        for pool, tensor in zip(self._pools, chain.from_iterable(layers), strict=True):
            pool[:, slot_N] = tensor.transpose(0, 1)[:, row_N, column_N]


def _common(one: Ids, other: Ids) -> int:
    """Return how many ids two sequences begin alike with."""
    short = min(len(one), len(other))
    if one[:short] == other[:short]:
        return short
    return next(i for i in range(short) if one[i] != other[i])
