"""Building the starter model: tokenizer, architecture, and imitation of the transcripts.

Prompts are in the loss, at a lower weight than replies: a model that never had to predict its
observation ignores it, and reinforcement learning does not repair that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from coevo.agents.chat_tokens import ChatTokens
from coevo.agents.load import no_progress_bars
from coevo.agents.scoring import micro_batches, positions
from coevo.trainers.starter.corpus import Example, sources, turns
from coevo.trainers.starter.muon import Muon

SPECIAL = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WORDS = (
    r" ?\p{Lu}\p{Ll}(?=\p{Ll}{2}(?!\p{L}))"  # the first half of a name like Dalu
    r"| ?[\p{L}\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+"
)
"""What no token reaches beyond. Letters and digits stay together, so that a line of a board (`X23`)
can be one token, and names of four letters come in two halves of few kinds, all of them seen often.
"""


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


SHARES = (0.35, 0.15, 0.5)
"""Parts of turns and minutes that go to the lessons."""


def collect(config: SeedConfig, lesson: int = 1) -> list[Example]:
    """Make the transcripts of all sources by their shares in a lesson."""
    found = sources(lesson)
    total = sum(s.share for s in found)
    examples: list[Example] = []
    for i, source in enumerate(found):
        count = int(config.turns * source.share / total)
        examples += turns(source, count, seed=config.seed * 1000 + lesson * 100 + i)
    return examples


def lessons(config: SeedConfig) -> list[SeedConfig]:
    """Cut a training in three: everything first, then more of what is hard at half the rates."""
    return [
        replace(
            config,
            turns=int(config.turns * share),
            minutes=config.minutes * share,
            lr=config.lr * rate,
            muon_lr=config.muon_lr * rate,
        )
        for share, rate in zip(SHARES, (1.0, 0.5, 0.5), strict=True)
    ]


def make_tokenizer(examples: Sequence[Example], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE on transcripts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(examples), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|system|>", "<|user|>", "<|assistant|>"],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def _texts(examples: Sequence[Example]) -> Iterator[str]:
    for example in examples:
        yield from (m["content"] for m in example.chat)
        yield from example.replies


def make_model(config: SeedConfig, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Make the untrained model."""
    torch.manual_seed(config.seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.feed_forward,
            max_position_embeddings=config.context,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


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


def fit(
    model: LlamaForCausalLM,
    data: Sequence[Encoded],
    config: SeedConfig,
    report: Callable[[float, float], None] = lambda share, loss: None,
) -> None:
    """Imitate the examples until the passes or the minutes are used up.

    Args:
        model: trained in place.
        data: examples in tokens.
        config: passes, minutes, learning rate and batch size.
        report: told now and then: share done, running loss.
    """
    optimizers = make_optimizers(model, config)
    rng = np.random.default_rng(config.seed)
    total = config.epochs * sum(len(e.ids) for e in data)
    began, seen, running = time.monotonic(), 0, 0.0
    for batch in _batches(data, config.batch_tokens, rng):
        share = max(seen / total, (time.monotonic() - began) / (60 * config.minutes))
        if share >= 1:
            break
        rate = min(1.0, share / 0.02) * (0.02 + 0.98 * (1 + math.cos(math.pi * share)) / 2)
        loss = loss_of(model, batch, config)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate
            optimizer.step()
        seen += sum(len(e.ids) for e in batch)
        running = 0.98 * running + 0.02 * loss.item() if running else loss.item()
        report(share, running)


def make_optimizers(model: LlamaForCausalLM, config: SeedConfig) -> list[torch.optim.Optimizer]:
    """Muon for the hidden matrices, AdamW for embeddings and norms."""
    hidden = [p for p in model.model.layers.parameters() if p.ndim == 2]
    ids = {id(p) for p in hidden}
    rest = [p for p in model.parameters() if id(p) not in ids]
    return [
        Muon([{"params": hidden, "peak": config.muon_lr}], lr=config.muon_lr, weight_decay=0.01),
        torch.optim.AdamW(
            [{"params": rest, "peak": config.lr}],
            lr=config.lr,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
    ]


def _batches(
    data: Sequence[Encoded], budget: int, rng: np.random.Generator
) -> Iterator[list[Encoded]]:
    """Return batches of similar lengths without end, in random order."""
    while True:
        order = rng.permutation(len(data))
        for chunk in np.array_split(order, max(1, len(order) // 8192)):
            parts = list(micro_batches([len(data[i].ids) for i in chunk], budget))
            for p in rng.permutation(len(parts)):
                yield [data[int(chunk[i])] for i in parts[p]]


def build(
    config: SeedConfig, out: Path, report: Callable[[float, float], None] = lambda share, loss: None
) -> Path:
    """Make the starter model and save it as a folder that `--model` takes."""
    parts = lessons(config)
    examples = collect(parts[0])
    rng = np.random.default_rng(config.seed)
    some = [
        examples[i] for i in rng.choice(len(examples), min(len(examples), 50_000), replace=False)
    ]
    tokenizer = make_tokenizer(some, config.vocabulary)
    model = make_model(config, tokenizer)
    tokens = ChatTokens(tokenizer)
    for number, part in enumerate(parts, start=1):
        done, share = sum(SHARES[: number - 1]), SHARES[number - 1]

        def report_all(at: float, loss: float, done: float = done, share: float = share) -> None:
            report(done + share * at, loss)

        heard = examples if number == 1 else collect(part, lesson=number)
        fit(model, encode(heard, tokens, rng), part, report_all)
    return save(model, tokenizer, out)


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, out: Path) -> Path:
    """Write a model as a folder that `--model` takes, with the prompts that it was taught with."""
    out.mkdir(parents=True, exist_ok=True)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.config.coevo = {"prompt_style": "terse", "max_new_tokens": 16}
    with no_progress_bars():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return out
