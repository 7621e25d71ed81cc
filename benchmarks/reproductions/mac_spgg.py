"""MAC-SPGG: contributions reach the equilibrium of its payoff, and plain public goods free-ride.

Setting   Three players give in turn (`coevo/sequential_public_goods-v0`, six levels), each with a
          table of its own; the record `mac_spgg` by the shipped loop, 64 episodes an update, 80
          updates; figures are of the last 10.
Measured  What every player gives, beside the path that backward induction finds, under plain
          public goods and under the payoff of MAC-SPGG with its released constants.
Chosen    Step sizes, one step per update, and an entropy bonus of 0.06 points: with less, players
          stop trying before those after them know how to answer. It costs a part of a level: the
          bounds are one level (0.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near
from coevo.benchmarks.reproductions.table_run import QUICKLY, outcomes
from coevo.envs.core.config import plain
from coevo.envs.societies.sequential_goods import GoodsConfig, equilibrium
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import Entropy

ENV = "coevo/sequential_public_goods-v0"
STEPS, LAST = 80, 10
SETTINGS = {
    **QUICKLY,
    "collect.episodes": 64,
    "loss.regularise": (Entropy(coef=0.06),),
    "optim.lr": 0.25,
    "optim.warmup": 10,
}
PLAIN, PAPER = GoodsConfig(bonus=0.0, penalty=0.0), GoodsConfig()
LEVEL = 1 / (PAPER.levels - 1)
PLACES = ("first", "second", "third")


def run(seeds: Sequence[int]) -> Outcome:
    """Train under the plain payoff and the paper's."""
    rows = []
    for label, goods in (("plain public goods", PLAIN), ("MAC-SPGG", PAPER)):
        found = [course(goods, seed, STEPS) for seed in seeds]
        path = equilibrium(goods).path
        rows.append(Row(f"{label}: sum in the first update", tuple(sum(c[0]) for c in found)))
        for i, place in enumerate(PLACES):
            given = [fmean(update[i] for update in c[-LAST:]) for c in found]
            rows.append(near(f"{label}: the {place} gives", given, path[i], LEVEL))
    return Outcome(
        tuple(rows),
        note="the last player learns first, and the first last: on the way contributions may fall "
        "to 0 and rise again",
    )


def course(goods: GoodsConfig, seed: int, steps: int) -> list[tuple[float, ...]]:
    """Train tables, and return the mean contribution of every player in each update.

    Args:
        goods: constants of the payoff.
        seed: of the run.
        steps: updates.
    """
    record = algorithm("mac_spgg", None, SETTINGS)
    seats = [f"contributed/player_{i}" for i in range(len(PLACES))]
    found = outcomes(record, ENV, plain(goods), steps, seed)
    return [tuple(update[seat] for seat in seats) for update in found]


REPRODUCTION = Reproduction(
    name="mac_spgg",
    property="Under the payoff of MAC-SPGG contributions reach its equilibrium, within one level; "
    "under plain public goods all free-ride.",
    source="Liang et al. 2025, MAC-SPGG, arXiv 2508.02076 (the claim; how the parts of its payoff "
    "are joined is our reading); references: equilibrium() of coevo.envs.societies",
    minutes=2.0,
    run=run,
    on="table",
)
