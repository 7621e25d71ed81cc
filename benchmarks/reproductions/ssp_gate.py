"""The gate of search self-play: what the proposer is paid for decides whether anybody learns.

Questions  30 relations, and one broken question that nobody can answer (`asking`). The solver is a
           softmax over 8 answers per relation, one of them right, from zero logits; the proposer a
           softmax over the 31 questions, Zipf with exponent 2 at first, the broken one as likely as
           rank 2. Which answers are right is drawn by the seed.
Play       The record `ssp` without its KL term, a table per role, by the shipped loop: 16 questions
           per update, 5 solvers each, 400 updates of plain steps, 0.6 for the proposer and 16 for
           the solver.
Held out   accuracy over all relations alike, exactly; in play: share of solvers that succeeded over
           the questions of the last 50 updates that were opened.
Gate       on: the broken question is rejected, paid `invalid`, and nobody solves it; off: it goes
           to the solvers, who all fail, so that it is paid like the hardest of questions.
Chosen     All of it but 1 - s and the gate: the paper reports models of 7B to 32B. Variants with
           edges pay -0.5 where all or none succeed, and 4 s (1 - s) between. The references are
           from 32 questions per update and 800 updates of half the step, and divide a solver's
           step by all questions, asked or rejected; here by those that were asked, so that solvers
           learn more (0.74 for 0.58) where a proposer flees to rejection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Any

import numpy as np

from coevo.agents.population import ByRole
from coevo.benchmarks.reproductions.asking import ASK, ID
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.table_run import PLAIN, learnt, sized, started
from coevo.envs.core.episode import Episode
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates
from coevo.trainers.run import output_policy

RELATIONS, ANSWERS, GROUP, QUESTIONS, STEPS, LAST = 30, 8, 5, 16, 400, 50
PROPOSER_LR, SOLVER_LR = 0.6, 16.0
SETTINGS: dict[str, Any] = {
    **PLAIN,
    "population": ByRole(),
    "collect.episodes": QUESTIONS,
    "loss.regularise": (),
    "optim.minibatches": 1,
    "optim.lr": PROPOSER_LR,
    "optim_of": {"solver": {"lr": SOLVER_LR}},
}


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    options: Mapping[str, Any]
    """How the environment pays."""
    record: str | None = None
    """Variant of the record."""


VARIANTS = {
    "solver only, frozen proposer": Variant({}, "solver_only"),
    "1 - s, gate on": Variant({}),
    "1 - s, gate off": Variant({"gate": False}),
    "4s(1 - s), gate on": Variant({"proposer_reward": "learnability"}),
    "-0.5 at the edges, rejected paid 0": Variant(
        {"proposer_reward": "learnability", "edge_reward": -0.5}
    ),
    "-0.5 at the edges, rejected paid -1": Variant(
        {"proposer_reward": "learnability", "edge_reward": -0.5, "invalid_reward": -1.0}
    ),
}


@dataclass(frozen=True)
class Ended:
    """What runs came to, one value per seed."""

    held_out: tuple[float, ...]
    in_play: tuple[float, ...]
    broken: tuple[float, ...]
    """Probability of the broken question."""
    still: tuple[float, ...]
    """Share of the solver groups without variance, over the whole run."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train every variant and compare."""
    found = {name: _ended(variant, seeds) for name, variant in VARIANTS.items()}
    frozen, gated, open_, hard, fled, held = found.values()
    gain, cost = gaps(gated.held_out, frozen.held_out), gaps(gated.held_out, open_.held_out)
    same = tuple(map(abs, gaps(gated.in_play, frozen.in_play)))
    return Outcome(
        (
            Row("held out: solver only, frozen proposer", frozen.held_out, 0.774, 0.7, 0.9),
            Row("held out: 1 - s, gate on", gated.held_out, 0.965, 0.94),
            Row("held out: 1 - s, gate off", open_.held_out, 0.384, high=0.7),
            Row("held out: 4s(1 - s), gate on", hard.held_out, 0.97, 0.94),
            Row("held out: edges -0.5, rejected 0", fled.held_out, 0.584, high=0.85),
            Row("held out: edges -0.5, rejected -1", held.held_out, 0.986, 0.94),
            Row("gain of a learning proposer, held out", gain, 0.19, low=0.1),
            Row("gain of the gate, held out", cost, 0.581, low=0.25),
            Row("in play: solver only", frozen.in_play, 0.99, low=0.95),
            Row("in play: difference to gate on", same, 0.002, high=0.05),
            Row("in play: gate off", open_.in_play, 0.004, high=0.1),
            Row("P(broken): gate on", gated.broken, 0.129, high=0.3),
            Row("P(broken): gate off", open_.broken, 0.995, low=0.9),
            Row("P(broken): edges -0.5, rejected 0", fled.broken, 0.982, low=0.9),
            Row("P(broken): edges -0.5, rejected -1", held.broken, 0.01, high=0.1),
            Row("solver groups without variance: gate on", gated.still, 0.92, low=0.7),
        ),
        note="reward in play is as high without a learning proposer, so it says nothing about what "
        "was learnt",
    )


def _ended(variant: Variant, seeds: Sequence[int]) -> Ended:
    found = [trained(variant, seed, STEPS) for seed in seeds]
    return Ended(*map(tuple, zip(*found, strict=True)))


def trained(variant: Variant, seed: int, steps: int) -> tuple[float, float, float, float]:
    """Train proposer and solver; return the figures of `Ended`.

    Args:
        variant: what is paid, and whether there is a gate.
        seed: of the run, and of which answers are right.
        steps: updates.
    """
    right = [int(n) for n in np.random.default_rng(seed).integers(ANSWERS, size=RELATIONS)]
    options = {"right": right, "answers": ANSWERS, "solvers": GROUP, **variant.options}
    record = algorithm("ssp", variant.record, SETTINGS)
    maker = sized(RELATIONS + 2, RELATIONS + 1, {ASK: _zipf()})
    with started(record, ID, options, maker, seed=seed, steps=steps) as run:
        found = [_successes(done.episodes) for done in updates(run)]
        proposer, solver = (learnt(output_policy(run.learners[n])) for n in ("proposer", "solver"))
    held_out = [
        float(solver[f"q{i}"][n]) if f"q{i}" in solver else 1 / ANSWERS for i, n in enumerate(right)
    ]
    every = [share for update in found for share in update]
    late = [share for update in found[-LAST:] for share in update]
    still = fmean(share in (0.0, 1.0) for share in every)
    in_play = fmean(late) if late else 0.0
    return fmean(held_out), in_play, float(proposer[ASK][-1]), still


def _successes(episodes: Sequence[Episode]) -> list[float]:
    """Return the share of solvers that succeeded, of every question that was opened."""
    return [e.outcome["success"] for e in episodes if "success" in e.outcome]


def _zipf() -> dict[str, float]:
    """Return the logits of the proposer at first."""
    every = [-2.0 * log(rank) for rank in range(1, RELATIONS + 1)]
    return {f"q{i}": logit for i, logit in enumerate([*every, every[1]])}


REPRODUCTION = Reproduction(
    name="ssp_gate",
    property="A proposer paid 1 - s teaches solvers what a fixed one does not, and only behind a "
    "gate; rejected questions paid above the worst valid ones make it flee to rejection.",
    source="Lu et al. 2025, Search Self-play, arXiv 2510.18821 (proposers are paid 1 - s, behind a "
    "check by retrieval); figures: our numpy experiment, studies/search_gate_numpy.py",
    minutes=3.8,
    run=run,
    on="table",
)
