"""What rows of several sequences cost, beside one row each: where `prefix_tree.PAIRS` comes from.

    python -m coevo.benchmarks.studies.shared_rows [--model starter|llama]

from the tree. Replies to one prompt stand in rows of 1, 2, 4, 8 and 16; a pass through the trunk
and its gradient is timed, in processor seconds on one thread, the fastest of three. Beside the
measured ratio to rows of one stands the predicted one: a row of L tokens costs L (PAIRS + L).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from coevo.agents.load import STARTER_MODEL
from coevo.agents.prefix_tree import PAIRS
from coevo.agents.scoring import Span, score
from coevo.benchmarks.studies.train_throughput import LLAMA

SHAPES = ((16, 4), (16, 16), (64, 64), (256, 64))
"""Tokens of the prompt and of every reply."""
REPLIES = (1, 2, 4, 8, 16)
"""In a row."""
TOKENS = {"starter": 4096, "llama": 1024}
"""Of all sequences, about."""


def seconds(model: PreTrainedModel, spans: Sequence[Span], replies: int) -> float:
    """Return what a pass and its gradient take in rows of so many."""
    rows = [range(i, i + replies) for i in range(0, len(spans), replies)]
    found = []
    for _ in range(3):
        began = time.process_time()
        hidden_NH = score(model, spans, rows=rows, hidden=True).hidden_NH
        assert hidden_NH is not None  # asked for
        hidden_NH.sum().backward()
        found.append(time.process_time() - began)
    return min(found)


def sequences(vocabulary: int, prompt: int, reply: int, count: int) -> list[Span]:
    """Return random replies to one random prompt."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (prompt,), generator=draw).tolist()
    replies = torch.randint(vocabulary, (count, reply), generator=draw).tolist()
    return [Span((*ids, *r), (prompt,), (prompt + reply,)) for r in replies]


def predicted(prompt: int, reply: int, replies: int) -> float:
    """Return the cost of a row beside that of its sequences alone."""
    row, alone = prompt + replies * reply, prompt + reply
    return row * (PAIRS + row) / (replies * alone * (PAIRS + alone))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all shapes and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", choices=list(TOKENS), default="starter", help="of the rows")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    if given.model == "starter":
        model = AutoModelForCausalLM.from_pretrained(STARTER_MODEL, dtype=torch.float32)
    else:
        shape: Any = LLAMA
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape))
    model.eval()
    heads = " | ".join(f"{n}" for n in REPLIES[1:])
    sys.stdout.write(f"| prompt + reply | alone, s | {heads} |\n|{'---|' * (len(REPLIES) + 1)}\n")
    for prompt, reply in SHAPES:
        count = max(1, TOKENS[given.model] // (prompt + reply) // REPLIES[-1]) * REPLIES[-1]
        spans = sequences(model.config.vocab_size, prompt, reply, count)
        alone, *others = (seconds(model, spans, n) for n in REPLIES)
        ways = zip(REPLIES[1:], others, strict=True)
        cells = [f"{s / alone:.2f} ({predicted(prompt, reply, n):.2f})" for n, s in ways]
        sys.stdout.write(f"| {prompt} + {reply} | {alone:.2f} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
