"""Update the genome: move it towards the variants that did well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import ClassVar, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.generation import Generation
from coevo.trainers.collect.metrics import worth
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.sample_generation import SampleGeneration, newest


@config
class UpdateGenome(Step):
    """Tells the strategy what every member earned, and writes the new mean into the policy.

    Fitness is the mean over a member's episodes of the sum of its rewards, each component with its
    weight (`advantage.reward_weights`). A member that finished none counts as the worst.
    """

    moves: ClassVar = True
    needs: ClassVar = ("generation", "episodes")
    name: Literal["update_genome"] = "update_genome"

    def __call__(self, ctx: UpdateContext) -> None:
        if ctx.variation is None:
            return  # no generation yet
        assert isinstance(ctx.variation, Generation)  # the cycle was checked
        asked = next(s for s in ctx.cycle if isinstance(s, SampleGeneration))
        weights = ctx.algorithm.advantage.reward_weights
        for member in ctx.variation.agents.values():
            member.retire()
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        for name, points_ND in ctx.variation.points.items():
            learner, parent = ctx.learners[name], newest(ctx.archive, name)
            assert parent is not None  # ask made it
            fitness_N = _fitness(fresh, name, ctx.variation, weights)
            moved = asked.by.tell(parent.tensors, points_ND, fitness_N)
            state = {**parent.tensors, **moved}
            asked.genome.write(learner.model, state["mean_D"], state)
            child = ctx.archive.propose(
                "genome",
                {"of": name},
                parents=[parent.id],
                step=ctx.step + 1,
                weight=float(fitness_N.mean()),
                tensors=state,
            )
            ctx.archive.evaluate(child.id, best=float(fitness_N.max()), sigma=float(state["sigma"]))
            ctx.archive.prune([parent.id], ctx.step)
            whose = "" if len(ctx.variation.points) == 1 else f"{name}/"
            ctx.metrics |= {
                f"{whose}fitness": child.weight,
                f"{whose}fitness/best": child.stats["best"],
                f"{whose}sigma": child.stats["sigma"],
                f"{whose}genome": float(len(state["mean_D"])),
            }


def _fitness(
    episodes: Sequence[Episode], name: str, generation: Generation, weights: Mapping[str, float]
) -> Tensor:
    """Return what every member of a policy's generation earned on average, [N]."""
    found: list[list[float]] = [[] for _ in range(generation.count)]
    for episode in episodes:
        if episode.stop is StopReason.ERROR:
            continue
        for seat, player in {t.agent: t.player for t in episode.turns}.items():
            policy, _, member = player.rpartition("@")
            if policy == name:
                found[int(member)].append(worth(episode, seat, weights))
    known = [fmean(earned) for earned in found if earned]
    least = min(known, default=0.0)
    return torch.tensor([fmean(e) if e else least for e in found], dtype=torch.float64)
