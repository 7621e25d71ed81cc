"""DERL: a writer of reward formulas finds those that train a policy to what is truly wanted.

Setting   `formulas`: eight formulas over four primitives, one of which cannot be read. The record
          `derl` by the shipped loop, a table each for the writer and for the policies it trains:
          20 updates of 8 formulas in one group; an inner run is 20 updates of 32 episodes.
Arms      `derl`; its variant `released`, in which a formula's raw fitness is its advantage, the
          naive control.
Measured  The writer's probability of the two formulas that reward the best answer alone (their
          sum), and of the one that cannot be read; on an inner run with another seed the payoff
          under the likeliest formula, minus the best under a primitive alone.
Chosen    Sizes and learning rates, before the figures were seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from coevo.benchmarks.reproductions.arms import odds
from coevo.benchmarks.reproductions.formulas import BEST, BROKEN, ID, LIST, SEAT
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.table_run import started
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import finish
from coevo.trainers.run import Run
from coevo.trainers.steps import InnerRun

STEPS, INNER_STEPS = 20, 20
TERMS = {f"g{i}": {"name": "noted", "key": f"g{i}"} for i in range(1, 5)}
INNER = {
    "algorithm.rewards": [{"name": "formula", "expression": "g1", "terms": TERMS}],
    "algorithm.collect.episodes": 32,
    "algorithm.optim.epochs": 1,
}


@dataclass(frozen=True)
class Writer:
    """What a writer of formulas came to."""

    best: float
    """Probability of the formulas that reward the best answer alone."""
    broken: float
    """Probability of the one that cannot be read."""
    gain: float
    """Payoff under its likeliest formula, minus the best under a primitive alone."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train both arms."""
    derl, released = ([writer(v, s) for s in seeds] for v in (None, "released"))
    best, control = (tuple(w.best for w in arm) for arm in (derl, released))
    return Outcome(
        (
            Row("released: P(best formulas)", control),
            Row("derl: P(best formulas)", best),
            Row("derl minus released", gaps(best, control), low=0.05),
            Row("derl: P(formula that cannot be read)", tuple(w.broken for w in derl), high=0.02),
            Row("derl: held-out gain over primitives", tuple(w.gain for w in derl), low=0.05),
        ),
    )


def writer(variant: str | None, seed: int, steps: int = STEPS) -> Writer:
    """Train a writer, and return what it came to."""
    settings = {
        "optim.lr": 0.2,
        "optim.epochs": 1,
        "optim.warmup": 0,
        "cycle.inner_run.env": ID,
        "cycle.inner_run.env_options": {"prompt_style": "terse", "asks": "answer"},
        "cycle.inner_run.steps": INNER_STEPS,
    }
    made = algorithm("derl", variant, settings)
    inner = next(s for s in made.cycle if isinstance(s, InnerRun))
    made = algorithm(
        "derl", variant, {**settings, "cycle.inner_run.changes": {**inner.changes, **INNER}}
    )
    with started(made, ID, seed=seed, steps=steps) as outer:
        finish(outer)
        p_F = odds(outer.population.learners["policy"], len(LIST))
        worth = {f: held_out(outer, f, seed) for f in (LIST[int(p_F.argmax())], *TERMS)}
    likeliest, *alone = worth.values() if len(worth) > len(TERMS) else (0.0, *worth.values())
    best = sum(float(p_F[LIST.index(f)]) for f in BEST)
    return Writer(best, float(p_F[LIST.index(BROKEN)]), likeliest - max(alone))


def held_out(outer: Run, formula: str, seed: int) -> float:
    """Return the payoff of a policy that was trained with a formula and another seed."""
    step = next(s for s in outer.config.algorithm.cycle if isinstance(s, InnerRun))
    inner = outer.fork(step.changed(outer, formula, seed + 1000), f"held_out_{LIST.index(formula)}")
    finish(inner)
    (episodes,) = inner.collector.held_out(256, inner.progress.step)
    return fmean(e.total(SEAT, "payoff") for e in episodes)


REPRODUCTION = Reproduction(
    name="derl_formulas",
    property="A writer of reward formulas that is paid by the validation of inner runs settles on "
    "formulas for what is truly wanted; without a baseline in its group it settles on less.",
    source="Cheng et al. 2025, DERL, arXiv 2512.13399 (formulas beat their primitives); the "
    "control is what the released code does",
    minutes=10.0,
    run=run,
    on="table",
)
