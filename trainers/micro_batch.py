"""One micro-batch: some distinct token sequences, and all rows that share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coevo.agents.scoring import Scored
from coevo.trainers.rows import Rows


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch: some distinct sequences and all rows that share them."""

    spans: list[int]
    rows: Tensor
    """Indices of the rows."""
    local: Tensor
    """Per row: index into `spans`."""

    @classmethod
    def make(cls, rows: Rows, spans: list[int]) -> MicroBatch:
        """Collect the rows of some distinct sequences."""
        place = torch.full((len(rows.spans),), -1)
        place[torch.tensor(spans)] = torch.arange(len(spans))
        local_C = place[rows.span_C]
        at = torch.nonzero(local_C >= 0).squeeze(-1)
        return cls(spans, at, local_C[at])

    def spread(self, packed_N: Tensor, rows: Rows) -> Tensor:
        """Give every row its sequence's values: packed reply tokens -> [rows here, L, ...]."""
        sizes = [len(rows.spans[s].positions()) for s in self.spans]
        columns = torch.cat([torch.arange(n) for n in sizes])
        lines = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        grid_UL = packed_N.new_zeros(len(sizes), rows.mask_CL.shape[1], *packed_N.shape[1:])
        grid_UL = grid_UL.index_put(
            (lines.to(packed_N.device), columns.to(packed_N.device)), packed_N
        )
        return grid_UL[self.local.to(packed_N.device)]


def mask_logits(
    scored: Scored, allowed: Sequence[Sequence[list[int]] | None], rows: Rows, spans: Sequence[int]
) -> Scored:
    """Rule out the ids that masked sampling did not allow, in the order of `score`."""
    packed: list[list[int]] = []
    for span, per_token in zip(spans, allowed, strict=True):
        packed += per_token or [[]] * len(rows.spans[span].positions())
    return scored.masked(packed)
