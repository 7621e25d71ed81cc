"""Runs of reproductions: started in a folder that is gone afterwards, and what updates logged."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import updates
from coevo.trainers.run import Run, start
from coevo.trainers.run_folder import RunFolder

QUICKLY = {
    "critic.lr": 0.2,
    "optim.warmup": 0,
    "optim.epochs": 1,
    "optim.minibatches": 1,
}
"""Settings of PPO for a table: one plain step per update, a critic that follows at once."""
PLAIN = {"optim.optimiser": "sgd", "optim.warmup": 0, "optim.grad_norm": 1e9, "rewards": ()}
"""Plain gradient steps on what an environment pays."""
ADAM = {"optim.beta2": 0.999, "optim.warmup": 0, "optim.grad_norm": 1e9}
"""Steps of Adam with the decays of its paper, from the first update on and of any length."""
NEVER = 10**9
"""Updates between what a reproduction does not look at."""


@contextmanager
def started(
    record: Algorithm,
    env: str,
    options: Mapping[str, Any] | None = None,
    maker: MakePolicy | None = None,
    **settings: Any,
) -> Iterator[Run]:
    """Start a run on terse prompts, of a table unless `model` is given; its folder goes at the end.

    Args:
        record: the algorithm.
        env: environment id.
        options: arguments of the environment, beside the style of prompts.
        maker: makes the policies, where they are no plain tables.
        **settings: further ones of the run, such as `seed` and `steps`.
    """
    usual: dict[str, Any] = {
        "model": "table",
        "checkpoint_every": NEVER,
        "probe_every": NEVER,
        "episodes_logged": 0,
        "device": "cpu",
    }
    terse = {"prompt_style": "terse", **(options or {})}
    given = TrainConfig(algorithm=record, env=env, env_options=terse, **{**usual, **settings})
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        folder.create(given)
        yield start(given, folder, maker)


def outcomes(
    record: Algorithm, env: str, options: Mapping[str, Any], steps: int, seed: int
) -> list[dict[str, float]]:
    """Train a table, and return outcomes and returns (`return/SEAT`) of the episodes per update.

    Args:
        record: the algorithm.
        env: environment id.
        options: arguments of the environment.
        steps: updates.
        seed: of the run.
    """
    with started(record, env, options, steps=steps, seed=seed) as run:
        return [_outcomes(done.metrics) for done in updates(run)]


def sized(
    rows: int,
    moves: int,
    starts: Mapping[str, Mapping[str, float]] | None = None,
    sees: Callable[[str], str] = str,
) -> MakePolicy:
    """Return what makes tables of a size that is known: an update of a large one takes longer.

    Args:
        rows: most prompts.
        moves: most legal moves.
        starts: what all tables begin with: terse prompt -> legal move -> logit.
        sees: what a table makes of a prompt.
    """
    begun, known = starts or {}, Rows(sees)
    for prompt, logits in begun.items():
        known.add(known.key([prompt], list(logits)), len(logits))

    def make(name: str, **given: Any) -> TabularPolicy:
        table = Table(rows, moves)
        with torch.no_grad():
            for row, logits in enumerate(begun.values()):
                table.logits_RA[row, : len(logits)] = torch.tensor(list(logits.values()))
        return TabularPolicy(table, known, name=name)

    return make


@torch.no_grad()
def learnt(policy: Policy) -> dict[str, Tensor]:
    """Return what a table has learnt: what it saw of a prompt's latest message -> odds of moves."""
    assert isinstance(policy, TabularPolicy)  # a run of tables
    found = {}
    for key, row in policy.rows.of.items():
        logits_A = policy.model(torch.tensor([row]))[0, : policy.rows.moves[row]]
        found[str(json.loads(key)[0][-1])] = logits_A.softmax(-1)
    return found


def at_end(
    courses: Sequence[Sequence[Mapping[str, float]]], name: str, last: int
) -> tuple[float, ...]:
    """Return the mean of a figure over the last updates of every course.

    >>> at_end([[{"hours": 1.0}, {"hours": 3.0}, {"hours": 5.0}]], "hours", last=2)
    (4.0,)
    """
    return tuple(fmean(update[name] for update in one[-last:]) for one in courses)


def _outcomes(metrics: Mapping[str, Any]) -> dict[str, float]:
    found = {n: v for n, v in metrics.items() if n.startswith(("outcome/", "return/"))}
    return {name.removeprefix("outcome/"): value for name, value in found.items()}
