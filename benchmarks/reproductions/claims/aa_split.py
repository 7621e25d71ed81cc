"""Advantage Alignment in a split game with random roles: reciprocity, and groups of one deal."""

import re

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.repeated_table import RoundGame, expected_returns
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.trainers import components as c

ROUNDS, COINS = 10, 10.0
CLAIMS, WORTHS = (0, 5, 10), (1, 10)
"""What may be claimed, and the worth of a coin to the low and to the high role."""
CLAIM_A, WORTH_R = (torch.tensor(given, dtype=REAL) for given in (CLAIMS, WORTHS))
MEMORIES = 1 + len(WORTHS) * len(CLAIMS)
"""The start, and the other's last role and claim."""
SEEN = tuple(
    f"{own} {last}"
    for own in WORTHS
    for last in ("none", *(f"{mine} {claim}" for mine in ("won", "lost") for claim in CLAIMS))
)
"""What prompts have of it: worth of the own role, the own last role, the other's last claim."""
NOTHING, ALL = 0, 2
GREEDY = torch.tensor([[0.0, 0.0, 1.0]], dtype=REAL).expand(len(WORTH_R) * MEMORIES, 3)
ALIGN = {"advantage.transform.align.gamma": 0.96}


def _pay(role: Tensor, arm: Tensor) -> Tensor:
    """Share the coins out in proportion to the claims: n p_i / max(n, p_0 + p_1), times worth."""
    claim = CLAIM_A[arm]
    return COINS * claim / claim.sum(-1, keepdim=True).clamp(min=COINS) * WORTH_R[role]


SPLIT = RoundGame(
    env="coevo/trust_and_split-v0",
    options={"rounds": ROUNDS, "messages": False, "claims": CLAIMS, "public": True},
    shown=re.compile(r"worth (\d+) to you.* Last: (?:(none)|(won|lost) \d+, other (\d+))"),
    seen=SEEN,
    memories=MEMORIES,
    arms=len(CLAIMS),
    rounds=ROUNDS,
    roles=2,
    pay=_pay,
    remember=lambda role, arm: 1 + len(CLAIMS) * role.flip(-1) + arm.flip(-1),
)


def _measure(end: Trained) -> dict[str, float]:
    p_CA = SPLIT.learnt(end)
    return {
        "joint": sum(expected_returns(SPLIT, p_CA, p_CA)) / ROUNDS,
        "robust": expected_returns(SPLIT, p_CA, GREEDY)[0] / ROUNDS,
        # of claiming nothing in the low role, by the other's last claim in it
        "gives_back": float(p_CA[1 + NOTHING, NOTHING]),
        "gives_in": float(p_CA[1 + ALL, NOTHING]),
    }


CLAIM = Claim(
    property="""In a split game with random roles advantage alignment learns to give to those who
        gave and to no others, if episodes are compared with episodes of the same deal.""",
    source="""Piche et al. 2025, arXiv 2511.19405 (Trust-and-Split; baselines over episodes of one
        seed, settings of github.com/dereckpiche/AdAlignLLM); figures: our numpy experiment,
        studies/alignment_numpy.py""",
    minutes=6.0,
    on="table",
    setting="""`coevo/trust_and_split-v0` without talk: in each of ten rounds one seat values a coin
        at 10, the other at 1, drawn anew and public. Both claim 0, 5 or 10 of 10 coins; claims
        beyond 10 are cut in proportion. A table sees of a prompt the own role and the other's last
        role and claim: 14 contexts, three arms, uniform at the start. `advantage_alignment:split`
        with gamma 0.96, rewards / 50 and no KL, one table in both seats; groups of 8 episodes with
        the same roles, half of them against past selves; 32 episodes per update, Adam 0.1, 200
        updates. The ablation has one baseline for all episodes, whatever their roles.""",
    measured="""Exact: joint payoff of a round of self-play, 55 if both claim all and 100 if all
        goes to the seat that values it more; the own payoff against a seat that always claims all;
        and what the low role does after the other claimed nothing, or everything, in it.""",
    chosen="""A table and three claims for the paper's 7B model and eleven claims, and the bounds.
        The references are from 256 episodes per update, Adam 0.05, 400 updates. With the few
        episodes of here the ablation ends anywhere from 30 to 61, so that its bounds are wider than
        they were (65 for 50, and a gap of 20 for 30), chosen after looking. A naive learner goes to
        55, where both claim all, which is the equilibrium of a round; a few stop at 69 on the
        way.""",
    note="give: claim nothing in the low role, after the other did so, or claimed all, in it",
    world=SPLIT.world(200),
    changes={
        **ADAM,
        "collect.episodes": 32,
        "optim.lr": 0.1,
        "advantage.reward_weights.payoff": 0.02,
        "advantage.credit.gamma": 0.96,
        "loss.regularise": (),
    },
    arms={
        "naive": Arm(
            "advantage_alignment:split", {"advantage.transform": (), "advantage.others": False}
        ),
        "total": Arm("advantage_alignment:split", {"advantage.transform": (c.SumOthers(),)}),
        "aligned": Arm("advantage_alignment:split", ALIGN),
        "pooled": Arm(
            "advantage_alignment:split", {**ALIGN, "advantage.baseline.by": "agent+turn"}
        ),
    },
    measure=_measure,
    expect=(
        Expect("naive: joint payoff", "naive.joint", 55.2, high=70.0),
        Expect("sum of rewards: joint payoff", "total.joint", 99.9, low=95.0),
        Expect("sum of rewards: P(give | claimed all)", "total.gives_in", 0.969, low=0.5),
        Expect("alignment: joint payoff", "aligned.joint", 85.7, low=80.0),
        Expect("alignment: P(give | gave)", "aligned.gives_back", 0.999, low=0.9),
        Expect("alignment: P(give | claimed all)", "aligned.gives_in", 0.0, high=0.1),
        Expect("alignment: against a greedy one", "aligned.robust", 26.5, low=26.0),
        Expect("sum of rewards: against a greedy one", "total.robust", 24.8),
        Expect("alignment, one baseline: joint payoff", "pooled.joint", 30.0, high=65.0),
        Expect("alignment, one baseline: P(give | gave)", "pooled.gives_back", 0.996),
        Expect("alignment, one baseline: P(give | claimed all)", "pooled.gives_in", 0.966),
        Expect(
            "joint payoff that groups of one deal are worth",
            "aligned.joint - pooled.joint",
            55.7,
            low=20.0,
        ),
    ),
)
