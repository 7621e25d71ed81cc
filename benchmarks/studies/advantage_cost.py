"""What advantages cost beside a forward pass of a language model on the same machine.

    python benchmarks/studies/advantage_cost.py --rows 4096 --turns 16 --tokens 2048

The advantages are computed at the size asked for. The forward pass of the whole batch would take
hours on a CPU, so it is estimated: the model's layers are timed one by one on a short batch and
scaled by their number and by the tokens. Attention grows with the length of a row and is timed at
that length.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Qwen3Config

from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.estimators import Trajectories, advantages

LAYERS = 28
"""Of the 0.6B model whose sizes are below."""
MODEL: dict[str, Any] = {
    "vocab_size": 151_936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
}


COMPONENTS = ("payoff", "format")
"""Reward components that records of games know."""


def batch(
    rows: int, turns: int, tokens: int, components: tuple[str, ...] = COMPONENTS
) -> Trajectories:
    """Make random trajectories in groups of eight plays with two seats.

    Args:
        rows: trajectories.
        turns: of each; every turn has as many tokens as the others.
        tokens: policy tokens of each trajectory.
        components: names of the reward's components; each sums to a number in 0..1.
    """
    noise = torch.Generator().manual_seed(0)
    turn_S = torch.arange(tokens) * turns // tokens
    at_B = torch.arange(rows)
    coin_B = torch.randint(0, 2, (rows,), generator=noise)
    keys = {
        "group": at_B // 16,
        "trajectory": at_B,
        "seat": at_B % 2,
        "game": torch.zeros_like(at_B),
        "agent": at_B % 2,
        "policy": torch.zeros_like(at_B),
        "play": at_B // 2,
        "tree": at_B // 4,
        "set": at_B // 4,
        "answer": coin_B,
        "opening": coin_B,
        "truncated": torch.zeros_like(at_B),
    }
    stream = torch.randn(rows, tokens, generator=noise)
    return Trajectories(
        reward_BTK=torch.randint(0, 2, (rows, turns, len(components)), generator=noise) / turns,
        components=components,
        turn_mask_BT=torch.ones(rows, turns, dtype=torch.bool),
        turn_of_BS=turn_S.expand(rows, tokens).contiguous(),
        keys=keys,
        value_BS=stream,
        logp_old_BS=-stream.abs(),
        logp_ref_BS=-stream.abs() - 0.1,
        q_BTC=torch.randn(rows, turns, 2, generator=noise),
        v_BTC=torch.randn(rows, turns, 2, generator=noise),
        baseline_B=coin_B.float(),
        state_BT=torch.randint(0, 5, (rows, turns), generator=noise),
        action_BT=torch.randint(0, 3, (rows, turns), generator=noise),
    )


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Time a call: the fastest of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


@torch.no_grad()
def forward_seconds(length: int) -> float:
    """Estimate one forward pass of the 0.6B model over a row of `length` tokens."""
    timed = []
    ids = torch.zeros(1, length, dtype=torch.int64)
    for layers in (1, 3):
        config = Qwen3Config(num_hidden_layers=layers, **MODEL)
        model = AutoModelForCausalLM.from_config(config).eval()
        timed.append(seconds(functools.partial(model, ids), repeats=2))
    layer = (timed[1] - timed[0]) / 2
    return timed[0] + (LAYERS - 1) * layer


def main(argv: Sequence[str] | None = None) -> None:
    """Time the advantages of every record and print their share of a forward pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--algos", default="", help="comma-separated; all records by default")
    given = parser.parse_args(argv)
    names = given.algos.split(",") if given.algos else list(ALGORITHMS)
    whole = forward_seconds(given.tokens) * given.rows
    trajectories = batch(given.rows, given.turns, given.tokens)
    say = sys.stdout.write
    say(f"{given.rows} rows x {given.turns} turns x {given.tokens} tokens, ")
    say(f"{torch.get_num_threads()} threads\n")
    say(f"one forward pass of a 0.6B model over them: {whole:,.0f} s (scaled estimate)\n\n")
    say("| algorithm | advantages, s | share of the forward pass |\n|---|---|---|\n")
    worst = 0.0
    for name in names:
        spec = replace(ALGORITHMS[name].advantage, reward_weights={})
        took = seconds(functools.partial(advantages, spec, trajectories, {}), repeats=1)
        worst = max(worst, took / whole)
        say(f"| {name} | {took:.2f} | {took / whole:.4%} |\n")
    say(f"\nworst share: {worst:.4%}; wanted: below 5 %\n")
    raise SystemExit(0 if worst < 0.05 else 1)


if __name__ == "__main__":
    main()
