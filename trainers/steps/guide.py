"""Guide: tasks are tried again with guidance (Agent-RLVR, XRPO, AgentEvolver)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.agents.load import load_agent
from coevo.envs.core.chat import Chat
from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.rewards.words import likeness
from coevo.trainers.collect.group import Group
from coevo.trainers.collect.injected import Injected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout_of
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.writers import Asking, instruction_chat, shown_texts

EXPERT = "expert"
"""Name of the player whose moves are shown."""
ID = "guidance"
"""Stands in the place of an artifact's id while guided episodes are played."""
Texts = Mapping[str, str]
"""Seat -> guidance."""


class Guidance:
    """Base of what guides a player; subclasses are components with a name."""

    name: str
    behind: ClassVar[bool] = True
    """Whether it stands behind the task that it is about, in the user's message, not before it."""

    def remember(self, ctx: UpdateContext, solved: Sequence[tuple[str, Episode]]) -> None:
        """Take note of seats that have solved a task without guidance, with their episodes."""

    def texts(self, ctx: UpdateContext, groups: Sequence[Group]) -> Iterator[Texts]:
        """Return the guidance for every task, seat by seat; none leaves a task alone."""
        raise NotImplementedError(f"{type(self).__name__} must define texts")  # abstract


@config
class Solution(Guidance):
    """Shows a seat the moves that the expert of the environment makes there in the same task."""

    name: Literal["solution"] = "solution"

    def texts(self, ctx: UpdateContext, groups: Sequence[Group]) -> Iterator[Texts]:
        specs = [self._seated(ctx, g.specs[0]) for g in groups]
        agents = {**ctx.population.agents, EXPERT: load_agent("expert:1")}
        played = rollout_of(ctx.envs, specs, agents)
        for spec, episode in zip(specs, played, strict=True):
            seats = [s for s, player in spec.players.items() if player == EXPERT]
            yield {s: self._moves(episode, s) for s in seats}

    def _seated(self, ctx: UpdateContext, spec: EpisodeSpec) -> EpisodeSpec:
        learners = ctx.population.learners
        players = {s: EXPERT if p in learners else p for s, p in spec.players.items()}
        return replace(spec, players=players)

    def _moves(self, episode: Episode, seat: str) -> str:
        moves = [quote_line(t.move or "", 200, bare=True) for t in episode.turns if t.agent == seat]
        if len(moves) == 1:
            return f"The answer is {moves[0]}."
        return f"A player who solved this task made these moves, one a turn: {', '.join(moves)}."


@config
class Advise(Asking, Guidance):
    """Asks an agent, which is shown the attempt that went worst, quoted, and no solution."""

    name: Literal["advise"] = "advise"

    def texts(self, ctx: UpdateContext, groups: Sequence[Group]) -> Iterator[Texts]:
        for number, group in enumerate(groups):
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 16])
            tried = [(_worth(ctx, e), e) for e in group.episodes if _ended(e)]
            written = self.reply(ctx, "adviser", self.asked(min(tried, key=lambda x: x[0])), rng)
            players = {} if written.failure else group.specs[0].players
            yield {s: written.text for s, p in players.items() if p in ctx.population.learners}

    def asked(self, tried: tuple[float, Episode]) -> Chat:
        return instruction_chat(
            "You advise a player whose attempt at a task has failed. Reply with advice for the "
            f"next attempt alone, in at most {self.longest} characters.",
            f"The attempt:\n{shown_texts([tried])}",
        )


@config
class Examples(Guidance):
    """Shows a seat other tasks that were solved, those whose words are nearest to its own.

    What was solved is kept as experience in the archive: what a seat was asked first, and its
    moves. A task's own solution is never shown.
    """

    behind: ClassVar[bool] = False
    name: Literal["examples"] = "examples"
    shown: Annotated[int, whole(0)] = 2
    """Most examples in a prompt; 0 shows none, and tasks are tried again as they are: a control."""
    keep: Annotated[int, whole(1)] = 512
    """Solved tasks that are kept; the oldest go first."""

    def remember(self, ctx: UpdateContext, solved: Sequence[tuple[str, Episode]]) -> None:
        known = {str(a.payload) for a in ctx.archive.living("experience")}
        for seat, episode in solved:
            moves = [t.move or "" for t in episode.turns if t.agent == seat]
            shown = [quote_line(move, 200, bare=True) for move in moves]
            text = f"{self._asked(seat, episode)}\nSolved by: {', '.join(shown)}"
            if text not in known:
                known.add(text)
                ctx.archive.propose("experience", text, step=ctx.step)
        old = [a.id for a in ctx.archive.living("experience")][: -self.keep]
        ctx.archive.prune(old, ctx.step)

    def texts(self, ctx: UpdateContext, groups: Sequence[Group]) -> Iterator[Texts]:
        bank = [str(a.payload) for a in ctx.archive.living("experience")]
        for group in groups:
            tried = next(e for e in group.episodes if _ended(e))
            seats = [s for s, p in group.specs[0].players.items() if p in ctx.population.learners]
            given = {s: self._nearest(self._asked(s, tried), bank) for s in seats}
            yield given if not self.shown or any(given.values()) else {}

    def _nearest(self, asked: str, bank: Sequence[str]) -> str:
        others = [text for text in bank if asked and not text.startswith(f"{asked}\n")]
        near = sorted(others, key=lambda text: -likeness(asked, text))[: self.shown]
        return "\n\n".join(["Tasks that were solved before:", *near]) if near else ""

    def _asked(self, seat: str, episode: Episode) -> str:
        turn = next((t for t in episode.turns if t.agent == seat), None)
        return quote(turn.chat[-1]["content"]) if turn else ""


