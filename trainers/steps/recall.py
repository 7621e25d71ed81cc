"""Recall: learn once more from episodes of earlier updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers.cycle import Page, Step
from coevo.trainers.estimators import Advantages, expand_rows
from coevo.trainers.steps.credit import with_advantages
from coevo.trainers.steps.score import needs_old, score

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Recall(Step):
    """Takes the separate pass over old episodes that the replay buffer asks for, if it does."""

    moves: ClassVar = True
    needs: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["recall"] = "recall"

    def __call__(self, run: Run, page: Page) -> None:
        """Learn from the old episodes, with the algorithm's `replay_loss`; log `replay/...`."""
        again = None if page.batch is None else run.collector.replay_pass(page.step)
        if again is None:
            return
        (batch, advantage_B, weight), algorithm = again, run.config.algorithm
        sequences = score(run.learners, batch.sequences, old=needs_old(algorithm, run.learners))
        a_BS = expand_rows(advantage_B, batch.trajectories.turn_of_BS)
        sequences = with_advantages(sequences, Advantages(a_BS, None, {}, {}))
        page.metrics["replay/trajectories"] = float(len(advantage_B))
        for name, learner in run.learners.items():
            own, at = sequences.written_by(name)
            if len(at):
                known = run.estimator_state.get(f"loss/{name}", {})
                lesson = learner.objective(own, algorithm.replay_loss, known, weight)
                seed = run.config.seed + page.step
                stats, _ = learner.update([lesson], rate=run.rate, seed=seed)
                whose = "" if len(run.learners) == 1 else f"{name}/"
                page.metrics |= {f"replay/{whose}{k}": v for k, v in stats.items()}
