"""Sample a generation: variants of a policy play the next episodes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from coevo.agents.models.copies import frozen_copy
from coevo.agents.policy import Policy
from coevo.envs.core.config import config, whole
from coevo.trainers.archive.archive import Archive, Artifact
from coevo.trainers.archive.evolution import CmaEs, Strategy
from coevo.trainers.archive.generation import Generation
from coevo.trainers.archive.genome import Genome, SingularValues
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.learners.learner import Learner


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
        seated = ((n, x) for n, x in ctx.learners.items() if n not in ctx.judges.apart)
        for number, (name, learner) in enumerate(seated):
            state = self._current(ctx.archive, name, learner, ctx.step).tensors
            entropy = [ctx.seed, ctx.step, number, 7]
            seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
            points[name] = self.by.ask(state, count, torch.Generator().manual_seed(seed))
            for i, genome_D in enumerate(points[name]):
                agents[f"{name}@{i}"] = self._member(learner, f"{name}@{i}", genome_D, state)
        ctx.variation = Generation(agents, points, count)

    def _current(self, archive: Archive, name: str, learner: Learner, step: int) -> Artifact:
        """Return the newest genome of a learner, made from its weights the first time."""
        found = newest(archive, name)
        if found is None:
            fixed = self.genome.begin(learner.model)
            tensors = fixed | self.by.begin(fixed.pop("genome_D"))
            found = archive.propose("genome", {"of": name}, step=step, tensors=tensors)
        return found

    def _member(
        self, learner: Learner, name: str, genome_D: Tensor, state: dict[str, Tensor]
    ) -> Policy:
        model = frozen_copy(learner.model)
        trained = {n for n, p in learner.model.named_parameters() if p.requires_grad}
        for own, parameter in model.named_parameters():
            parameter.requires_grad_(own in trained)  # which numbers the genome is
        self.genome.write(model, genome_D, state)
        return learner.agent.having(model, name)


def newest(archive: Archive, name: str) -> Artifact | None:
    """Return the genome of a learner's last generation."""
    found = [a for a in archive.living("genome") if a.payload["of"] == name]
    return found[-1] if found else None