Guiding = Annotated[Solution | Advise | Examples, choice()]
"""Where guidance comes from."""


@config
class Guide(Step):
    """Plays tasks again, those that no episode solved or all, with guidance in learners' prompts.

    Guided episodes join the group of their task, behind all others. `stripped`, their replies are
    learnt without the guidance, in pairs or as demonstrations: no ratio of policies corrects for
    it, and a policy gradient learns from them off-policy. `as_seen`, they are learnt with the
    guidance and compared with one another alone.
    """

    needs: ClassVar = ("episodes",)
    name: Literal["guide"] = "guide"
    by: Guiding = Solution()
    of: Literal["failed", "all"] = "failed"
    """Which tasks are played again: those that no episode solved, or all."""
    solved: Annotated[float, real()] = 0.5
    """Outcome of `collect.component` from which on an episode counts as solved."""
    tries: Annotated[int, whole(1)] = 1
    """Guided episodes of every such task."""
    trained: Literal["stripped", "as_seen"] = "stripped"
    """Whether a guided reply is learnt under the prompt that was seen, or without the guidance."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.by.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        found = ctx.collected
        assert found is not None  # the cycle was checked
        known = {i: g for i, g in enumerate(found.played) if any(map(_ended, g.episodes))}
        failed = {i: g for i, g in known.items() if not self._solves(ctx, *g.episodes)}
        self.by.remember(ctx, list(self._solved(ctx, known.values())))
        chosen = known if self.of == "all" else failed
        planned = [
            (key, replace(spec, injected=self._injected(texts)))
            for (key, group), texts in zip(chosen.items(), self._texts(ctx, chosen), strict=True)
            for spec in itertools.islice(itertools.cycle(group.specs), self.tries if texts else 0)
        ]
        guided = ctx.collector.again([spec for _, spec in planned], ctx.step) if planned else []
        for turn in (t for e in guided for t in e.turns if t.injected):
            turn.injected = turn.injected if self.trained == "as_seen" else []
            turn.notes = {**turn.notes, "guided": True}
        ctx.collected = replace(
            found,
            episodes=[*found.episodes, *guided],
            groups=[*found.groups, *(key for key, _ in planned)],
        )
        ctx.count(tokens=ctx.collector.tokens(guided), turns=sum(len(e.turns) for e in guided))
        ctx.count_judges()
        ctx.metrics["guide/failed"] = len(failed) / max(len(found.played), 1)
        if guided:
            won = [key for e, (key, _) in zip(guided, planned, strict=True) if self._solves(ctx, e)]
            ctx.metrics["guide/solved"] = len(won) / len(guided)
            again = {key for key, _ in planned} & failed.keys()
            if again:
                ctx.metrics["guide/flipped"] = len(again.intersection(won)) / len(again)

    def _texts(self, ctx: UpdateContext, chosen: Mapping[int, Group]) -> Iterator[Texts]:
        return self.by.texts(ctx, list(chosen.values())) if chosen else iter(())

    def _injected(self, texts: Texts) -> Mapping[str, Injected]:
        behind = self.by.behind
        return {s: Injected(ID, text, self.trained, behind) for s, text in texts.items() if text}

    def _solved(self, ctx: UpdateContext, groups: Iterable[Group]) -> Iterator[tuple[str, Episode]]:
        """Return the seats of learners that solved a task, with its first such episode."""
        component = ctx.algorithm.collect.component
        for group in groups:
            won = next((e for e in group.episodes if self._solves(ctx, e)), None)
            for seat, player in group.specs[0].players.items():
                learns = player in ctx.population.learners
                if won and learns and won.total(seat, component) >= self.solved:
                    yield seat, won

    def _solves(self, ctx: UpdateContext, *episodes: Episode) -> bool:
        return any(_ended(e) and _worth(ctx, e) >= self.solved for e in episodes)


def _ended(episode: Episode) -> bool:
    return episode.stop is not StopReason.ERROR


def _worth(ctx: UpdateContext, episode: Episode) -> float:
    """Return the best that a learner earned in an episode."""
    component, learners = ctx.algorithm.collect.component, ctx.population.learners
    seats = {t.agent for t in episode.turns if t.player in learners}
    return max((episode.total(s, component) for s in seats), default=-np.inf)
