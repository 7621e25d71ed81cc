"""DERL: a writer of reward formulas finds those that train a policy to what is truly wanted.

The writer's world is a bandit whose arms are formulas, one of which cannot be read. The world of
the policies that it trains is a bandit of four answers, of which four things can be seen, 0 or 1:
right (g1), boxed (g2), with steps (g3), the gold string somewhere (g4).

    answer     g1 g2 g3 g4  payoff        arms that a formula rewards most
    reasoned    1  1  1  1  1.0           g1 * g3 and g1 + g3: reasoned alone
    guessed     1  0  0  1  0.5           g1: reasoned and guessed alike
    padded      0  1  1  0  0.0           g2, g3: reasoned and padded, g4: three of them
    quoted      0  1  0  1  0.0           g2 - g1: padded and quoted
"""

from dataclasses import replace
from statistics import fmean
from typing import Any

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT, SEAT, first_row
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.loop import finish
from coevo.trainers.run import Run
from coevo.trainers.steps import InnerRun

LIST = ("g1", "g2", "g3", "g4", "g1 * g3", "g1 + g3", "g2 - g1", "g1 * (g3")
BEST, BROKEN = ("g1 * g3", "g1 + g3"), "g1 * (g3"
ANSWERS: dict[str, Any] = {
    "prompt_style": "terse",
    "names": ("reasoned", "guessed", "padded", "quoted"),
    "payoffs": ((1.0, 0.5, 0.0, 0.0),),
    "notes": {"g1": (1, 1, 0, 0), "g2": (1, 0, 1, 1), "g3": (1, 0, 1, 0), "g4": (1, 1, 0, 1)},
}
PRIMITIVES: dict[str, Any] = {key: {"name": "noted", "key": key} for key in ANSWERS["notes"]}
INNER = {
    "algorithm.rewards": [{"name": "formula", "expression": "g1", "terms": PRIMITIVES}],
    "algorithm.collect.episodes": 32,
    "algorithm.optim.epochs": 1,
}


def _small(made: Algorithm, seed: int) -> Algorithm:
    cycle = tuple(
        replace(step, changes={**step.changes, **INNER}) if isinstance(step, InnerRun) else step
        for step in made.cycle
    )
    return replace(made, cycle=cycle)


def _measure(end: Trained) -> dict[str, float]:
    p_F = first_row(end.run.population.learners["policy"], len(LIST))
    likeliest = LIST[int(p_F.argmax())]
    worth = {f: _held_out(end.run, f, end.seed) for f in dict.fromkeys((likeliest, *PRIMITIVES))}
    gain = 0.0 if likeliest in PRIMITIVES else worth[likeliest]
    return {
        "best": sum(float(p_F[LIST.index(formula)]) for formula in BEST),
        "broken": float(p_F[LIST.index(BROKEN)]),
        "gain": gain - max(worth[f] for f in PRIMITIVES),
    }


def _held_out(outer: Run, formula: str, seed: int) -> float:
    step = next(s for s in outer.config.algorithm.cycle if isinstance(s, InnerRun))
    inner = outer.fork(
        step.settings({step.into: formula}, seed + 1000), f"held_out_{LIST.index(formula)}"
    )
    finish(inner)
    (episodes,) = inner.collector.held_out(256, inner.progress.step)
    return fmean(e.total(SEAT, "payoff") for e in episodes)


CLAIM = Claim(
    property="""A writer of reward formulas that is paid by the validation of inner runs settles on
        formulas for what is truly wanted; without a baseline in its group it settles on less.""",
    source="""Cheng et al. 2025, DERL, arXiv 2512.13399 (formulas beat their primitives); the
        control is what the released code does""",
    minutes=10.0,
    on="toy",
    setting="""Eight formulas over four primitives, one of which cannot be read. `derl`, a table
        each for the writer and for the policies it trains: 20 updates of 8 formulas in one group;
        an inner run is 20 updates of 32 episodes. Its variant `released`, in which a formula's raw
        fitness is its advantage, is the naive control.""",
    measured="""The writer's probability of the two formulas that reward the best answer alone
        (their sum), and of the one that cannot be read; on an inner run with another seed the
        payoff under the likeliest formula, minus the best under a primitive alone.""",
    chosen="""Sizes and learning rates, before the figures were seen. The writer picks from a list:
        it does not write.""",
    world=World(BANDIT, 20, {"names": LIST, "payoffs": ((0.0,) * len(LIST),)}),
    changes={
        "optim.lr": 0.2,
        "optim.epochs": 1,
        "optim.warmup": 0,
        "cycle.inner_run.env": BANDIT,
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
