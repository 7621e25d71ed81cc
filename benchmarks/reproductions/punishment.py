"""Punishment: strangers cooperate where defection is punished, and only if punishing pays.

Setting   Four players meet in drawn pairs and play a prisoner's dilemma (3, 0, 4, 1) for two rounds
          (`coevo/sanctioned_dilemma-v0`). One table in every seat, by the shipped loop: `ppo` with
          advantages over turns, 16 episodes an update, 40 updates; figures are of the last 10.
Measured  How often anybody cooperates: without punishment; where partners, or players of another
          pair, punish and are paid for it (fine 3; 2 for a just verdict, -10 for an unjust one);
          and where punishing costs 1 and pays nothing.
Chosen    Sizes. A fine of 3 makes defection cost 2 more than it gains, so that cooperation is
          dominant once defectors are punished one time in three, and who is paid for just verdicts
          punishes always. With a cost it is dominant to pass, so that nobody is deterred: by
          backward induction from the last round all defect. These are the references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import QUICKLY, at_end, outcomes
from coevo.envs.core.config import plain
from coevo.envs.societies.mechanisms import Mechanism, Punishment
from coevo.trainers.algorithms import algorithm

ENV = "coevo/sanctioned_dilemma-v0"
ROUNDS, STEPS, LAST = 2, 40, 10
SETTINGS = {
    **QUICKLY,
    "collect.episodes": 16,
    "advantage.credit.level": "turn",
    "optim.lr": 0.2,
}
PAID = Punishment(by="partner", cost=0.0, fine=3.0, just=2.0, unjust=-10.0)
COSTLY = Punishment(by="partner", cost=1.0, fine=3.0)


def run(seeds: Sequence[int]) -> Outcome:
    """Train without punishment, with verdicts that are paid, and with verdicts that cost."""
    without, partners, strangers, costly = (
        [course(mechanisms, seed, STEPS) for seed in seeds]
        for mechanisms in ((), (PAID,), (replace(PAID, by="bystander"),), (COSTLY,))
    )
    return Outcome(
        (
            Row("no punishment: cooperation", _end(without), 0.0, high=0.1),
            Row("paid, by partners: cooperation in the first update", _first(partners)),
            Row("paid, by partners: cooperation", _end(partners), 1.0, low=0.9),
            Row("paid, by others: cooperation", _end(strangers), 1.0, low=0.9),
            Row("paid, by others: punishments", _end(strangers, "punishments"), 0.0, high=0.1),
            Row("at a cost of 1: cooperation", _end(costly), 0.0, high=0.1),
            Row("at a cost of 1: punishments", _end(costly, "punishments"), 0.0, high=0.1),
        ),
        note="cooperation is restored by paying for just verdicts, as the source's rewards do; "
        "learners for themselves do not keep up a punishment that costs them",
    )


def course(mechanisms: Sequence[Mechanism], seed: int, steps: int) -> list[dict[str, float]]:
    """Train a table, and return the outcomes of every update.

    Args:
        mechanisms: what is joined to the dilemma.
        seed: of the run.
        steps: updates.
    """
    record = replace(algorithm("ppo", None, SETTINGS), rewards=())
    options = {"rounds": ROUNDS, "mechanisms": tuple(map(plain, mechanisms))}
    return outcomes(record, ENV, options, steps, seed)


def _first(courses: Sequence[Sequence[Mapping[str, float]]]) -> tuple[float, ...]:
    return tuple(one[0]["cooperation"] for one in courses)


def _end(
    courses: Sequence[Sequence[Mapping[str, float]]], name: str = "cooperation"
) -> tuple[float, ...]:
    return at_end(courses, name, LAST)


REPRODUCTION = Reproduction(
    name="punishment",
    property="Where defectors are punished strangers cooperate, and defect where nobody punishes "
    "or where punishing costs the punisher.",
    source="Dasgupta and Musolesi 2023, arXiv 2301.08278 (rules and rewards of punishing; they "
    "train networks by Q-learning with partner choice); references: dominance, above",
    minutes=2.0,
    run=run,
    on="table",
)
