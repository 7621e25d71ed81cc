"""DERL: a writer of reward formulas finds those that train a policy to what is truly wanted.

Writer and policies play the two parts of one environment; of its answers these are what a formula
rewards most:

    g1 * g3 and g1 + g3     the one that is worth 1 alone
    g1                      that one and one that is worth 0.5
    g2, g3, g4              that one and others
    g2 - g1                 two that are worth nothing
"""

from dataclasses import replace
from statistics import fmean
from typing import Any

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import first_row
from coevo.envs.discussion.reward_formula import FORMULAS, SOLVER, TERMS
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.loop import finish
from coevo.trainers.run import Run
from coevo.trainers.steps import InnerRun

ENV = "coevo/reward_formula-v0"
BEST, BROKEN = ("g1 * g3", "g1 + g3"), "g1 * (g3"
ANSWERS: dict[str, Any] = {"prompt_style": "terse", "part": "answers"}
INNER = {"algorithm.collect.episodes": 32, "algorithm.optim.epochs": 1}


def _small(made: Algorithm, seed: int) -> Algorithm:
    cycle = tuple(
        replace(step, changes={**step.changes, **INNER}) if isinstance(step, InnerRun) else step
        for step in made.cycle
    )
    return replace(made, cycle=cycle)


def _measure(end: Trained) -> dict[str, float]:
    p_F = first_row(end.run.population.learners["policy"], len(FORMULAS))
    likeliest = FORMULAS[int(p_F.argmax())]
    worth = {f: _held_out(end.run, f, end.seed) for f in dict.fromkeys((likeliest, *TERMS))}
    gain = 0.0 if likeliest in TERMS else worth[likeliest]
    return {
        "best": sum(float(p_F[FORMULAS.index(formula)]) for formula in BEST),
        "broken": float(p_F[FORMULAS.index(BROKEN)]),
        "gain": gain - max(worth[f] for f in TERMS),
    }


def _held_out(outer: Run, formula: str, seed: int) -> float:
    step = next(s for s in outer.config.algorithm.cycle if isinstance(s, InnerRun))
    inner = outer.fork(
        step.settings({step.into: formula}, seed + 1000), f"held_out_{FORMULAS.index(formula)}"
    )
    finish(inner)
    (episodes,) = inner.collector.held_out(256, inner.progress.step)
    return fmean(e.total(SOLVER, "payoff") for e in episodes)


CLAIM = Claim(
    property="""A writer of reward formulas that is paid by the validation of inner runs settles on
        formulas for what is truly wanted; without a baseline in its group it settles on less.""",
    source="""Cheng et al. 2025, DERL, arXiv 2512.13399 (formulas beat their primitives); the
        control is what the released code does""",
    minutes=10.0,
    on="table",
    setting="""`coevo/reward_formula-v0`: eight formulas over four primitives, one of which cannot
        be read. `derl`, a table each for the writer and for the policies it trains: 20 updates of 8
        formulas in one group; an inner run is 20 updates of 32 episodes. Its variant `released`, in
        which a formula's raw fitness is its advantage, is the naive control.""",
    measured="""The writer's probability of the two formulas that reward the best answer alone
        (their sum), and of the one that cannot be read; on an inner run with another seed the
        payoff under the likeliest formula, minus the best under a primitive alone.""",
    chosen="""Sizes and learning rates, before the figures were seen. The writer picks from a list:
        it does not write.""",
    world=World(ENV, 20),
    changes={
        "optim.lr": 0.2,
        "optim.epochs": 1,
        "optim.warmup": 0,
        "cycle.inner_run.env": ENV,
        "cycle.inner_run.env_options": ANSWERS,
        "cycle.inner_run.steps": 20,
    },
    arms={"released": Arm("derl:released", edit=_small), "derl": Arm("derl", edit=_small)},
    measure=_measure,
    expect=(
        Expect("released: P(best formulas)", "released.best"),
        Expect("derl: P(best formulas)", "derl.best"),
        Expect("derl minus released", "derl.best - released.best", low=0.05),
        Expect("derl: P(formula that cannot be read)", "derl.broken", high=0.02),
        Expect("derl: held-out gain over primitives", "derl.gain", low=0.05),
    ),
)
