"""Several episodes of every start: pass@k, pass^k, avg@k, and maj@k where episodes end in answers.

A question is one start state seen from one seat; `outcomes.is_solved` says when it is solved.
Estimates are per question and never pooled; questions of one start err together. pass@1 at
temperature 0 and avg@k at temperature 1 are different quantities, so the sampling belongs beside
each of these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.outcomes import is_contest, is_solved
from coevo.benchmarks.rollouts import Rollouts, opponent_agent, play, task_seeds
from coevo.benchmarks.statistics.arrays import count
from coevo.benchmarks.statistics.samples import avg_at_k, maj_at_k, pass_at_k, pass_hat_k
from coevo.benchmarks.statistics.standard_errors import SuiteScore, suite_score
from coevo.benchmarks.usage import Usage
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec


@dataclass(frozen=True)
class RepeatedStart:
    """All episodes of one start from one seat."""

    task: int
    """Seed of the start; questions of one start share their luck."""
    seat: str
    """Where the agent sat; empty where it had every seat."""
    solved: tuple[bool, ...]
    answers: tuple[Hashable | None, ...]
    """What each episode answered; None where the outcome holds no answer."""


@dataclass(frozen=True)
class Repeats:
    """The pass@k family of one agent in one environment."""

    samples: int
    """Episodes of each question."""
    questions: tuple[RepeatedStart, ...]
    opponent: str | None = None
    """Who had the other seats; None where the agent had all."""
    usage: Usage = field(default_factory=Usage)

    @property
    def ks(self) -> list[int]:
        """Return the numbers of samples that are reported: powers of two, and all."""
        powers = [2**i for i in range(self.samples.bit_length()) if 2**i <= self.samples]
        return sorted({*powers, self.samples})

    def pass_at(self, k: int) -> SuiteScore:
        """Chance that one of k episodes is solved."""
        return self._mean(lambda q: pass_at_k(len(q.solved), sum(q.solved), k))

    def pass_hat(self, k: int) -> SuiteScore:
        """Chance that all k episodes are solved."""
        return self._mean(lambda q: pass_hat_k(len(q.solved), sum(q.solved), k))

    def average(self) -> SuiteScore:
        """Mean share of episodes that are solved: avg@k for any k."""
        return self._mean(lambda q: avg_at_k(len(q.solved), sum(q.solved), 1))

    def majority(self, k: int) -> SuiteScore | None:
        """Chance that the most frequent of k answers is right; None where no answer is read."""
        if not any(a is not None for q in self.questions for a in q.answers):
            return None
        return self._mean(lambda q: _majority(q, k))

    def to_dict(self) -> dict[str, Any]:
        votes = {k: self.majority(k) for k in self.ks}
        return {
            "opponent": self.opponent,
            "samples": self.samples,
            "questions": len(self.questions),
            "avg": plain(self.average()),
            "pass_at": {str(k): plain(self.pass_at(k)) for k in self.ks},
            "pass_hat": {str(k): plain(self.pass_hat(k)) for k in self.ks},
            "maj_at": {str(k): plain(v) for k, v in votes.items() if v is not None},
        }

    def _mean(self, estimate: Callable[[RepeatedStart], float]) -> SuiteScore:
        values = [estimate(q) if q.solved else math.nan for q in self.questions]
        return suite_score(values, [q.task for q in self.questions])


def repeat(
    agent: Agent,
    env_id: str,
    opponent: Agent | str | None = "random",
    *,
    samples: int,
    games: int = 200,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
) -> Repeats:
    """Play every start several times.

    The agent has to sample, or all episodes of a start are alike. Who opposes it is as in
    `evaluate`; None only where play is not a contest. `games` is rounded up to whole questions and
    starts.
    """
    count("samples", samples), count("games", games)
    env, other = make(env_id, **(env_options or {})), opponent_agent(opponent)
    if other is None and is_contest(env):
        raise ConfigError(f"{env_id} is a contest: pass@k needs an opponent, not self-play")
    seats = [""] if other is None else list(env.possible_agents)
    specs = [
        EpisodeSpec(task, _players(env, seat), number * samples + sample)
        for task in task_seeds(math.ceil(games / (samples * len(seats))), seed)
        for number, seat in enumerate(seats)
        for sample in range(samples)
    ]
    players = {"agent": agent} | ({"opponent": other} if other else {})
    played = play(env_id, specs, players, env_options)
    found = tuple(
        _question(env, seats[number % len(seats)], played, slice(start, start + samples))
        for number, start in enumerate(range(0, len(specs), samples))
    )
    return Repeats(samples, found, other.name if other else None, played.usage)


def _players(env: TextEnv, seat: str) -> dict[str, str]:
    if not seat:
        return dict.fromkeys(env.possible_agents, "agent")
    return {**dict.fromkeys(env.possible_agents, "opponent"), seat: "agent"}


def _question(env: TextEnv, seat: str, played: Rollouts, own: slice) -> RepeatedStart:
    """Gather the episodes of a question; those that failed for outside reasons are left out."""
    specs = played.specs[own]
    pairs = zip(specs, played.episodes[own], strict=True)
    finished = [(s, e) for s, e in pairs if e.stop is not StopReason.ERROR]
    return RepeatedStart(
        specs[0].seed,
        seat,
        tuple(is_solved(env, e, seat, s.players) for s, e in finished),
        tuple(e.outcome.get("answer") for _, e in finished),
    )


def plain(score: SuiteScore) -> dict[str, Any]:
    """Return a mean over questions as JSON values; None where it is undefined."""
    found = score.interval
    return {
        "value": None if math.isnan(found.point) else found.point,
        "interval": None if math.isnan(found.low) else [found.low, found.high],
        "scored": score.scored,
        "unscored": score.unscored,
        "clusters": found.runs,
    }


def _majority(question: RepeatedStart, k: int) -> float:
    """Vote; the answer of a solved episode is the right one, and without any no vote is right."""
    right = {a for a, s in zip(question.answers, question.solved, strict=True) if s}
    right.discard(None)
    if not right:
        return 0.0 if len(question.answers) >= k else math.nan
    gold, *others = right
    answers = [gold if a in others else a for a in question.answers]
    return maj_at_k(answers, gold, k)
