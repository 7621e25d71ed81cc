"""Peer review between small language models: warm start, world, measurement.

Everything is what users run: the environment `coevo/peer_review-v0` in its terse style, the
transcripts and the imitation of the starter model, and the training loop with the record `comas`.
Questions of the measurement are held out: they are of the part `test`, training sees `train`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from coevo.agents.agent import Agent
from coevo.agents.load import no_progress_bars
from coevo.agents.models.chat_tokens import ChatTokens
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.run import World
from coevo.benchmarks.starter.build import SPECIAL, TEMPLATE, make_model
from coevo.benchmarks.starter.corpus import CorpusSource, Example, turns
from coevo.benchmarks.starter.examples import SeedConfig, encode, loss_of
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV = "coevo/peer_review-v0"
REPLY = SamplingConfig(max_new_tokens=8)
REPLIES = SeedConfig(prompt_weight=0.0, legal_weight=0.0)
"""What is imitated: the odds of reply tokens alone."""


def options(questions: str, part: str, **more: Any) -> dict[str, Any]:
    source = {"name": "digits", "task": questions, "low": 10, "high": 99, "split": part}
    return {"prompt_style": "terse", "questions": source, **more}


def reviewed(
    agent: Agent, env_options: Mapping[str, Any], episodes: int, seed: int = 10_000
) -> dict[str, float]:
    """Let an agent review with itself, or policies with each other, on held-out questions.

    Accuracy is the mean grade of the solutions; `judge` the share of scores that are 3 for a right
    and 1 for a wrong solution; `precision` the share of right solutions among those scored 3 (NaN
    without a 3); `invalid` the share of scores that cannot be read.
    """
    for part in getattr(agent, "policies", {"": agent}).values():
        part.reseed(seed)
        part.forget()
    seats = [f"agent_{i}" for i in range(env_options.get("num_agents", 2))]
    matches = [EpisodeSpec(seed + i, dict.fromkeys(seats, "agent")) for i in range(episodes)]
    outcomes = [e.outcome for e in rollout(ENV, matches, {"agent": agent}, env_options)]
    total = {k: float(sum(o.get(k, 0.0) for o in outcomes)) for k in outcomes[0] | outcomes[-1]}
    threes = total["judge/threes"]
    return {
        "accuracy": total["accuracy"] / episodes,
        "judge": total["judge/accuracy"] / episodes,
        "precision": total["judge/right_threes"] / threes if threes else float("nan"),
        "invalid": total["invalid_score_rate"] / episodes,
    }


def review(model: str, steps: int, env_options: Mapping[str, Any]) -> World:
    settings = {"model": model, "sampling": REPLY, "threads": 1}
    return World(ENV, steps, env_options, settings=settings)


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """What the agents know before they train, and how large they are."""

    solving: float = 0.5
    """Skill of the solvers that are imitated; see `coevo.envs.discussion.review_expert`."""
    judging: float = 0.7
    turns: int = 24_000
    """Requests that are shown, each with the odds of all that could be said."""
    steps: int = 1600
    rows: int = 96
    lr: float = 3e-3
    """Highest learning rate of AdamW; it rises for a twentieth of the steps and falls to 0."""
    hidden: int = 64
    layers: int = 2


def warm_start(out: Path, env_options: Mapping[str, Any], warm: WarmStart, seed: int) -> Path:
    """Imitate scripted reviewers with a new model, and save it as a folder."""
    examples = _examples(env_options, warm, seed)
    tokenizer = _tokenizer(examples)
    size = SeedConfig(
        hidden=warm.hidden,
        layers=warm.layers,
        feed_forward=2 * warm.hidden,
        context=256,
        seed=seed,
    )
    model = make_model(size, tokenizer)
    _imitate(model, examples, ChatTokens(tokenizer), warm, np.random.default_rng(seed))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    with no_progress_bars():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return out


def _examples(env_options: Mapping[str, Any], warm: WarmStart, seed: int) -> list[Example]:
    found: list[Example] = []
    for label, solves in ((warm.solving, True), (warm.judging, False)):
        source = CorpusSource(ENV, skills=(warm.solving,), label=label, options=dict(env_options))
        made = turns(source, warm.turns, seed)
        found += [e for e in made if e.chat[-1]["content"].startswith("Solve:") == solves]
    return found


def _imitate(
    model: LlamaForCausalLM,
    examples: Sequence[Example],
    tokens: ChatTokens,
    warm: WarmStart,
    rng: np.random.Generator,
) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=warm.lr, weight_decay=0.01)
    rise = max(warm.steps // 20, 1)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / rise, 1.0) * (1 + math.cos(math.pi * step / warm.steps)) / 2,
    )
    encoded = encode(examples, tokens, rng)
    for _ in range(warm.steps):
        batch = [encoded[i] for i in rng.integers(len(encoded), size=warm.rows)]
        loss = loss_of(model, batch, REPLIES)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()


def _tokenizer(examples: Sequence[Example]) -> PreTrainedTokenizerFast:
    """Make each digit a token, and what stands between digits one or a few."""
    words = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core = Tokenizer(models.BPE())
    core.pre_tokenizer, core.decoder = words, decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    chats = (m["content"] for e in examples for m in e.chat)
    core.train_from_iterator([*chats, *(r for e in examples for r in e.replies)], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|system|>", "<|user|>", "<|assistant|>"],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
