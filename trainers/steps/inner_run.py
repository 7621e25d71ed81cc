"""Inner runs: a whole run measures the fitness of a text, or of other settings."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Kind
from coevo.trainers.cycle import Fork, Step, UpdateContext
from coevo.trainers.files import write_json

SETTLED = {
    "budget_seconds": None,
    "budget_tokens": None,
    "budget_turns": None,
    "episodes_logged": 0,
    "probe_points": 0,
}
"""Settings of inner runs: they end after a number of updates, and log no episodes."""


@dataclass(frozen=True)
class Fitness:
    """What an inner run led to."""

    value: float
    note: str = ""
    """Why it failed, where it did."""
    tokens: int = 0
    turns: int = 0


@config
class Trial(Step):
    """Base of steps that try settings in inner runs.

    Fitness is the mean reward of the trained policies on held-out tasks. All runs of an update have
    one seed, so that what differs is what is tried.
    """

    moves: ClassVar = True
    env: str = ""
    """Environment of the inner runs; empty for that of this run."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""
    model: str = ""
    """Start model of the inner runs; empty for that of this run."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted setting -> value in which inner runs differ from this one."""
    steps: Annotated[int, whole(1)] = 100
    """Updates of an inner run."""
    checkpoint_every: Annotated[int, whole(1)] = 20
    """Updates between its checkpoints: what a kill costs at most."""
    tasks: Annotated[int, whole(1)] = 64
    """Held-out tasks, each played once by the trained policies."""
    component: str = "payoff"
    """Reward that is the true one, of which the inner learners see what `changes` let them see."""
    failed: Annotated[float, real()] = -1.0
    """Fitness of a run that failed; below what any run can earn."""

    def tried(self, ctx: UpdateContext, changes: Mapping[str, Any], name: str) -> Fitness:
        """Train a fork and count what it used.

        Whatever goes wrong is its failure, but for lack of disk or memory.
        """
        seed = np.random.SeedSequence([ctx.seed, ctx.step, 6]).generate_state(1)[0]
        try:
            found = self._trained(ctx.fork(self.settings(changes, int(seed)), name))
        except (OSError, MemoryError):
            raise
        except Exception as error:  # what is tried can break a run in any way
            note = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            return Fitness(self.failed, note)
        ctx.count(tokens=found.tokens, turns=found.turns)
        return found

    def settings(self, changes: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return in what an inner run differs from the run around it."""
        where = {"env": self.env, "env_options": dict(self.env_options)} if self.env else {}
        return SETTLED | {
            **self.changes,
            **where,
            "steps": self.steps,
            "checkpoint_every": self.checkpoint_every,
            "probe_every": self.steps,
            "seed": seed,
            **changes,
            **({"model": self.model} if self.model else {}),
        }

    def _trained(self, inner: Fork) -> Fitness:
        """Train to the end and validate, unless that was done before this run was stopped."""
        summary = inner.path / "summary.json"
        if summary.is_file():
            return Fitness(**json.loads(summary.read_text(encoding="utf-8")))
        progress = inner.finish()
        (episodes,) = inner.collector.held_out(self.tasks, progress.step)
        value = _mean(episodes, self.component)
        progress = progress.plus(
            tokens=inner.collector.tokens(episodes), turns=sum(len(e.turns) for e in episodes)
        )
        found = Fitness(value, "", progress.tokens, progress.turns)
        if not math.isfinite(value):
            found = replace(found, value=self.failed, note="no held-out task was finished")
        write_json(summary, vars(found))
        shutil.rmtree(inner.path / "checkpoints")  # only the summary is read again
        return found


@config
class InnerRun(Trial):
    """Trains a run with every distinct text, and rewards the writers with its fitness.

    The reward has the component `fitness`. A run that fails, because of its text or on its way, is
    recorded as a failure with the reward `failed`.
    """

    needs: ClassVar = ("episodes",)
    name: Literal["inner_run"] = "inner_run"
    kind: Kind = "formula"
    """What the texts are."""
    into: str = ""
    """Setting of the inner run that takes the text, after `changes`."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.kind,)

    def __call__(self, ctx: UpdateContext) -> None:
        if not self.env or not self.into:
            raise ConfigError(
                f"cycle.inner_run.env={self.env!r} and cycle.inner_run.into={self.into!r}: name "
                "the environment of the inner runs and the setting that takes the text"
            )
        turns = [t for e in ctx.episodes.episodes[: ctx.episodes.fresh] for t in _last(ctx, e)]
        found = {text: Fitness(self.failed) for text in dict.fromkeys(map(_text, turns))}
        for number, text in enumerate(found):
            found[text] = self._judged(ctx, text, f"{ctx.step:06d}_{number}")
        for turn in turns:
            turn.pay("fitness", {turn.agent: found[_text(turn)].value})
        values = [f.value for f in found.values() if not f.note]
        ctx.metrics |= ctx.archive.metrics() | {
            "inner/runs": float(len(found)),
            "inner/failed": float(len(found) - len(values)),
        }
        if values:
            ctx.metrics["inner/best"] = max(values)

    def _judged(self, ctx: UpdateContext, text: str, name: str) -> Fitness:
        """Return the fitness of a text, and put both on record."""
        artifact = ctx.archive.propose(self.kind, text, step=ctx.step)
        found = self.tried(ctx, {self.into: text}, name)
        artifact.weight, artifact.uses = found.value, 1
        ctx.archive.evaluate(artifact.id, found.note, fitness=found.value)
        if found.note:
            ctx.archive.prune([artifact.id], ctx.step)
        return found


def _last(ctx: UpdateContext, episode: Episode) -> list[Turn]:
    if episode.stop is StopReason.ERROR:
        return []
    return list({t.agent: t for t in episode.turns if t.player in ctx.learners}.values())


def _text(turn: Turn) -> str:
    """Return what was written: the answer, as the environment reads it, or the move."""
    return turn.answer or turn.move or turn.text


def _mean(episodes: Sequence[Episode], component: str) -> float:
    """Return what a seat earned on average; NaN where no episode came to its end."""
    whole_ones = [e for e in episodes if e.stop is not StopReason.ERROR]
    earned = [e.total(seat, component) for e in whole_ones for seat in e.agents]
    return fmean(earned) if earned else math.nan
