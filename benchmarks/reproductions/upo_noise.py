"""UPO: pairs whose labels an estimator believes are right more often, and teach more.

Setting   20 arms, one table, the shipped loop. Comparisons are judged by true worth, which no
          learner sees; where either arm is of one region, half of the arms, the label is flipped
          with probability 0.3. 256 pairs of the policy's own replies an update, 12 updates, DPO
          with beta 0.1 and a new reference every update: `upo`, and its variant `dpo` without sift.
Measured  How many labels are right before and after sifting, and true worth of the policy at the
          end. Each seed is another draw of worths and of the region.
Chosen    Sizes and steps. That labels gain at least 5 points and that worth is not lost was set
          before the first run; the paper has no experiment of this size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.arms import arms, distributions
from coevo.benchmarks.reproductions.preferences import PLAIN
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.envs.core.config import config, real
from coevo.envs.rewards import Odds, WinRate
from coevo.trainers.algorithms import algorithm
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items.items import Items

ARMS, FLIPPED, STEPS = 20, 0.3, 12
SETTINGS = {
    **PLAIN,
    "collect.episodes": 512,
    "collect.group_size": 2,
    "collect.component": "win_rate",
    "advantage.reward_weights": {"payoff": 0.0},
    "optim.lr": 20.0,
}


@config
class Audit(Step):
    """Notes how many labels of the pairs are right by true worth; nothing learns from it."""

    needs: ClassVar = ("pairs",)
    name: Literal["audit"] = "audit"
    seen: Any
    """List that the share of right labels is added to."""
    worth: tuple[Annotated[float, real()], ...]

    def __call__(self, ctx: UpdateContext) -> None:
        """Look at the pairs as they are now."""
        items = ctx.items.get("pairs")
        if isinstance(items, Items) and len(items):
            s = items.sequences
            arm_B = torch.zeros(int(items.at_NK.max()) + 1, dtype=torch.int64)
            arm_C = torch.tensor([span.ids[1] for span in s.spans])[s.span_C]
            arm_B[s.trajectory_C] = arm_C
            worth_N2 = torch.tensor(self.worth)[arm_B[items.at_NK]]
            differ_N = worth_N2[:, 0] != worth_N2[:, 1]
            right_N = worth_N2[differ_N, 0] > worth_N2[differ_N, 1]
            self.seen.append(float(right_N.double().mean()))


@dataclass(frozen=True)
class Found:
    """What came of a run."""

    right: tuple[float, ...]
    """Share of right labels among the pairs that were learnt from, update after update."""
    made: tuple[float, ...]
    """The same of all pairs."""
    worth: float
    """True worth of the policy at the end; random play has 0."""


def run(seeds: Sequence[int]) -> Outcome:
    """Learn from noisy labels with and without sifting."""
    upo = [learn(None, seed) for seed in seeds]
    dpo = [learn("dpo", seed) for seed in seeds]
    made = tuple(fmean(f.made) for f in upo)
    kept = tuple(fmean(f.right) for f in upo)
    worth = [tuple(f.worth for f in found) for found in (dpo, upo)]
    return Outcome(
        (
            Row("labels that are right, all pairs", made),
            Row("labels that are right, pairs kept", kept),
            Row("gain", gaps(kept, made), low=0.05),
            Row("DPO: true worth", worth[0]),
            Row("UPO: true worth", worth[1]),
            Row("gain of worth", gaps(worth[1], worth[0]), low=0.0),
        ),
    )


def world(seed: int) -> tuple[Tensor, Tensor]:
    """Return the true worth of the arms, with mean 0, and the odds that one is preferred."""
    source = torch.Generator().manual_seed(seed)
    worth_A = torch.randn(ARMS, generator=source, dtype=torch.float64)
    noisy_A = torch.randn(ARMS, generator=source) > 0
    better_AA = (worth_A.unsqueeze(1) > worth_A).double()
    wrong_AA = FLIPPED * (noisy_A.unsqueeze(1) | noisy_A).double()
    odds_AA = better_AA * (1 - wrong_AA) + (1 - better_AA) * wrong_AA
    odds_AA.fill_diagonal_(0.5)
    return worth_A - worth_A.mean(), odds_AA


def learn(variant: str | None, seed: int) -> Found:
    """Train a table on comparisons that are partly wrong."""
    worth_A, odds_AA = world(seed)
    names = arms(ARMS)
    judge = Odds(
        of={
            a: dict(zip(names, row, strict=True))
            for a, row in zip(names, odds_AA.tolist(), strict=True)
        }
    )
    made = algorithm("upo", variant, SETTINGS)
    worth = tuple(worth_A.tolist())
    before, after = (Audit(seen=[], worth=worth) for _ in range(2))
    cycle: list[Any] = []
    for step in made.cycle:
        if step.name == "update":
            cycle.append(after)
        cycle.append(step)
        if step.name == "make_items":
            cycle.append(before)
    made = replace(made, cycle=tuple(cycle), rewards=(WinRate(judge=judge, drawn=True),))
    *_, last_A = distributions(made, [0.0] * ARMS, STEPS, seed)
    return Found(tuple(after.seen), tuple(before.seen), float(last_A @ worth_A))


REPRODUCTION = Reproduction(
    name="upo_noise",
    property="Where a third of the labels of one region are wrong, pairs that an estimator under "
    "dropout agrees with are right more often, and DPO on them gains at least as much true worth.",
    source="Wang et al. 2024, UPO, arXiv 2409.11212 (the estimator, the filter and the sampling by "
    "BALD); no figures of this size",
    minutes=3.0,
    run=run,
    on="table",
)
