"""Advantage Alignment in the iterated prisoner's dilemma: cooperation that cannot be exploited."""

import re

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.repeated_table import RoundGame, expected_returns
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.envs.dilemmas.catalogue import matrix_game

ROUNDS = 10
CONTEXTS = ("start", "CC", "CD", "DC", "DD")
"""What a seat knows: the own last move, then the other's."""
PAYOFF_AA = torch.tensor(matrix_game("prisoners_dilemma").payoffs[..., 0].tolist(), dtype=REAL)
ALWAYS_DEFECT = torch.tensor([[0.0, 1.0]], dtype=REAL).expand(len(CONTEXTS), 2)
DILEMMA = RoundGame(
    env="coevo/iterated_game-v0",
    options={"rounds": ROUNDS},
    shown=re.compile(r"Last: (?:(none)|you (\w), other (\w))"),
    seen=("none", *(f"{own} {other}" for own in "AB" for other in "AB")),
    memories=len(CONTEXTS),
    arms=2,
    rounds=ROUNDS,
    roles=1,
    pay=lambda role, arm: PAYOFF_AA[arm, arm.flip(-1)],
    remember=lambda role, arm: 1 + 2 * arm + arm.flip(-1),
)


def _measure(end: Trained) -> dict[str, float]:
    p_CA = DILEMMA.learnt(end)
    cooperation = {context: float(p_CA[k, 0]) for k, context in enumerate(CONTEXTS)}
    return cooperation | {
        "payoff": expected_returns(DILEMMA, p_CA, p_CA)[0] / ROUNDS,
        "robust": expected_returns(DILEMMA, p_CA, ALWAYS_DEFECT)[0] / ROUNDS,
    }


CLAIM = Claim(
    property="""In the iterated prisoner's dilemma naive learners defect, learners of the summed
        reward cooperate and let themselves be exploited, and advantage alignment cooperates
        without.""",
    source="""Piche et al. 2025, arXiv 2511.19405 (advantage alignment with a group baseline,
        settings of github.com/dereckpiche/AdAlignLLM), after Duque et al. 2024, arXiv 2406.14662;
        figures: our numpy experiment, studies/alignment_numpy.py""",
    minutes=2.0,
    on="table",
    setting="""`coevo/iterated_game-v0`, payoffs 3, 0, 5, 1, ten rounds; one table in both seats
        that sees of a prompt the last round alone: five contexts, two arms, uniform at the start.
        `advantage_alignment` and its two controls: rewards / 5, gamma 0.9, beta 0.5, groups of 8,
        entropy bonus 0.01, half of the groups against one of 30 past selves, kept every 10 updates.
        16 episodes per update, Adam 0.2, 150 updates.""",
    measured="""Exact: payoff per round against itself and against always-defect, and the
        probabilities of cooperating.""",
    chosen="""A table for the paper's 7B model, and the bounds. The references are from 256 episodes
        per update, Adam 0.05, 600 updates, where groups of 2, 8, 32 and 256 end alike. There P(C |
        DC) ends near 0; with the few episodes of here it ends near 1, in an earlier version with a
        loop of its own as well, and aligned play earns 2.99 for 2.78.""",
    note="""payoffs are per round, exact for the policies at the end; grim-like play earns (0 + 9 x
        1) / 10 against always-defect""",
    world=DILEMMA.world(150),
    changes={**ADAM, "collect.episodes": 16, "optim.lr": 0.2},
    arms={
        "naive": Arm("advantage_alignment:naive"),
        "total": Arm("advantage_alignment:sum_of_rewards"),
        "aligned": Arm("advantage_alignment"),
    },
    measure=_measure,
    expect=(
        Expect("naive: payoff", "naive.payoff", 1.003, high=1.1),
        Expect("sum of rewards: payoff", "total.payoff", 2.999, low=2.9),
        Expect("sum of rewards: P(C | CD)", "total.CD", 0.978, low=0.5),
        Expect("sum of rewards: against always-defect", "total.robust", 0.022, high=0.4),
        Expect("alignment: payoff", "aligned.payoff", 2.781, low=2.5),
        Expect("alignment: P(C) at the start", "aligned.start", 1.0, low=0.9),
        Expect("alignment: P(C | CC)", "aligned.CC", 0.985, low=0.9),
        Expect("alignment: P(C | CD)", "aligned.CD", 0.005, high=0.1),
        Expect("alignment: P(C | DC)", "aligned.DC", 0.013),
        Expect("alignment: P(C | DD)", "aligned.DD", 0.001),
        Expect("alignment: against always-defect", "aligned.robust", 0.899, low=0.85),
    ),
)
