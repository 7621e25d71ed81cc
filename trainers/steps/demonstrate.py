"""Demonstrations: episodes of another player, learnt from as if the learners had replied so."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.agents.agent import Agent, Request
from coevo.agents.load import load_agent
from coevo.agents.policy import Policy
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, StopReason, Turn, read_episodes
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.metrics import outcomes, rollout_metrics
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import UpdateContext
from coevo.trainers.progress import Progress
from coevo.trainers.steps.policy_gradient import Collect

FOR = "demonstrator/"
"""Before the name of a parameter set: who plays in its place."""


@config
class Demonstrate(Collect):
    """Collects episodes in which another player has the seats of the learners, or recorded ones.

    The replies that the environment could use are written in the tokens of the parameter set that
    has the seat. The tokens of a run are then those of the demonstrations. Where the same update
    also collects, what is logged of episodes is of those that the learners played.
    """

    name: Literal["demonstrate"] = "demonstrate"  # type: ignore[assignment]
    by: str = "random"
    """Who plays, such as `random`, `expert:0.9`, `openai:MODEL` or the folder of a model."""
    recorded: str = ""
    """File of episodes, or folder of a run, to draw from instead."""
    noted: Mapping[str, str] = field(default_factory=dict)
    """Notes that the environment must have made of a reply, such as `{kind: benign}`."""
    join: bool = False
    """Whether its episodes stand beside those that were collected before, in groups of their own;
    else they take their place."""
    until: Annotated[int, whole(1)] | None = None
    """Update from which on the learners have their seats themselves, as `collect` has it, for
    algorithms of two stages; None for never. `demonstrated` in the log says which it was."""
    varies_episodes: ClassVar = True

    @property
    def parts(self) -> tuple[str, ...]:
        return (Path(self.recorded).name or self.by,)

    def _played(self, ctx: UpdateContext) -> tuple[Collected, dict[str, Any], Progress]:
        if self.until is not None and ctx.step >= self.until:
            return super()._played(ctx)
        logged, variation = dict(ctx.metrics), ctx.variation
        if self.recorded:
            found = self._drawn(ctx)
        else:
            learner = next(iter(ctx.population.learners.values()))
            agent = _demonstrator(self.by, learner.sampling, ctx.device)
            ctx.variation = Demonstrators(agent, tuple(ctx.population.learners))
            found, _, _ = super()._played(ctx)
            ctx.variation = variation
        if any(isinstance(s, Collect) and not isinstance(s, Demonstrate) for s in ctx.cycle):
            ctx.metrics = logged
        turns = [t for e in found.episodes if e.stop is not StopReason.ERROR for t in e.turns]
        source, wanted = self.recorded or self.by, self.noted.items()
        imitated = sum(
            spell_turn(t, ctx.population.learners, source, wanted <= t.notes.items()) for t in turns
        )
        ctx.count(tokens=imitated)
        ctx.metrics["demonstrated"] = float(len(found.episodes))
        found = replace(found, tokens=imitated)
        if self.join and ctx.collected is not None:
            found = _joined(ctx.collected, found)
        return found, ctx.metrics, ctx.progress

    def _drawn(self, ctx: UpdateContext) -> Collected:
        """Return recorded episodes of the environments of the run, as if they were played now."""
        known = [e for e in _record(self.recorded) if e.env in ctx.envs and e.turns]
        if not known:
            raise DataError(f"{self.recorded} holds no episode of {', '.join(ctx.envs)}")
        rng = np.random.default_rng([ctx.seed, ctx.step, 15])
        count = min(ctx.algorithm.collect.episodes, len(known))
        drawn = [known[i] for i in rng.choice(len(known), count, replace=False)]
        seated = [ctx.population.assign(i, rng) for i in range(count)]
        episodes = [_reseated(e, players) for e, players in zip(drawn, seated, strict=True)]
        ctx.metrics |= rollout_metrics(ctx.population.seats, episodes) | outcomes(episodes)
        return Collected(episodes, list(range(count)), count, 0, {})


@dataclass(frozen=True)
class Demonstrators:
    """Lets another agent play in the place of every learner."""

    agent: Agent
    learners: Sequence[str]

    @property
    def agents(self) -> Mapping[str, Agent]:
        return {FOR + name: self.agent for name in self.learners}

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        known = self.agents
        seated = {s: FOR + n if FOR + n in known else n for s, n in spec.players.items()}
        return replace(spec, players=seated)


@functools.lru_cache(maxsize=1)
def _demonstrator(source: str, sampling: SamplingConfig, device: str) -> Agent:
    return load_agent(source, sampling=sampling, device=device)


@functools.lru_cache(maxsize=1)
def _record(source: str) -> tuple[Episode, ...]:
    path = Path(source).expanduser()
    return tuple(read_episodes(path / "episodes.jsonl" if path.is_dir() else path))


def _joined(one: Collected, other: Collected) -> Collected:
    first = 1 + max(one.groups, default=-1)
    return Collected(
        [*other.episodes, *one.episodes],
        [*(first + group for group in other.groups), *one.groups],
        other.fresh + one.fresh,
        other.tokens + one.tokens,
        {},
    )


def _reseated(episode: Episode, players: Mapping[str, str]) -> Episode:
    """Return a copy of a recorded episode as if demonstrators had played it."""
    turns = [replace(t, player=FOR + players[t.agent]) for t in episode.turns]
    return replace(episode, turns=turns)


def spell_turn(turn: Turn, learners: Mapping[str, Policy], source: str, wanted: bool) -> int:
    """Write a demonstrator's reply in the tokens of the learner, and return their number.

    One that is not wanted, or that the environment could not use, has none.
    """
    name = turn.player.removeprefix(FOR)
    if name == turn.player or name not in learners:
        return 0
    turn.player, turn.notes = name, {**turn.notes, "demonstrated_by": source}
    turn.prompt_ids = turn.token_ids = turn.logprobs = turn.choices = None
    if not wanted or turn.status is not Status.LEGAL:
        return 0
    info = {"legal_actions": None if turn.legal is None else list(turn.legal)}
    request = Request(turn.agent, turn.chat, info, np.random.default_rng(0))
    spelled = learners[name].spell(request, turn.text)
    turn.prompt_ids, turn.token_ids = spelled.prompt_ids, spelled.token_ids
    turn.logprobs = spelled.logprobs
    return len(spelled.token_ids or ())
