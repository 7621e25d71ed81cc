"""Forward passes over given token sequences: what policies and learners compute alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Span:
    """One token sequence and which of its tokens count."""

    ids: tuple[int, ...]
    """Prompt and replies."""
    starts: tuple[int, ...]
    """Index of the first token of each reply."""
    ends: tuple[int, ...]
    """Index after the last token of each reply."""

    def positions(self) -> list[int]:
        """Return the indices of all reply tokens."""
        return [i for s, e in zip(self.starts, self.ends, strict=True) for i in range(s, e)]


@dataclass(frozen=True)
class Scored:
    """Outputs at the reply tokens of a micro-batch, packed in the order of its sequences."""

    logits_NV: Tensor
    """Float logits that predict each reply token, divided by the temperature."""
    ids_N: Tensor
    """The reply tokens."""
    hidden_NH: Tensor | None
    """Last hidden state before each reply token, where asked for."""

    def logp_N(self) -> Tensor:
        """Return the log-probability of each reply token, in nats."""
        logp_NV = self.logits_NV.log_softmax(-1)
        return logp_NV.gather(-1, self.ids_N[:, None]).squeeze(-1)

    def masked(self, allowed: Sequence[Sequence[int]]) -> Scored:
        """Rule out what masked sampling did not allow.

        Args:
            allowed: ids allowed at each of the N tokens; empty where sampling was free.
        """
        closed_NV = torch.zeros_like(self.logits_NV, dtype=torch.bool)
        for n, ids in enumerate(allowed):
            if ids:
                closed_NV[n] = True
                closed_NV[n, list(ids)] = False
        # Finite, so that entropies and divergences never meet 0 times infinity.
        floor = torch.finfo(self.logits_NV.dtype).min
        return Scored(self.logits_NV.masked_fill(closed_NV, floor), self.ids_N, self.hidden_NH)


def micro_batches(lengths: Sequence[int], token_budget: int) -> Iterator[list[int]]:
    """Split sequences, longest first, so that rows x longest stays within a token budget.

    >>> list(micro_batches([3, 9, 2, 4], 12))
    [[1], [3, 0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batch: list[int] = []
    for i in order:
        if batch and lengths[batch[0]] * (len(batch) + 1) > token_budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def score(
    model: PreTrainedModel, spans: Sequence[Span], temperature: float = 1.0, hidden: bool = False
) -> Scored:
    """Run one left-padded forward pass and keep what predicts the reply tokens.

    Args:
        model: a causal language model.
        spans: sequences with at least one reply token each, none at index 0.
        temperature: of the policy; logits are divided by it.
        hidden: whether to return hidden states, for a critic.
    """
    longest = max(len(s.ids) for s in spans)
    device = model.device
    ids_BL, mask_BL = left_padded([s.ids for s in spans], device)
    keep = longest - min(s.starts[0] + longest - len(s.ids) for s in spans) + 1
    out = model(
        input_ids=ids_BL,
        attention_mask=mask_BL,
        position_ids=positions(mask_BL),
        logits_to_keep=keep,
        output_hidden_states=hidden,
        use_cache=False,
    )
    rows, columns = [], []
    for b, s in enumerate(spans):
        at = s.positions()
        rows += [b] * len(at)
        columns += [p + longest - len(s.ids) for p in at]
    row_N = torch.tensor(rows, device=device)
    column_N = torch.tensor(columns, device=device)
    first_kept = longest - out.logits.shape[1]
    logits_NV = out.logits[row_N, column_N - 1 - first_kept].float() / temperature
    hidden_NH = out.hidden_states[-1][row_N, column_N - 1].float() if hidden else None
    return Scored(logits_NV, ids_BL[row_N, column_N], hidden_NH)


def left_padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return ids and attention mask, [rows, longest], padded on the left with id 0."""
    longest = max(map(len, rows))
    ids = [[0] * (longest - len(r)) + list(r) for r in rows]
    mask = [[0] * (longest - len(r)) + [1] * len(r) for r in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def positions(mask_BL: Tensor) -> Tensor:
    """Return position ids that start at 0 with the first token that is not padding."""
    return (mask_BL.cumsum(-1) - 1).clamp(min=0)
