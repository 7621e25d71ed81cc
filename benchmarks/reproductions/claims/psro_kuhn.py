"""PSRO: how hard past selves are to exploit that an equilibrium weighs; risk-averse hunters."""

import numpy as np
from open_spiel.python.algorithms.exploitability import exploitability
from open_spiel.python.algorithms.policy_aggregator import PolicyAggregator
from open_spiel.python.policy import TabularPolicy as Behaviour

from coevo.agents.population import Pool
from coevo.benchmarks.exact import tabular_policy
from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures, near
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World
from coevo.trainers.steps.solve_meta import equilibrium, worth

ENV = "coevo/kuhn_poker-v0"
STAG_HUNT = np.array([[4.0, 0.0], [3.0, 3.0]])
TREMBLE = 0.2
"""Probability with which a hunter does either: a partner who means the stag misses it by 0.1."""


def mixture(end: Trained) -> tuple[list[Behaviour], list[float]]:
    """Return the past selves of a run, and their weights."""
    pool = end.run.population
    assert isinstance(pool, Pool)  # of PSRO
    found, weights = [], []
    for name, policy in sorted(pool.snapshots().items()):
        asked = tabular_policy(policy, ENV, {"prompt_style": "terse"})
        made = Behaviour(asked.tree.game)
        for state, odds in asked.table.items():
            made.policy_for_key(state)[[action for action, _ in odds]] = [p for _, p in odds]
        found.append(made)
        weights.append(pool.weights[name])
    return found, weights


def _measure(end: Trained) -> Measures:
    found, weights = mixture(end)
    game = found[0].game
    even = [1 / len(found)] * len(found)

    def distance(shares: list[float]) -> float:
        mixed = PolicyAggregator(game).aggregate([0, 1], [found, found], [shares, shares])
        return float(exploitability(game, mixed))

    return {
        "equilibrium": distance(weights),
        "even": distance(even),
        "latest": float(exploitability(game, found[-1])),
        "kept": float(np.count_nonzero(np.array(weights) > 0.01)),
    }


def hunts(seed: int) -> Measures:
    """Return the aversion at which hunters leave the stag: pure choices, and mixtures."""
    grid = np.linspace(0, 1, 1001)
    pure = np.eye(2)

    def gap(aversion: float) -> float:
        stag, hare = (worth(STAG_HUNT, x, pure[0], aversion, TREMBLE) for x in pure)
        return stag - hare

    stays = [a for a in grid if gap(a) >= 0]
    mixed = [a for a in grid[::10] if equilibrium(STAG_HUNT, a, TREMBLE)[0] > 0.5]
    return {"pure": max(stays), "mixed": max(mixed)}


CLAIM = Claim(
    property="""Past selves weighed by an equilibrium are far harder to exploit in Kuhn poker than
        random play, but after 8 best responses no harder than past selves weighed alike; with risk
        aversion the equilibrium of a stag hunt becomes the safe one.""",
    source="""Lanctot et al. 2017, PSRO, arXiv 1711.00832; Slumbers et al. 2022, RAE, arXiv
        2205.15434 (abstract); references: exploitability of random play, and closed forms""",
    minutes=3.0,
    on="table",
    setting="""Kuhn poker, tables: 8 best responses of 16 updates of 48 episodes. `psro`, and its
        variant `uniform`, whose learner plays past selves alike and whose mixture is even. The stag
        hunt pays 4 for a stag that both hunt, 0 for one alone, 3 for a hare; a partner who means
        the stag hunts it with probability 0.9.""",
    theory="""A stag is worth 3.6 with variance 1.44: hares are better from 0.6 / 1.44 = 0.4167 on
        where one of the two must be chosen. Where mixtures may be, the gain of a little less stag
        is 2 x 1.44 times the aversion: from 0.2083 on nobody stays with it.""",
    measured="""Exploitability of the mixture of past selves (of 0.458 for random play); aversion up
        to which the stag is hunted.""",
    chosen="""Sizes, learning rate and bounds, before the figures. That the equilibrium is better
        than the even mixture was expected, and not found in the two settings that were tried. In
        the other one the learner goes on from its last best response: 0.120 against 0.118.""",
    world=World(ENV, 129),
    changes={
        **SGD,
        "collect.episodes": 48,
        "optim.lr": 3.0,
        "population.every": 16,
        "cycle.solve_meta.tasks": 128,
    },
    arms={"psro": Arm("psro"), "uniform": Arm("psro:uniform"), "hunts": hunts},
    measure=_measure,
    expect=(
        Expect("exploitability, equilibrium of best responses", "psro.equilibrium", high=0.3),
        Expect(
            "exploitability, even mixture of selves that met all alike", "uniform.even", high=0.3
        ),
        Expect("exploitability, even mixture of best responses", "psro.even"),
        Expect("exploitability, latest best response", "psro.latest"),
        Expect("even minus equilibrium", "uniform.even - psro.equilibrium"),
        Expect("past selves with weight", "psro.kept"),
        near("stag up to this aversion, pure choices", "hunts.pure", 0.4167, within=0.02),
        near("stag up to this aversion, mixtures", "hunts.mixed", 0.2083, within=0.02),
    ),
)
