"""Building the starter model: tokenizer, architecture, and three lessons of imitation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from coevo.agents.load import no_progress_bars
from coevo.agents.models.chat_tokens import ChatTokens
from coevo.benchmarks.starter.corpus import Example, sources, turns
from coevo.benchmarks.starter.examples import SeedConfig, encode
from coevo.benchmarks.starter.imitation import Report, imitate
from coevo.trainers.run_folder import RunFolder

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


def build(config: SeedConfig, out: Path, report: Report = lambda share, loss: None) -> Path:
    """Make the starter model and save it as a folder that `--model` takes.

    What was interrupted goes on when it is asked for again.
    """
    training = unfinished(out)
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
        folder = RunFolder(training.path / f"lesson_{number}")
        imitate(model, encode(heard, tokens, rng), part, folder, report_all)
    save(model, tokenizer, out)
    training.clear()
    return out


def unfinished(out: Path) -> RunFolder:
    """Return where the training of a model is kept until it is done: beside the model."""
    return RunFolder(out.with_name(f"{out.name}.unfinished"))


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, out: Path) -> None:
    """Write a model as a folder that `--model` takes, with the prompts that it was taught with."""
    out.mkdir(parents=True, exist_ok=True)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.config.coevo = {"prompt_style": "terse", "max_new_tokens": 16}
    with no_progress_bars():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
