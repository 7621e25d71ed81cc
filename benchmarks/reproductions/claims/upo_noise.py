"""UPO: pairs whose labels an estimator believes are right more often, and teach more."""

from statistics import fmean

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.preferences import noted, pairs_of, policies
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT

ARMS, FLIPPED = 20, 0.3


def _problem(seed: int) -> tuple[Tensor, Tensor]:
    """Return the true worth of the arms, with mean 0, and the odds that one is preferred."""
    source = torch.Generator().manual_seed(seed)
    worth_A = torch.randn(ARMS, generator=source, dtype=torch.float64)
    noisy_A = torch.randn(ARMS, generator=source) > 0
    better_AA = (worth_A.unsqueeze(1) > worth_A).double()
    wrong_AA = FLIPPED * (noisy_A.unsqueeze(1) | noisy_A).double()
    odds_AA = better_AA * (1 - wrong_AA) + (1 - better_AA) * wrong_AA
    odds_AA.fill_diagonal_(0.5)
    return worth_A - worth_A.mean(), odds_AA


def _right(arm_N2: Tensor, worth_A: Tensor) -> float:
    """Return the share of right labels among the pairs of arms of unequal worth."""
    worth_N2 = worth_A.float()[arm_N2]
    differ_N = worth_N2[:, 0] != worth_N2[:, 1]
    return float((worth_N2[differ_N, 0] > worth_N2[differ_N, 1]).double().mean())


def _measure(end: Trained) -> dict[str, float]:
    worth_A, _ = _problem(end.seed)
    made, kept = (fmean(_right(x, worth_A) for x in found) for found in pairs_of(end))
    return {"made": made, "kept": kept, "worth": float(end.seen[-1] @ worth_A)}


NOTED = noted(lambda seed: _problem(seed)[1])
CLAIM = Claim(
    property="""Where a third of the labels of one region are wrong, pairs that an estimator under
        dropout agrees with are right more often, and DPO on them gains at least as much true
        worth.""",
    source="""Wang et al. 2024, UPO, arXiv 2409.11212 (the estimator, the filter and the sampling by
        BALD); no figures of this size""",
    minutes=3.0,
    on="toy",
    setting="""20 arms, one table. Comparisons are judged by true worth, which no learner sees;
        where either arm is of one region, half of the arms, the label is flipped with probability
        0.3. 256 pairs of the policy's own replies an update, 12 updates, DPO with beta 0.1 and a
        new reference every update: `upo`, and its variant `dpo` without sift.""",
    measured="""How many labels are right before and after sifting, and true worth of the policy at
        the end; random play has 0. Each seed is another draw of worths and of the region.""",
    chosen="""Sizes and steps. That labels gain at least 5 points and that worth is not lost was set
        before the first run; the paper has no experiment of this size.""",
    world=World(BANDIT, 12, {"payoffs": ((0.0,) * ARMS,)}, watch=policies),
    changes={
        **SGD,
        "collect.episodes": 512,
        "collect.group_size": 2,
        "collect.component": "win_rate",
        "advantage.reward_weights": {"payoff": 0.0},
        "optim.lr": 20.0,
    },
    arms={"upo": Arm("upo", edit=NOTED), "dpo": Arm("upo:dpo", edit=NOTED)},
    measure=_measure,
    expect=(
        Expect("labels that are right, all pairs", "upo.made"),
        Expect("labels that are right, pairs kept", "upo.kept"),
        Expect("gain", "upo.kept - upo.made", low=0.05),
        Expect("DPO: true worth", "dpo.worth"),
        Expect("UPO: true worth", "upo.worth"),
        Expect("gain of worth", "upo.worth - dpo.worth", low=0.0),
    ),
)
