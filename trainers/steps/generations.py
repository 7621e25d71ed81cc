"""Steps of an evolution strategy: a generation plays the episodes, then the genome moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from coevo.agents.models.copies import frozen_copy
from coevo.agents.policy import Policy
from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.archive import Archive, Artifact
from coevo.trainers.archive.evolution import CmaEs, Strategy
from coevo.trainers.archive.genome import Genome, SingularValues
from coevo.trainers.collect.metrics import worth
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.learners.learner import Learner


@dataclass(frozen=True)
class Generation:
    """All members play the same tasks, so that what differs between them is not their luck."""

    agents: Mapping[str, Policy]
    """`POLICY@NUMBER` -> a variant of that policy."""
    points: Mapping[str, Tensor]
    """Policy -> the genomes of its variants, [N, D]."""
    count: int
    """Members of the generation."""

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        member = number % self.count
        players = {
            seat: f"{player}@{member}" if player in self.points else player
            for seat, player in spec.players.items()
        }
        return replace(spec, players=players)


@config
class SampleGeneration(Step):
    """Draws a generation around the genome of every learner; a group is one episode of each member.

    The genomes of all generations are in the archive, the newest with the state of the strategy.
    """

    moves: ClassVar = True
    varies_episodes: ClassVar = True
    gives: ClassVar = ("generation",)
    name: Literal["sample_generation"] = "sample_generation"
    by: Strategy = CmaEs()
    genome: Genome = SingularValues()
    after: Annotated[int, whole(0)] = 0
    """Updates before the first generation, in which the policy itself plays."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.by.name, self.genome.name)

    def __call__(self, ctx: UpdateContext) -> None:
        if ctx.step < self.after:
            return
        count = ctx.algorithm.collect.group_size
        agents: dict[str, Policy] = {}
        points: dict[str, Tensor] = {}
        for number, (name, learner) in enumerate(players(ctx)):
            state = self._current(ctx.archive, name, learner, ctx.step).tensors
            entropy = [ctx.seed, ctx.step, number, 7]
            seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
            points[name] = self.by.ask(state, count, torch.Generator().manual_seed(seed))
            for i, genome_D in enumerate(points[name]):
                whose = f"{name}@{i}"
                agents[whose] = variant(learner, self.genome, whose, genome_D, state)
        ctx.variation = Generation(agents, points, count)

    def _current(self, archive: Archive, name: str, learner: Learner, step: int) -> Artifact:
        """Return the newest genome of a learner, made from its weights the first time."""
        found = newest(archive, name)
        if found is None:
            fixed = self.genome.begin(learner.model)
            tensors = fixed | self.by.begin(fixed.pop("genome_D"))
            found = archive.propose("genome", {}, of=name, step=step, tensors=tensors)
        return found


def players(ctx: UpdateContext) -> list[tuple[str, Learner]]:
    """Return the learners that play, with their names."""
    return [(n, x) for n, x in ctx.learners.items() if n not in ctx.judges.apart]


def variant(
    learner: Learner, genome: Genome, name: str, genome_D: Tensor, fixed: Mapping[str, Tensor]
) -> Policy:
    """Return the policy of a learner with another genome."""
    model = frozen_copy(learner.model)
    trained = {n for n, p in learner.model.named_parameters() if p.requires_grad}
    for own, parameter in model.named_parameters():
        parameter.requires_grad_(own in trained)  # which numbers the genome is
    genome.write(model, genome_D, fixed)
    return learner.agent.having(model, name)


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
                {},
                parents=[parent.id],
                of=name,
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
    played = by_member(episodes, name, generation.count)
    found = [[worth(e, seat, weights) for e, seat in own] for own in played]
    known = [fmean(earned) for earned in found if earned]
    least = min(known, default=0.0)
    return torch.tensor([fmean(e) if e else least for e in found], dtype=torch.float64)


def by_member(
    episodes: Sequence[Episode], name: str, count: int
) -> list[list[tuple[Episode, str]]]:
    """Return what every member of a policy's generation has played: episodes, and its seat."""
    found: list[list[tuple[Episode, str]]] = [[] for _ in range(count)]
    for episode in episodes:
        if episode.stop is StopReason.ERROR:
            continue
        for seat, player in {t.agent: t.player for t in episode.turns}.items():
            policy, _, member = player.rpartition("@")
            if policy == name:
                found[int(member)].append((episode, seat))
    return found


def newest(archive: Archive, name: str) -> Artifact | None:
    """Return the genome of a learner's last generation."""
    found = archive.living("genome", name)
    return found[-1] if found else None
