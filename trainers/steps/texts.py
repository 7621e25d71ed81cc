"""Steps on texts of the archive: inject them into prompts, weigh, rewrite, replace, evolve them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact, Kind
from coevo.trainers.archive.injected_texts import (
    InjectedTexts,
    uplift_by_artifact,
    worth_by_artifact,
)
from coevo.trainers.archive.selectors import Truncation
from coevo.trainers.archive.sharing import USED, WORTH, Sharing, Softmax, game_of
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.injected import Injected, Trained
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.writers import Imitate, Newcoming, Proposing, Reflect, Review


class _OfKind(Step):
    """A step that concerns the artifacts of one kind."""

    kind: Kind

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.kind,)


@config
class InjectText(_OfKind):
    """Draws a text for every group, deals one to every seat, or draws one for a judge.

    Turns say which, and how they are learnt from.
    """

    moves: ClassVar = True
    varies_episodes: ClassVar = True
    name: Literal["inject_text"] = "inject_text"
    kind: Kind = "instruction"
    by: Sharing = Softmax()
    seats: tuple[str, ...] = ()
    """Seats whose prompts get the text, such as `[solver_*]`; empty for every seat of a learner."""
    share: Annotated[float, real(above=0, high=1)] = 1.0
    """Share of the episodes of a group that get the text; the others are played without any, and
    compared with one another alone."""
    trained: Trained = "as_seen"
    """Whether a reply is learnt under the prompt that was seen, or under the one `stripped` of the
    text; a `hidden` text is in the prompt of the reference alone, which then teaches by it."""
    role: str = ""
    """Role of judges whose prompts get the text instead, one text for the whole update."""
    first: tuple[str, ...] = ()
    """Texts that the archive holds at the start."""

    def __post_init__(self) -> None:
        if self.role and not isinstance(self.by, Softmax):
            raise ConfigError(
                f"cycle.inject_text.role={self.role!r} and by={self.by.name!r} contradict "
                "each other: judges have no seats; draw by softmax"
            )

    @property
    def gives(self) -> tuple[str, ...]:
        return () if self.role else ("texts",)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,) if self.role else ()

    def __call__(self, ctx: UpdateContext) -> None:
        archive = ctx.archive
        if not archive.living(self.kind):
            for text in self.first:
                archive.propose(self.kind, text, step=ctx.step)
        living = archive.living(self.kind)
        if not living:
            raise ConfigError(
                f"cycle.inject_text: there is no {self.kind} to draw; give some in "
                "cycle.inject_text.first"
            )
        entropy = (ctx.seed, ctx.step)
        if self.role:
            assert isinstance(self.by, Softmax)  # checked above
            drawn = self.by(living, np.random.default_rng([*entropy, 4]))
            ctx.judges.injected[self.role] = Injected(drawn.id, str(drawn.payload))
            return
        size = ctx.algorithm.collect.group_size
        ctx.variation = InjectedTexts(
            living,
            self.by,
            self.seats,
            self.trained,
            ctx.learners.keys(),
            entropy,
            max(1, round(self.share * size)) if self.share < 1 else None,
            ctx.envs,
        )


@config
class WeighArtifacts(Step):
    """Moves the weight of every artifact that was used: w <- (1 - rate) w + rate mean reward.

    A moving average, because what a text is worth changes with the policy. The reward is that of
    the component that collection looks at (`collect.component`), or what it rises by (`uplift`)
    against episodes of the same task without a text: the reward alone favours the texts of easy
    tasks.
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["weigh_artifacts"] = "weigh_artifacts"
    rate: Annotated[float, real(above=0, high=1)] = 0.3
    """How fast a weight follows."""
    by: Literal["reward", "uplift"] = "reward"
    """What it follows; `uplift` needs `inject_text.share` below 1."""
    games: bool = False
    """Whether worth and uses are kept for every game, too, as `inject_text.by=by_game` needs."""

    def __call__(self, ctx: UpdateContext) -> None:
        for name, mean, uses in self._credits(ctx.episodes, ctx.algorithm.collect.component):
            ctx.archive.credit(name, mean, self.rate, uses=uses)
        if self.games:
            self._credit_games(ctx)
        ctx.metrics |= ctx.archive.metrics()

    def _credit_games(self, ctx: UpdateContext) -> None:
        """Move what artifacts are worth in the games of this update; uses fade at the same rate."""
        played: dict[str, list[Episode]] = {}
        for group in ctx.episodes.played:
            game = game_of(group.specs[0].env, group.specs[0].options)
            played.setdefault(game, []).extend(group.episodes)
        for game, episodes in played.items():
            worth, used = f"{WORTH}{game}", f"{USED}{game}"
            found = worth_by_artifact(episodes, ctx.algorithm.collect.component)
            for kind in {ctx.archive[name].kind for name in found}:
                for one in ctx.archive.living(kind):
                    one.stats[used] = (1 - self.rate) * one.stats.get(used, 0.0)
            for name, paid in found.items():
                stats, mean = ctx.archive[name].stats, fmean(x for x, _ in paid)
                stats[worth] = (1 - self.rate) * stats.get(worth, mean) + self.rate * mean
                stats[used] += len({id(e) for _, e in paid})

    def _credits(self, found: Collected, component: str) -> Iterator[tuple[str, float, int]]:
        """Return the mean of every artifact, and in how many episodes it was used."""
        fresh = found.episodes[: found.fresh]
        if self.by == "uplift":
            groups = found.groups[: found.fresh]
            for name, gains in uplift_by_artifact(fresh, groups, component).items():
                yield name, fmean(gain for gain, _ in gains), sum(uses for _, uses in gains)
            return
        for name, paid in worth_by_artifact(fresh, component).items():
            yield name, fmean(worth for worth, _ in paid), len(paid)


