"""MARFT: a seat that is not paid learns to speak from what the next seat earns by its words."""

from coevo.agents.population import ByRole, MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World, sized
from coevo.envs.core.config import plain
from coevo.envs.questions.arithmetic import Digits

DIGITS = Digits(task="sum", high=2)
QUESTIONS, ANSWERS, LAST = len(DIGITS), 10, 20
BLIND = 1 / 3
"""How often the most common answer of the questions is right."""


def _maker(seed: int) -> MakePolicy:
    return sized(QUESTIONS + ANSWERS, ANSWERS)


def _measure(end: Trained) -> dict[str, float]:
    return {"right": end.last(LAST, "outcome/accuracy")}


CLAIM = Claim(
    property="""With advantages that run from seat to seat an unpaid reasoner learns to tell the
        actor, who sees no question, what to answer; where they stop at the border of a seat, the
        team answers no better than the actor can blindly.""",
    source="""Liao et al. 2025, MARFT, arXiv 2504.16129 (advantages over the seats of a team);
        reference of the control: a reward that never reaches the reasoner teaches it nothing""",
    minutes=2.0,
    on="table",
    setting="""`coevo/sequential_team-v0` in one round with a blind actor, who alone is paid: the
        last digit of the sum of two numbers from 0 to 2, nine questions with ten answers;
        the most common one is right in a third. Tables, `marft` and its variant `cut`: 128 episodes
        an update, 60 updates of Adam with 0.2, one plain step each, a table of values that learns
        with 0.2.""",
    measured="How often the actor is right in the last 20 updates, while it still explores.",
    chosen="""Sizes and learning rates, before anything was run; the bounds, after one seed.""",
    limits="""Two seats and one round. Pay to both seats, without credit between them, is measured
        too, and teaches as much: the credit is worth something where the last seat alone is
        paid.""",
    world=World(
        "coevo/sequential_team-v0",
        60,
        {"horizon": 1, "blind": True, "questions": plain(DIGITS), "paid": "actor"},
        _maker,
    ),
    changes={**QUICKLY, "population": ByRole(), "collect.episodes": 128, "optim.lr": 0.2},
    arms={
        "team": Arm("marft"),
        "cut": Arm("marft:cut"),
        "both": Arm("marft:cut", options={"paid": "all"}),
    },
    measure=_measure,
    expect=(
        Expect("right, credit from seat to seat", "team.right", low=0.8),
        Expect("right, credit cut at the seat", "cut.right", BLIND, high=BLIND + 0.05),
        Expect("right, cut, both are paid", "both.right"),
        Expect("team - cut", "team.right - cut.right", low=0.4),
    ),
)
