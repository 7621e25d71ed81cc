"""Examples in tokens, and the loss of a model that imitates them.

Prompts are in the loss, at a lower weight than replies: a model that never had to predict its
observation ignores it, and reinforcement learning does not repair that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from coevo.agents.engines.scoring import positions
from coevo.agents.models.chat_tokens import ChatTokens
from coevo.benchmarks.starter.corpus import Example


@dataclass(frozen=True, kw_only=True)
class SeedConfig:
    """Size of the starter model and of its training."""

    vocabulary: int = 1536
    """Entries of the byte-level BPE."""
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 512
    context: int = 4096
    """Longest chat in tokens."""
    turns: int = 160_000
    """Transcript turns in all."""
    minutes: float = 26.0
    """Limit of the training time; the schedule follows whichever limit is nearer."""
    epochs: float = 9.0
    """Passes over the turns."""
    lr: float = 3e-3
    """Peak rate of AdamW, for embeddings and norms."""
    muon_lr: float = 0.02
    """Peak rate of Muon, for the hidden matrices."""
    batch_tokens: int = 2048
    """Tokens of one optimiser step, padding included."""
    prompt_weight: float = 0.1
    """Weight of a prompt token in the loss, against 1 for a reply token."""
    legal_weight: float = 1.0
    """Weight of the share that a reply token gives to what no legal reply continues with."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example in tokens, along one reply drawn from its odds."""

    ids: tuple[int, ...]
    reply: int
    """Index of the first reply token."""
    targets: tuple[tuple[tuple[int, float], ...], ...]
    """For each reply token: the ids that may stand there, given the ones before, and their odds."""


def encode(
    examples: Sequence[Example], tokens: ChatTokens, rng: np.random.Generator
) -> list[Encoded]:
    """Tokenise examples exactly as agents will read and write them."""
    return [_encode(example, tokens, rng) for example in examples]


def _encode(example: Example, tokens: ChatTokens, rng: np.random.Generator) -> Encoded:
    prompt = tokens.prompt(example.chat)
    replies = [tokens.answer(r) for r in example.replies]
    said = replies[int(np.searchsorted(np.cumsum(example.odds), rng.random() * sum(example.odds)))]
    targets = tuple(_next(said[:i], replies, example.odds) for i in range(len(said)))
    return Encoded((*prompt, *said), len(prompt), targets)


def _next(
    written: Sequence[int], replies: Sequence[Sequence[int]], odds: Sequence[float]
) -> tuple[tuple[int, float], ...]:
    """Return the odds of the next token among the replies that begin with what is written."""
    at = len(written)
    weights: dict[int, float] = {}
    for reply, weight in zip(replies, odds, strict=True):
        if weight > 0 and len(reply) > at and reply[:at] == written:
            weights[reply[at]] = weights.get(reply[at], 0.0) + weight
    total = sum(weights.values())
    return tuple((token, weight / total) for token, weight in weights.items())


def loss_of(model: LlamaForCausalLM, batch: Sequence[Encoded], config: SeedConfig) -> Tensor:
    """Weighted mean of cross-entropies: prompts against their tokens, replies against odds.

    A reply token also costs -log of the probability of all tokens that a legal reply continues
    with: the odds among moves are learned slowly, legality has to be nearly certain.
    """
    prompt_weight = config.prompt_weight
    longest = max(len(e.ids) for e in batch)
    ids = torch.tensor([[*e.ids, *[0] * (longest - len(e.ids))] for e in batch])
    mask = torch.tensor([[1] * len(e.ids) + [0] * (longest - len(e.ids)) for e in batch])
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions(mask)).logits
    logp = logits[:, :-1].log_softmax(-1)
    in_prompt = torch.arange(1, longest) < torch.tensor([[e.reply] for e in batch])
    prompt = -logp.gather(-1, ids[:, 1:, None]).squeeze(-1)[in_prompt].sum()
    row, at, token, odds = zip(*_targets(batch), strict=True)
    place, chosen = list(row), list(at)
    possible = logp[place, chosen, list(token)]
    reply = -(possible * torch.tensor(odds)).sum()
    cell = torch.tensor(place) * longest + torch.tensor(chosen)
    legal = logp.new_zeros(len(batch) * longest).index_add(0, cell, possible.exp())
    reply = reply - config.legal_weight * legal[cell.unique()].clamp(min=1e-9).log().sum()
    tokens = sum(len(e.targets) for e in batch)
    return (prompt_weight * prompt + reply) / (prompt_weight * in_prompt.sum() + tokens)


def _targets(batch: Sequence[Encoded]) -> Iterator[tuple[int, int, int, float]]:
    """Return (row, position that predicts, token, odds) for every reply token's possible ids."""
    for row, example in enumerate(batch):
        for i, possible in enumerate(example.targets):
            for token, odds in possible:
                yield row, example.reply + i - 1, token, odds