@config
class RewriteText(_OfKind):
    """Shows a reviewer the newest text and the episodes of this update; its text replaces that.

    The old text stays on record as the parent of the new. A reviewer that fails, or has nothing to
    change, leaves all as it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["rewrite_text"] = "rewrite_text"
    kind: Kind = "rubric"
    by: Proposing = Review()
    component: str = "rubric"
    """Reward that was given by the text; the reviewer sees the episodes in its order."""

    def __call__(self, ctx: UpdateContext) -> None:
        archive = ctx.archive
        if not archive.living(self.kind):
            raise ConfigError(
                f"cycle.rewrite_text: there is no {self.kind} to rewrite; put "
                f"inject_text({self.kind}) before it"
            )
        parent = archive.living(self.kind)[-1]
        found = self._found(ctx.episodes.episodes[: ctx.episodes.fresh])
        rng = np.random.default_rng([ctx.seed, ctx.step, 12])
        written = self.by(ctx, parent, found, rng)
        parent.uses += len(found)
        if found:
            archive.evaluate(parent.id, reward=fmean(worth for worth, _ in found))
        if written.failure or written.text != parent.payload:
            one = archive.propose(self.kind, written.text, parents=[parent.id], step=ctx.step)
            archive.evaluate(one.id, written.failure)
            archive.prune([one.id if written.failure else parent.id], ctx.step)
        ctx.metrics[f"archive/{self.kind}/failed"] = float(bool(written.failure))

    def _found(self, episodes: list[Episode]) -> list[tuple[float, Episode]]:
        """Return the rewards of seats with their episodes, the worst first."""
        paid = [
            (reward, episode)
            for episode in episodes
            for turn in episode.turns
            for reward in turn.rewards.get(self.component, {}).values()
        ]
        return sorted(paid, key=lambda pair: pair[0])


@config
class ReplaceTexts(_OfKind):
    """Prunes, lets new texts be written, tries them on held-out tasks, and inserts the best.

    What is new starts with the highest weight there is: it is tried by a policy that has learnt
    under older texts, and would look worse than it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("texts", "episodes")
    name: Literal["replace_texts"] = "replace_texts"
    kind: Kind = "instruction"
    keep: Annotated[int, whole(2)] = 4
    """How many there are afterwards."""
    by: Proposing = Reflect()
    candidates: Annotated[int, whole(1)] = 2
    """Texts that are written; the parents of one after the other are the best, the second best."""
    tasks: Annotated[int, whole(1)] = 16
    """Held-out tasks on which each of them is tried once."""

    def __call__(self, ctx: UpdateContext) -> None:
        archive = ctx.archive
        living = archive.living(self.kind)
        kept = Truncation(keep=self.keep - 1)(living)
        archive.prune([a.id for a in living if a not in kept], ctx.step)
        tried = self._tried(ctx, self._written(ctx, kept))
        if tried:
            best = max(tried, key=lambda a: a.stats["trial"])
            best.weight = max(a.weight for a in kept)
            archive.prune([a.id for a in tried if a is not best], ctx.step)
            ctx.metrics[f"archive/{self.kind}/trial"] = best.stats["trial"]

    def _written(self, ctx: UpdateContext, kept: list[Artifact]) -> list[Artifact]:
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        found = worth_by_artifact(fresh, ctx.algorithm.collect.component)
        made = []
        for number in range(self.candidates):
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 5])
            parent = kept[number % len(kept)]
            shown = sorted(found.get(parent.id, []), key=lambda pair: pair[0])
            written = self.by(ctx, parent, shown, rng)
            one = ctx.archive.propose(self.kind, written.text, parents=[parent.id], step=ctx.step)
            if written.failure:
                ctx.archive.evaluate(one.id, written.failure)
                ctx.archive.prune([one.id], ctx.step)
            else:
                made.append(one)
        ctx.metrics[f"archive/{self.kind}/failed"] = float(self.candidates - len(made))
        return made

    def _tried(self, ctx: UpdateContext, made: list[Artifact]) -> list[Artifact]:
        """Play the same held-out tasks under every text, and note what they were worth."""
        assert isinstance(ctx.variation, InjectedTexts)  # the cycle was checked
        variations = [replace(ctx.variation, artifacts=[one]) for one in made]
        played = ctx.collector.held_out(self.tasks, ctx.step, variations)
        component = ctx.algorithm.collect.component
        for one, episodes in zip(made, played, strict=True):
            ctx.count(
                tokens=ctx.collector.tokens(episodes), turns=sum(len(e.turns) for e in episodes)
            )
            worth = [x for x, _ in worth_by_artifact(episodes, component).get(one.id, [])]
            ctx.archive.evaluate(one.id, trial=fmean(worth) if worth else -np.inf)
        return made


