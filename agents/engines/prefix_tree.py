"""Token sequences with shared prefixes, laid out so that each prefix is computed once.

The replies of a group have one prompt, and the turns of a conversation begin alike. A row holds
such sequences as a tree of their tokens, each node once, in depth-first order: what follows from a
token stands behind it without a gap, so that the place where that ends says who may see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

LONGEST = 4096
"""Tokens of a row that several sequences share: its mask has the square of that."""
PAIRS = 1024
"""Pairs of tokens in attention that cost as much as one token in all the rest, measured on a CPU at
widths of 128 and 384 (benchmarks/results/2026-11-23-train-throughput.md). Wider models have more,
and share less than they could."""


@dataclass(frozen=True, slots=True)
class Row:
    """Sequences that are computed together."""

    members: tuple[int, ...]
    """Their indices, in the order of their ids."""
    length: int
    """Tokens: those of shared beginnings count once."""


@dataclass(frozen=True)
class Layout:
    """Rows of tokens, [B, L], padded on the right, and where every sequence stands in them."""

    ids_BL: Tensor
    depth_BL: Tensor
    """Tokens before each, in its sequence: its position."""
    end_BL: Tensor
    """Place behind the last token that follows from each one; padding ends at once."""
    row_of: list[int]
    """Per sequence: its row."""
    places: list[list[int]]
    """Per sequence: the columns of its tokens."""

    @property
    def shared(self) -> bool:
        """Whether several sequences stand in one row."""
        return len(self.ids_BL) < len(self.row_of)

    def seen_BLL(self) -> Tensor:
        """Return which tokens each one sees, [B, L, L]: itself and those that it follows from."""
        place_L = torch.arange(self.ids_BL.shape[1], device=self.ids_BL.device)
        before_LL = place_L[None, :] <= place_L[:, None]
        return before_LL & (place_L[:, None] < self.end_BL[:, None, :])


def shared_rows(sequences: Sequence[Sequence[int]], longest: int = LONGEST) -> list[Row]:
    """Return rows that save more by shared beginnings than longer attention costs.

    Args:
        sequences: token ids.
        longest: tokens of a row with several sequences, at most; never above `LONGEST`.

    >>> shared_rows([(1, 2, 3), (9,), (1, 2, 4), (1, 2)])
    [Row(members=(3, 0, 2), length=4), Row(members=(1,), length=1)]
    """
    rows: list[Row] = []
    last: Sequence[int] = ()
    for i in sorted(range(len(sequences)), key=lambda i: tuple(sequences[i])):
        ids = sequences[i]
        shared = common(last, ids)
        new = len(ids) - shared
        row = rows[-1] if rows else Row((), 0)
        fits = row.length + new <= min(longest, LONGEST)
        saved = shared * (PAIRS + 2 * len(ids) - shared)  # len(ids)^2 - new^2 pairs among them
        if shared and fits and saved > 2 * row.length * new:
            rows[-1] = Row((*row.members, i), row.length + new)
        else:
            rows.append(Row((i,), len(ids)))
        last = ids
    return rows


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at their beginning.

    >>> common((1, 2, 3, 4), (1, 2, 4))
    2
    """
    low, high = 0, min(len(one), len(other))
    while low < high:  # slices are compared much faster than tokens
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def laid_out(sequences: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]) -> Layout:
    """Return a layout of sequences.

    Args:
        sequences: token ids.
        rows: the indices of those that stand in each; every sequence in one.
    """
    trees = [_Tree([sequences[i] for i in row]) for row in rows]
    longest = max(len(t.ids) for t in trees)
    nothing, alone = [0] * longest, list(range(1, longest + 1))
    row_of, places = [0] * len(sequences), [[0]] * len(sequences)
    for b, (row, tree) in enumerate(zip(rows, trees, strict=True)):
        for i, place in zip(row, tree.places, strict=True):
            row_of[i], places[i] = b, place
    return Layout(
        torch.tensor([t.ids + nothing[len(t.ids) :] for t in trees]),
        torch.tensor([t.depths + nothing[len(t.ids) :] for t in trees]),
        torch.tensor([t.ends + alone[len(t.ids) :] for t in trees]),
        row_of,
        places,
    )


class _Tree:
    """The tokens of a row; beginnings are shared with the sequence before."""

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self.ends: list[int] = []
        self.places: list[list[int]] = []
        last: Sequence[int] = ()
        for ids in sequences:
            self._add(ids, common(last, ids))
            last = ids
        self._end(0)

    def _add(self, ids: Sequence[int], shared: int) -> None:
        self._end(shared)
        begins, size = self.places[-1][:shared] if self.places else [], len(self.ids)
        self.ids += ids[shared:]
        self.depths += range(shared, len(ids))
        self.ends += [0] * (len(ids) - shared)
        self.places.append([*begins, *range(size, len(self.ids))])

    def _end(self, shared: int) -> None:
        """End what followed from the sequence before, but for what is shared."""
        for place in self.places[-1][shared:] if self.places else ():
            self.ends[place] = len(self.ids)
