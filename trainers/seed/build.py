"""Building the seed model: tokenizer, architecture, and imitation of the transcripts.

Prompts are in the loss, at a lower weight than replies: a model that never had to predict its
observation ignores it, and reinforcement learning does not repair that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from coevo.agents.chat_tokens import ChatTokens
from coevo.agents.load import no_progress_bars
from coevo.agents.scoring import micro_batches, positions
from coevo.trainers.seed.corpus import Example, sources, turns

SPECIAL = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True, kw_only=True)
class SeedConfig:
    """Size of the seed model and of its training."""

    vocabulary: int = 1024
    """Entries of the byte-level BPE."""
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 512
    context: int = 4096
    """Longest chat in tokens."""
    turns: int = 400_000
    """Transcript turns in all."""
    minutes: float = 20.0
    """Limit of the training time; the schedule follows whichever limit is nearer."""
    epochs: float = 2.0
    """Passes over the turns."""
    lr: float = 3e-3
    """Peak rate of AdamW, for embeddings and norms."""
    muon_lr: float = 0.02
    """Peak rate of Muon, for the hidden matrices."""
    batch_tokens: int = 8192
    prompt_weight: float = 0.1
    """Weight of a prompt token in the loss, against 1 for a reply token."""
    seed: int = 0


def collect(config: SeedConfig) -> list[Example]:
    """Make the transcripts of all sources by their shares."""
    found = sources()
    total = sum(s.share for s in found)
    examples: list[Example] = []
    for i, source in enumerate(found):
        count = int(config.turns * source.share / total)
        examples += turns(source, count, seed=config.seed * 1000 + i)
    return examples


def make_tokenizer(examples: Sequence[Example], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE with single digits on transcripts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
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
        yield example.reply


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
    """One example in tokens."""

    ids: tuple[int, ...]
    reply: int
    """Index of the first reply token."""


def encode(examples: Sequence[Example], tokens: ChatTokens) -> list[Encoded]:
    """Tokenise examples exactly as agents will read and write them."""
    out = []
    for example in examples:
        prompt = tokens.prompt(example.chat)
        out.append(Encoded((*prompt, *tokens.answer(example.reply)), len(prompt)))
    return out


def loss_of(model: LlamaForCausalLM, batch: Sequence[Encoded], prompt_weight: float) -> Tensor:
    """Weighted token mean of the cross-entropy of a right-padded batch."""
    longest = max(len(e.ids) for e in batch)
    ids = torch.tensor([[*e.ids, *[0] * (longest - len(e.ids))] for e in batch])
    mask = torch.tensor([[1] * len(e.ids) + [0] * (longest - len(e.ids)) for e in batch])
    weight = torch.where(
        torch.arange(longest) >= torch.tensor([[e.reply] for e in batch]), 1.0, prompt_weight
    )
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions(mask)).logits
    nll = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none"
    ).view(len(batch), -1)
    weight = (weight * mask)[:, 1:]
    return (nll * weight).sum() / weight.sum()


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
        loss = loss_of(model, batch, config.prompt_weight)
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
        torch.optim.Muon(
            [{"params": hidden, "peak": config.muon_lr}], lr=config.muon_lr, weight_decay=0.01
        ),
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
    """Give batches of similar lengths without end, in random order."""
    while True:
        order = rng.permutation(len(data))
        for chunk in np.array_split(order, max(1, len(order) // 8192)):
            parts = list(micro_batches([len(data[i].ids) for i in chunk], budget))
            for p in rng.permutation(len(parts)):
                yield [data[int(chunk[i])] for i in parts[p]]


def build(
    config: SeedConfig, out: Path, report: Callable[[float, float], None] = lambda share, loss: None
) -> Path:
    """Make the seed model and save it as a folder that `--model` takes."""
    examples = collect(config)
    rng = np.random.default_rng(config.seed)
    some = [
        examples[i] for i in rng.choice(len(examples), min(len(examples), 50_000), replace=False)
    ]
    tokenizer = make_tokenizer(some, config.vocabulary)
    model = make_model(config, tokenizer)
    fit(model, encode(examples, ChatTokens(tokenizer)), config, report)
    out.mkdir(parents=True, exist_ok=True)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    with no_progress_bars():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return out