@config
class EvolveTexts(_OfKind):
    """Prunes the worse of the texts, and lets newcomers write until there are enough again.

    The first generation, where there is no text yet, consists of newcomers without examples. A
    newcomer that fails repeats the best text that it was shown.
    """

    moves: ClassVar = True
    name: Literal["evolve_texts"] = "evolve_texts"
    kind: Kind = "instruction"
    keep: Annotated[float, real(0, below=1)] = 0.5
    """Share of them that survives, by weight."""
    shown: Annotated[int, whole(0)] = 6
    """Survivors that a newcomer is shown, drawn anew for each; they are the parents of its text."""
    by: Newcoming = Imitate()
    size: Annotated[int, whole(0)] = 0
    """Texts that there are in a generation; 0 stands for one for every seat."""

    def __call__(self, ctx: UpdateContext) -> None:
        living = ctx.archive.living(self.kind)
        count = int(self.keep * len(living))
        kept = Truncation(keep=count)(living) if count else []
        ctx.archive.prune([a.id for a in living if a not in kept], ctx.step)
        for number in range((self.size or len(ctx.population.seats)) - len(kept)):
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 13])
            at = sorted(rng.permutation(len(kept))[: self.shown])
            self._born(ctx, [kept[i] for i in at], rng)

    def _born(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> None:
        written = self.by(ctx, elders, rng)
        if written.failure and not elders:
            raise ConfigError(
                f"cycle.evolve_texts: a newcomer who is shown nothing wrote nothing "
                f"({written.failure}); give every seat a text in cycle.inject_text.first"
            )
        text = str(elders[0].payload) if written.failure else written.text
        parents = [a.id for a in elders]
        one = ctx.archive.propose(self.kind, text, parents=parents, step=ctx.step)
        ctx.archive.evaluate(one.id, written.failure)
        name = f"archive/{self.kind}/failed"
        ctx.metrics[name] = ctx.metrics.get(name, 0.0) + bool(written.failure)
