"""Build the batch: trajectories, token sequences, and the passes without gradient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch

from coevo.envs.core.config import config
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.estimators import Trajectories
from coevo.trainers.items.sequences import Batch, Sequences, build
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.learner import Learner


@config
class BuildBatch(Step):
    """Builds trajectories and sequences; old and reference log-probabilities, values of critics."""

    needs: ClassVar = ("episodes",)
    gives: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["build_batch"] = "build_batch"

    def __call__(self, ctx: UpdateContext) -> None:
        """Write the batch, if a policy wrote anything."""
        algorithm, found = ctx.algorithm, ctx.episodes
        advantage = algorithm.advantage
        batch = build(
            found.episodes,
            found.groups,
            ctx.learners,
            found.baselines,
            steps=advantage.steps,
            others=advantage.others,
            envs=ctx.envs,
            invalid=advantage.invalid is not None,
        )
        ctx.batch = None if batch is None else scored(algorithm, ctx.learners, batch)


def scored(algorithm: AlgorithmSettings, learners: Mapping[str, Learner], batch: Batch) -> Batch:
    """Return a batch with everything that passes without gradient say of it."""
    old = needs_old(algorithm, learners)
    sequences = score(learners, batch.sequences, old=old)
    return replace(
        batch, sequences=sequences, trajectories=_with_scores(batch.trajectories, sequences)
    )


def needs_old(algorithm: AlgorithmSettings, learners: Mapping[str, Learner]) -> bool:
    """Return whether the behaviour must be scored before the first optimiser step."""
    several_steps = any(x.optim.epochs * x.optim.minibatches > 1 for x in learners.values())
    # What a later role departs from is no longer what its own first pass gives.
    once = bool(algorithm.optim.alternate) and algorithm.optim.old == "update"
    return (
        (several_steps and algorithm.loss.anchor == "old")
        or algorithm.loss.is_correction is not None
        or bool(algorithm.advantage.kl_in_reward)
        or once
    )


def score(learners: Mapping[str, Learner], sequences: Sequences, *, old: bool) -> Sequences:
    """Run the passes without gradient that the learners need, each over what it wrote."""
    found: dict[str, Any] = {}
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            for field, value_CL in learner.scores(own, old=old).items():
                whole = found.setdefault(field, value_CL.new_zeros(sequences.mask_CL.shape))
                whole[at] = value_CL
    return replace(sequences, **found)


def rescore(learners: Mapping[str, Learner], sequences: Sequences) -> Sequences:
    """Score the behaviour with the policies as they are now."""
    old_CL = torch.zeros(sequences.mask_CL.shape)
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            old_CL[at] = learner.passes.logp(own).to(old_CL)
    return replace(sequences, logp_old_CL=old_CL)


def _with_scores(trajectories: Trajectories, sequences: Sequences) -> Trajectories:
    old_CL = sequences.logp_old_CL
    found = {
        "logp_old_BS": sequences.logp_behaviour_CL if old_CL is None else old_CL,
        "logp_ref_BS": sequences.logp_ref_CL,
        "value_BS": sequences.value_CL,
    }
    like_BS = trajectories.turn_of_BS
    given = {k: sequences.joined(v, like_BS) for k, v in found.items() if v is not None}
    return replace(trajectories, **given)  # type: ignore[arg-type]  # mypy sees one type for all
