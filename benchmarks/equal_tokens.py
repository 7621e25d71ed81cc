"""Algorithms side by side at equal sampled tokens: exact exploitability over seeds.

    python -m coevo.benchmarks.equal_tokens --algos mars,grpo --seeds 5 --tokens 2e6

Every run gets the same start model, the same sampling and the same number of sampled tokens; it
stops after the update that reaches it. The table gives each seed and the interquartile mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.exploitability import exploitability
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder


@dataclass(frozen=True)
class Cell:
    """One algorithm trained from one seed."""

    algorithm: str
    """Name, with its variant after a colon."""
    seed: int
    exploitability: float
    """NashConv / 2 at the end."""
    best: float
    """Lowest value at any probe; shows a policy that passed the equilibrium and left it."""
    tokens: int
    """Sampled tokens."""
    seconds: float
    """Training time."""


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half: values are cut, not weighted, at the quartiles.

    >>> interquartile_mean([0.0, 1.0, 2.0, 9.0])
    1.5
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def cell(
    name: str, seed: int, tokens: int, env: str, model: str, out: Path, threads: int = 0
) -> Cell:
    """Train one algorithm from one seed for a number of sampled tokens.

    Args:
        name: algorithm, or `algorithm:variant`.
        seed: of the run.
        tokens: budget of sampled tokens.
        env: a two-player game small enough for exact evaluation.
        model: start weights.
        out: parent of the run folders; a finished cell there is read, an unfinished one continued.
        threads: of torch.
    """
    base, _, variant = name.partition(":")
    config = TrainConfig(
        algorithm=algorithm(base, variant or None),
        env=env,
        model=model,
        seed=seed,
        budget_tokens=tokens,
        threads=threads,
    )
    folder = RunFolder(out / f"{name.replace(':', '-')}-{seed}")
    if not (folder.path / "config.yaml").exists():
        folder.create(config)
    elif folder.config() != config:
        raise ConfigError(f"{folder.path} holds a run with other settings; give another --out")

    def probe(policies: Mapping[str, Agent]) -> dict[str, float]:
        policy = next(iter(policies.values()))
        measured = exploitability(policy, env, config.env_options).exploitability
        return {"exploitability": np.nan if measured is None else measured}

    run = train(config, folder, probes=[probe])
    logged = [m["exploitability"] for m in folder.read_metrics() if "exploitability" in m]
    return Cell(name, seed, logged[-1], min(logged), run.progress.tokens, run.progress.seconds)


def table(cells: Sequence[Cell]) -> str:
    """Write cells as a Markdown table with one row per algorithm."""
    lines = [
        "| algorithm | exploitability per seed | IQM | best on the way, IQM | tokens | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(c.algorithm for c in cells):
        own = [c for c in cells if c.algorithm == name]
        each = ", ".join(f"{c.exploitability:.3f}" for c in own)
        middle = interquartile_mean([c.exploitability for c in own])
        best = interquartile_mean([c.best for c in own])
        tokens, seconds = np.mean([c.tokens for c in own]), np.mean([c.seconds for c in own])
        lines.append(
            f"| {name} | {each} | {middle:.3f} | {best:.3f} | {tokens:.3g} | {seconds:.0f} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the grid and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--algos", default="mars,grpo")
    parser.add_argument("--env", default="coevo/kuhn_poker-v0")
    parser.add_argument("--model", default="seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tokens", type=float, default=2e6)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, default=Path("runs") / f"equal-tokens-{int(time.time())}"
    )
    given = parser.parse_args(argv)
    cells = [
        cell(name, seed, int(given.tokens), given.env, given.model, given.out, given.threads)
        for seed in range(given.seeds)
        for name in given.algos.split(",")
    ]
    (given.out / "cells.json").write_text(json.dumps([asdict(c) for c in cells], indent=2))
    sys.stdout.write(table(cells) + "\n")


if __name__ == "__main__":
    main()
