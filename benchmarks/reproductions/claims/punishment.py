"""Punishment: strangers cooperate where defection is punished, and only if punishing pays."""

from dataclasses import replace

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.envs.core.config import plain
from coevo.envs.societies.mechanisms import Mechanism, Punishment
from coevo.trainers.algorithm import Algorithm

PAID = Punishment(by="partner", cost=0.0, fine=3.0, just=2.0, unjust=-10.0)


def _with(*mechanisms: Mechanism) -> Arm:
    return Arm("ppo", options={"mechanisms": tuple(map(plain, mechanisms))}, edit=_payoff_alone)


def _payoff_alone(made: Algorithm, seed: int) -> Algorithm:
    return replace(made, rewards=())


def _measure(end: Trained) -> dict[str, float]:
    return {
        "at_first": end.first("outcome/cooperation"),
        "cooperation": end.last(10, "outcome/cooperation"),
        "punishments": end.last(10, "outcome/punishments"),
    }


CLAIM = Claim(
    property="""Where defectors are punished strangers cooperate, and defect where nobody punishes
        or where punishing costs the punisher.""",
    source="""Dasgupta and Musolesi 2023, arXiv 2301.08278 (rules and rewards of punishing; they
        train networks by Q-learning with partner choice); references: dominance, as in the
        theory""",
    minutes=2.0,
    on="table",
    setting="""Four players meet in drawn pairs and play a prisoner's dilemma (3, 0, 4, 1) for two
        rounds (`coevo/sanctioned_dilemma-v0`). One table in every seat: `ppo` with advantages over
        turns, 16 episodes an update, 40 updates; figures are of the last 10.""",
    theory="""A fine of 3 makes defection cost 2 more than it gains, so that cooperation is dominant
        once defectors are punished one time in three, and a player who earns by just verdicts
        punishes always. With a cost it is dominant to pass, so that nothing deters: by backward
        induction from the last round all defect. These are the references.""",
    measured="""How often players cooperate: without punishment; where partners, or players of
        another pair, punish and earn by it (fine 3; 2 for a just verdict, -10 for an unjust one);
        and where punishing costs 1 and earns nothing.""",
    chosen="Sizes.",
    note="""cooperation is restored by paying for just verdicts, as the source's rewards do;
        learners for themselves do not keep up a punishment that costs them""",
    world=World("coevo/sanctioned_dilemma-v0", 40, {"rounds": 2}),
    changes={
        **QUICKLY,
        "collect.episodes": 16,
        "advantage.credit.level": "turn",
        "optim.lr": 0.2,
    },
    arms={
        "without": _with(),
        "partners": _with(PAID),
        "others": _with(replace(PAID, by="bystander")),
        "costly": _with(Punishment(by="partner", cost=1.0, fine=3.0)),
    },
    measure=_measure,
    expect=(
        Expect("no punishment: cooperation", "without.cooperation", 0.0, high=0.1),
        Expect("paid, by partners: cooperation in the first update", "partners.at_first"),
        Expect("paid, by partners: cooperation", "partners.cooperation", 1.0, low=0.9),
        Expect("paid, by others: cooperation", "others.cooperation", 1.0, low=0.9),
        Expect("paid, by others: punishments", "others.punishments", 0.0, high=0.1),
        Expect("at a cost of 1: cooperation", "costly.cooperation", 0.0, high=0.1),
        Expect("at a cost of 1: punishments", "costly.punishments", 0.0, high=0.1),
    ),
)
