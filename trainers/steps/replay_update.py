"""Replay update: a separate pass over episodes of earlier updates."""

from __future__ import annotations

from typing import ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.estimators import Advantages, expand_rows
from coevo.trainers.steps.build_batch import needs_old, score
from coevo.trainers.steps.compute_advantages import with_advantages


@config
class ReplayUpdate(Step):
    """Takes the separate pass over old episodes that the replay buffer asks for, if it does."""

    moves: ClassVar = True
    needs: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["replay_update"] = "replay_update"

    def __call__(self, ctx: UpdateContext) -> None:
        """Learn from the old episodes, with the algorithm's `replay_loss`; log `replay/...`."""
        again = None if ctx.batch is None else ctx.collector.replay_pass(ctx.step)
        if again is None:
            return
        (batch, advantage_B, weight), algorithm = again, ctx.algorithm
        sequences = score(ctx.learners, batch.sequences, old=needs_old(algorithm, ctx.learners))
        a_BS = expand_rows(advantage_B, batch.trajectories.turn_of_BS)
        sequences = with_advantages(sequences, Advantages(a_BS, None, {}, {}))
        ctx.metrics["replay/trajectories"] = float(len(advantage_B))
        for name, learner in ctx.learners.items():
            own, at = sequences.written_by(name)
            if len(at):
                known = ctx.estimator_state.get(f"loss/{name}", {})
                lesson = learner.objective(own, algorithm.replay_loss, known, weight)
                seed = ctx.seed + ctx.step
                stats, _ = learner.update([lesson], rate=ctx.rate, seed=seed)
                whose = "" if len(ctx.learners) == 1 else f"{name}/"
                ctx.metrics |= {f"replay/{whose}{k}": v for k, v in stats.items()}
