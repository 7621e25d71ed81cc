"""Programs that a policy in training improves: parents are drawn, and children kept at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.agents.policy import Policy
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.breeding import keep
from coevo.trainers.archive.selectors import Islands, Selecting, Truncation
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext

OF = "evolved"


@dataclass(frozen=True)
class Parents:
    """Gives every group a parent and inspirations, as options of its resets."""

    drawn: Mapping[int, Sequence[Artifact]]
    """Group -> its parent, then its inspirations; none where nothing lives yet."""
    agents: Mapping[str, Policy] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        shown = [str(a.payload) for a in self.drawn[group]]
        if not shown:
            return spec
        given = {"parent": shown[0], "inspirations": shown[1:]}
        return replace(spec, options={**spec.options, **given})


@config
class DrawParents(Step):
    """Draws a program for every group of episodes, and others of its island as inspirations.

    The environment takes them as the options `parent` and `inspirations` of a reset. Groups go
    round the islands, and those of the next update go on from there. All episodes of a group
    improve one program, so that their rewards compare.
    """

    moves: ClassVar = True
    varies_episodes: ClassVar = True
    gives: ClassVar = ("parents",)
    name: Literal["draw_parents"] = "draw_parents"
    exploit: Annotated[float, real(0, 1)] = 0.6
    """Probability that the parent is the best of its island; else it is any of it."""
    inspirations: Annotated[int, whole(0)] = 2
    """Further programs that are shown, the best of the island beside the parent."""

    def __call__(self, ctx: UpdateContext) -> None:
        collect = ctx.algorithm.collect
        count = collect.episodes // collect.group_size
        turn = ctx.step * count
        ctx.variation = Parents({g: self._drawn(ctx, g, turn + g) for g in range(count)})

    def _drawn(self, ctx: UpdateContext, group: int, turn: int) -> list[Artifact]:
        living = ctx.archive.living("program", OF)
        islands = sorted({a.island for a in living})
        if not islands:
            return []
        island = islands[turn % len(islands)]
        ranked = sorted((a for a in living if a.island == island), key=lambda a: -a.weight)
        rng = np.random.default_rng([ctx.seed, ctx.step, group, 51])
        exploits = rng.random() < self.exploit
        parent = ranked[0 if exploits else int(rng.integers(len(ranked)))]
        return [parent, *[a for a in ranked if a is not parent][: self.inspirations]]


@config
class KeepPrograms(Step):
    """Puts the programs of an update into the archive, where a selector keeps some.

    Those of an update come together, at its end: none of them is a parent of another. A program is
    the note `program` of the last turn, where the move is a change of the parent, or else the move;
    its weight is an outcome of its episode. What is worth nothing, or lives already, is left out.
    """

    moves: ClassVar = True
    needs: ClassVar = ("parents", "episodes")
    name: Literal["keep_programs"] = "keep_programs"
    by: Selecting = Islands(by=Truncation(keep=100), count=10)
    worth: str = "worth"
    """Outcome of the environment that programs are kept by; it must be above 0."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.by.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        if not isinstance(ctx.variation, Parents):
            raise ConfigError("cycle: another step changed the episodes after draw_parents")
        found = ctx.episodes
        known = {a.payload for a in ctx.archive.living("program", OF)}
        born = list[Artifact]()
        fresh = list(zip(found.episodes, found.groups, strict=True))[: found.fresh]
        for episode, group in fresh:
            child = self._child(episode, ctx.variation.drawn[group], ctx.step)
            if child is not None and child.payload not in known:
                known.add(child.payload)
                born.append(child)
        kept = keep(ctx.archive, born, self.by, of=OF, step=ctx.step, kind="program")
        ctx.metrics |= {"programs/new": float(len(born)), "programs": float(len(kept))}
        if kept:
            ctx.metrics["fitness/best"] = max(a.weight for a in kept)

    def _child(self, episode: Episode, drawn: Sequence[Artifact], step: int) -> Artifact | None:
        if not episode.turns or episode.turns[-1].move is None:
            return None
        if self.worth not in episode.outcome:
            raise unknown(f"outcome of {episode.env}", self.worth, episode.outcome)
        last = episode.turns[-1]
        child = Artifact("", "program", last.notes.get("program", last.move), of=OF, born_at=step)
        child.weight, child.uses = episode.outcome[self.worth], 1
        child.parents = tuple(a.id for a in drawn)
        child.island = drawn[0].island if drawn else 0
        return child if child.weight > 0 else None
