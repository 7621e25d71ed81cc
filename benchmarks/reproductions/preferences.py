"""Four arms whose preferences go in a circle, and how good a choice among them is at worst.

P(row preferred to column): a0 over a1 over a2 over a0, and a3 is worse than all. The best that can
be done against the worst opponent (the minimax winner) is (.3, .3, .4, 0), which wins half of the
time; scores fitted to the preferences (Bradley-Terry) have a single best arm, which loses to
another in four of five comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT, arms, first_row
from coevo.envs.core.config import config
from coevo.envs.rewards import Odds, WinRate
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items import Items
from coevo.trainers.loop import UpdateResult
from coevo.trainers.run import Run, output_policy

P_AA = torch.tensor(
    [[0.5, 0.9, 0.2, 0.8], [0.1, 0.5, 0.8, 0.8], [0.8, 0.2, 0.5, 0.8], [0.2, 0.2, 0.2, 0.5]],
    dtype=torch.float64,
)


def odds_of(p_AA: Tensor) -> Odds:
    """Return a judge that knows how often each arm is preferred to each other one."""
    names = arms(len(p_AA))
    rows = zip(names, p_AA.tolist(), strict=True)
    return Odds(of={one: dict(zip(names, row, strict=True)) for one, row in rows})


def judged(*, drawn: bool = False) -> Callable[[Algorithm, int], Algorithm]:
    """Return what pays an algorithm by the circle; `drawn` draws every comparison once."""

    def edit(made: Algorithm, seed: int) -> Algorithm:
        (module,) = made.rewards
        assert isinstance(module, WinRate)  # of spo, sppo and dno
        return replace(made, rewards=(replace(module, judge=odds_of(P_AA), drawn=drawn),))

    return edit


@config
class NotePairs(Step):
    """Notes the arms of the pairs; nothing learns from it."""

    needs: ClassVar = ("pairs",)
    name: Literal["note_pairs"] = "note_pairs"
    seen: Any
    """List that is added to in every update: the preferred arms and the others, [N, 2]."""

    def __call__(self, ctx: UpdateContext) -> None:
        items = ctx.items.get("pairs")
        if isinstance(items, Items) and len(items):
            s = items.batch
            arm_B = torch.zeros(int(s.trajectory_C.max()) + 1, dtype=torch.int64)
            arm_B[s.trajectory_C] = torch.tensor([span.ids[1] for span in s.spans])[s.span_C]
            self.seen.append(arm_B[items.at_NK])


def noted(odds: Callable[[int], Tensor]) -> Callable[[Algorithm, int], Algorithm]:
    """Return what pays by drawn comparisons, and notes the pairs as they are made and learnt."""

    def edit(made: Algorithm, seed: int) -> Algorithm:
        cycle: list[Any] = []
        for step in made.cycle:
            cycle += [NotePairs(seen=[])] if step.name == "update" else []
            cycle += [step, NotePairs(seen=[])] if step.name == "make_items" else [step]
        module = WinRate(judge=odds_of(odds(seed)), drawn=True)
        return replace(made, cycle=tuple(cycle), rewards=(module,))

    return edit


def pairs_of(end: Trained) -> tuple[list[Tensor], list[Tensor]]:
    """Return the pairs that were made and those that were learnt, update by update."""
    cycle: tuple[Any, ...] = end.run.config.algorithm.cycle
    made, learnt = (step.seen for step in cycle if isinstance(step, NotePairs))
    return made, learnt


def policies(run: Run, done: UpdateResult) -> Tensor:
    """Watch the probabilities of the arms, [A]."""
    (learner,) = run.learners.values()
    return first_row(output_policy(learner), len(run.config.env_options["payoffs"][0]))


CIRCLE = World(BANDIT, options={"payoffs": ((0.0,) * len(P_AA),)}, watch=policies)
"""Four arms that pay nothing themselves."""


def worst_case(p_A: Tensor) -> float:
    """Return how often a choice is preferred to the arm that beats it most."""
    return float((p_A @ P_AA).min())


def worst_cases(end: Trained) -> dict[str, float]:
    """Measure the average of all policies, and the last one."""
    p_UA = torch.stack(end.seen)
    average_A = p_UA.mean(0)
    return {
        "average": worst_case(average_A),
        "last": worst_case(p_UA[-1]),
        "dominated": float(average_A[-1]),
    }


def fitted_scores() -> list[float]:
    """Return scores of the arms that fit the preferences, by Bradley and Terry."""
    score_A = torch.zeros(len(P_AA), dtype=torch.float64, requires_grad=True)
    fit = torch.optim.LBFGS([score_A], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        fit.zero_grad()
        value = binary_cross_entropy_with_logits(score_A.unsqueeze(1) - score_A, P_AA)
        value.backward()
        return value

    fit.step(loss)
    return score_A.detach().tolist()


FITTED = Arm(
    "spo",
    {"collect.episodes": 8, "optim.lr": 4.0, "advantage.reward_weights": {}},
    {"payoffs": (tuple(fitted_scores()),)},
    edit=lambda made, seed: replace(made, rewards=()),
    steps=200,
)
"""The naive control: it is paid scores instead of preferences."""
