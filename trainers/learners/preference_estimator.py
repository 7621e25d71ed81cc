"""Which of two replies is better, and how sure that is: a small network asked under dropout.

It scores replies by the tokens in them, each by itself and together with the prompt, hashed into
columns; a pair is preferred by sigmoid of the difference (Bradley-Terry). Asked several times with
other units dropped (Gal and Ghahramani 2016, arXiv 1506.02142), it says how far its answers differ.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from coevo.trainers.items import Items

COLUMNS, HIDDEN = 1024, 64
STEPS, LR, DECAY = 60, 0.02, 1e-3
"""Adam steps over all pairs, their size, and the weight of the squared parameters."""


@dataclass(frozen=True)
class Belief:
    """What is believed of N pairs, as they are labelled."""

    odds_N: Tensor
    """Mean probability that the label is right."""
    votes_N: Tensor
    """Share of the passes that agree with the label."""
    unsure_N: Tensor
    """BALD in bits, 0 to 1: entropy of the mean less the mean entropy of the passes."""


def believe(items: Items, dropout: float, passes: int, generator: torch.Generator) -> Belief:
    """Fit an estimator to labelled pairs and ask it about each.

    Args:
        items: pairs, the first preferred.
        dropout: share of the units that is dropped, in fitting and in asking.
        passes: how often it is asked.
        generator: of first weights and of dropout.
    """
    feature_BD = features(items)
    weights = _first(generator)
    optimizer = torch.optim.Adam(weights, lr=LR)
    for _ in range(STEPS):
        gap_N = _gap(_scores(weights, feature_BD, dropout, generator), items.at_NK)
        loss = -logsigmoid(gap_N).mean() + DECAY * sum((w**2).sum() for w in weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        p_TN = torch.stack(
            [
                _gap(_scores(weights, feature_BD, dropout, generator), items.at_NK).sigmoid()
                for _ in range(passes)
            ]
        )
    odds_N = p_TN.mean(0)
    unsure_N = (_bits(odds_N) - _bits(p_TN).mean(0)).clamp(0, 1)
    return Belief(odds_N, (p_TN > 0.5).double().mean(0), unsure_N)


def features(items: Items) -> Tensor:
    """Return the tokens of every trajectory, alone and with their prompt, as shares: [B, D]."""
    s = items.batch
    feature_BD = torch.zeros(int(items.at_NK.max()) + 1, COLUMNS)
    columns = [_columns(span.ids, span.starts, span.ends) for span in s.spans]
    for trajectory, span in zip(s.trajectory_C.tolist(), s.span_C.tolist(), strict=True):
        if trajectory < len(feature_BD):
            at = torch.tensor(columns[span], dtype=torch.int64)
            feature_BD[trajectory].index_add_(0, at, torch.ones(len(at)))
    return feature_BD / feature_BD.sum(1, keepdim=True).clamp(min=1)


def _columns(ids: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...]) -> list[int]:
    out = []
    for start, end in zip(starts, ends, strict=True):
        prompt = zlib.crc32(str(ids[:start]).encode())
        for token in ids[start:end]:
            out += [zlib.crc32(f"{where} {token}".encode()) % COLUMNS for where in ("", prompt)]
    return out


def _first(generator: torch.Generator) -> list[Tensor]:
    shapes = ((COLUMNS, HIDDEN), (HIDDEN,), (HIDDEN, 1))
    # Features sum to one, so that the first layer is scaled by what it sees, not by its width.
    return [
        (torch.randn(shape, generator=generator) * HIDDEN**-0.5).requires_grad_()
        for shape in shapes
    ]


def _scores(
    weights: list[Tensor], feature_BD: Tensor, dropout: float, generator: torch.Generator
) -> Tensor:
    into, bias, out = weights
    hidden_BH = (feature_BD @ into + bias).relu()
    # The same units for both replies of a pair: what differs is what the pass believes.
    kept_H = torch.rand(hidden_BH.shape[1], generator=generator) >= dropout
    return (hidden_BH * kept_H / (1 - dropout) @ out).squeeze(1)


def _gap(score_B: Tensor, at_N2: Tensor) -> Tensor:
    return score_B[at_N2[:, 0]] - score_B[at_N2[:, 1]]


def _bits(p: Tensor) -> Tensor:
    return -(torch.special.xlogy(p, p) + torch.special.xlogy(1 - p, 1 - p)) / torch.log(
        torch.tensor(2.0)
    )
