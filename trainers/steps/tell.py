"""Tell: move a genome to where its generation did well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.archive.members import Members
from coevo.trainers.collect.collector import worth
from coevo.trainers.cycle import Page, Step
from coevo.trainers.steps.ask import Ask, newest

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Tell(Step):
    """Tells the strategy what every member earned, and writes the new mean into the policy.

    Fitness is the mean over a member's episodes of the sum of its rewards, each component with its
    weight (`advantage.reward_weights`). A member that finished none counts as the worst.
    """

    moves: ClassVar = True
    needs: ClassVar = ("members", "episodes")
    name: Literal["tell"] = "tell"

    def __call__(self, run: Run, page: Page) -> None:
        """Move every genome; the one before stays on record as its parent."""
        if page.cast is None:
            return  # no generation yet
        assert isinstance(page.cast, Members)  # the cycle was checked
        asked = next(s for s in run.config.algorithm.cycle if isinstance(s, Ask))
        weights = run.config.algorithm.advantage.reward_weights
        for member in page.cast.agents.values():
            member.retire()
        fresh = page.episodes.episodes[: page.episodes.fresh]
        for name, points_ND in page.cast.points.items():
            learner, parent = run.learners[name], newest(run.archive, name)
            assert parent is not None  # ask made it
            fitness_N = _fitness(fresh, name, page.cast, weights)
            moved = asked.by.tell(parent.tensors, points_ND, fitness_N)
            state = {**parent.tensors, **moved}
            asked.genome.write(learner.model, state["mean_D"], state)
            child = run.archive.propose(
                "genome",
                {"of": name},
                parents=[parent.id],
                step=page.step + 1,
                weight=float(fitness_N.mean()),
                tensors=state,
            )
            run.archive.evaluate(child.id, best=float(fitness_N.max()), sigma=float(state["sigma"]))
            run.archive.prune([parent.id], page.step)
            whose = "" if len(page.cast.points) == 1 else f"{name}/"
            page.metrics |= {
                f"{whose}fitness": child.weight,
                f"{whose}fitness/best": child.stats["best"],
                f"{whose}sigma": child.stats["sigma"],
                f"{whose}genome": float(len(state["mean_D"])),
            }


def _fitness(
    episodes: Sequence[Episode], name: str, members: Members, weights: Mapping[str, float]
) -> Tensor:
    """Return what every member of a policy's generation earned on average, [N]."""
    found: list[list[float]] = [[] for _ in range(members.count)]
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
