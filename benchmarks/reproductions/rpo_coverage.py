"""Replies that were seldom compared and won by luck: DPO ends on them, RPO cannot.

Setting   60 arms, one table. Six arms have 0.8 of the start policy, worths from 1 to -1; the other
          54 share 0.2, and each is worth -1. 400 pairs of the start policy's replies, each decided
          once with odds s(worth - worth'): a seldom compared arm is in about three. The record
          `rpo` by the shipped loop, beta 0.1, all pairs in every one of 1000 steps of Adam, with
          eta 0.2, and 0, which is DPO.
Theory    In a table, N pairs push arm a, which won W_a of them, by beta (sum over its wins of s(-m)
          - sum over its losses of s(-m)) + eta beta (W_a - N pi_a), with m the margin of a pair.
          DPO: an arm that never lost is pushed without end, so that arms of few lucky pairs take
          everything. RPO: where nothing is pushed, pi_a <= (1 + 1 / eta) W_a / N; what was seldom
          preferred cannot become likely, however well it did. This is the source's partial
          coverage: the policy is measured against replies that are compared often.
Measured  Probability of the seldom compared arms, that over the bound, how far the log-probability
          of what was preferred has fallen, and how often the policy is preferred to that of the
          start in truth (0.5 at the start, 0.33 for the seldom compared arms, 0.745 for the best).
Chosen    Sizes, worths and eta, on exact gradients of other draws; bounds before the loop was run.
          Until then the setting was 60 arms of 6 features, 48 of which were never compared; there
          five seeds left the sign of RPO's gain open (0.10, standard error 0.11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from coevo.agents.table import MOVES
from coevo.benchmarks.reproductions.arms import arms, distributions, table_maker
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.envs.core.config import config
from coevo.envs.rewards import Odds, WinRate
from coevo.trainers.algorithms import algorithm
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items.items import Items

ARMS, COMMON, SELDOM, PAIRS = 60, 6, 0.2, 400
"""Arms; those that are compared often; the share of the others; pairs."""
ETA = 0.2
SETTINGS = {
    "collect.episodes": 2 * PAIRS,
    "collect.component": "win_rate",
    "advantage.reward_weights": {"payoff": 0.0},
    "cycle.update.losses.rpo.beta": 0.1,
    "optim.lr": 0.05,
    "optim.warmup": 0,
    "optim.epochs": 1000,
}
WORTH_A = torch.cat([torch.linspace(1, -1, COMMON), torch.full((ARMS - COMMON,), -1.0)]).double()
START_A = torch.cat(
    [
        torch.full((COMMON,), (1 - SELDOM) / COMMON),
        torch.full((ARMS - COMMON,), SELDOM / (ARMS - COMMON)),
    ]
).double()
ODDS_AA = torch.sigmoid(WORTH_A.unsqueeze(1) - WORTH_A)


class Unequal(nn.Module):
    """Logits of the arms, the same for every prompt, from the start policy."""

    def __init__(self) -> None:
        super().__init__()
        self.logits_A = nn.Parameter(START_A.log())

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows, [N, A]."""
        return nn.functional.pad(self.logits_A, (0, MOVES - ARMS)).expand(len(row_N), -1)


@config
class Note(Step):
    """Notes which arms were preferred; nothing learns from it."""

    needs: ClassVar = ("pairs",)
    name: Literal["note"] = "note"
    seen: Any
    """List that the arms are added to, pair by pair."""

    def __call__(self, ctx: UpdateContext) -> None:
        """Look at the pairs."""
        items = ctx.items["pairs"]
        assert isinstance(items, Items)
        s = items.sequences
        arm_of = dict(
            zip(s.trajectory_C.tolist(), (s.spans[i].ids[1] for i in s.span_C), strict=True)
        )
        self.seen.extend(arm_of[b] for b in items.at_NK[:, 0].tolist())


@dataclass(frozen=True)
class Drift:
    """Where a policy went."""

    seldom: float
    """Probability of the arms that were seldom compared."""
    bound: float
    """What RPO's gradient allows them: (1 + 1 / eta) times their share of the wins."""
    preferred: float
    """Mean change of the log-probability of what was preferred."""
    true: float
    """How often it is preferred to the start policy, in truth."""


def run(seeds: Sequence[int]) -> Outcome:
    """Learn from one set of pairs with and without imitation."""
    dpo, rpo = ([drift(eta, seed) for seed in seeds] for eta in (0.0, ETA))
    true = [_each(found, "true") for found in (dpo, rpo)]
    fell = [_each(found, "preferred") for found in (dpo, rpo)]
    return Outcome(
        (
            Row("DPO: probability of seldom compared arms", _each(dpo, "seldom"), 1.0, low=0.5),
            Row("RPO: probability of seldom compared arms", _each(rpo, "seldom")),
            Row("RPO: that over its bound", tuple(r.seldom / r.bound for r in rpo), high=1.0),
            Row("DPO: change of log pi(preferred)", fell[0]),
            Row("RPO: change of log pi(preferred)", fell[1]),
            Row("RPO above DPO", gaps(fell[1], fell[0]), low=1.0),
            Row("DPO: preferred to the start", true[0], high=0.5),
            Row("RPO: preferred to the start", true[1], low=0.5),
            Row("gain", gaps(true[1], true[0]), low=0.1),
        ),
    )


def _each(found: Sequence[Drift], name: str) -> tuple[float, ...]:
    return tuple(getattr(d, name) for d in found)


def drift(eta: float, seed: int, epochs: int = 1000) -> Drift:
    """Learn from the pairs of one seed, which are the same for every eta."""
    changes = {**SETTINGS, "cycle.update.losses.rpo.eta": eta, "optim.epochs": epochs}
    made, preferred = algorithm("rpo", None, changes), list[int]()
    cycle: list[Any] = []
    for step in made.cycle:
        cycle += [step, Note(seen=preferred)] if step.name == "make_items" else [step]
    names = arms(ARMS)
    odds = {
        a: dict(zip(names, row, strict=True))
        for a, row in zip(names, ODDS_AA.tolist(), strict=True)
    }
    judge = WinRate(judge=Odds(of=odds), drawn=True)
    made = replace(made, cycle=tuple(cycle), rewards=(judge,))
    (p_A,) = distributions(made, [0.0] * ARMS, 1, seed, table_maker(Unequal()))
    won_A = torch.bincount(torch.tensor(preferred), minlength=ARMS).double() / len(preferred)
    return Drift(
        seldom=float(p_A[COMMON:].sum()),
        bound=float(won_A[COMMON:].sum()) * (1 + 1 / ETA),
        preferred=float((won_A * (p_A / START_A).log()).sum()),
        true=float(p_A @ ODDS_AA @ START_A),
    )


REPRODUCTION = Reproduction(
    name="rpo_coverage",
    property="Replies that were seldom compared and won by luck take all of the probability under "
    "DPO; beside imitation of what is preferred they cannot, and the policy stays better than it "
    "was.",
    source="Liu et al. 2024, RPO, arXiv 2405.16436 (over-optimisation under partial coverage); the "
    "bound is that of the gradient of its loss in a table, derived here",
    minutes=2.0,
    run=run,
    on="table",
)
