"""Several plays of every start: pass@k, pass^k, avg@k, and maj@k where plays end in answers.

A question is one start state seen from one seat. It is solved where the outcome says so
(`success`), where the play is won, or, in a task that is no contest, where the best possible payoff
is reached. Estimates are per question and never pooled; questions of one deal err together.
pass@1 at temperature 0 and avg@k at temperature 1 are different quantities, so the sampling belongs
beside each of these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import AT_ONCE, opponent_agent
from coevo.benchmarks.scores import is_contest, rows_of
from coevo.benchmarks.spending import Spending, spending, used
from coevo.benchmarks.statistics.arrays import count
from coevo.benchmarks.statistics.errors import SuiteScore, suite_score
from coevo.benchmarks.statistics.normalise import SOLVED
from coevo.benchmarks.statistics.samples import avg_at_k, pass_at_k, pass_hat_k
from coevo.benchmarks.statistics.votes import maj_at_k
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import ConfigError
from coevo.trainers.rollout import Match, play


@dataclass(frozen=True)
class Question:
    """All plays of one start from one seat."""

    deal: int
    """Seed of the start; questions of one deal share their luck."""
    seat: str
    """Where the agent sat; empty where it had every seat."""
    solved: tuple[bool, ...]
    """Play by play."""
    answers: tuple[Hashable | None, ...]
    """What each play answered; None where the outcome holds no answer."""


@dataclass(frozen=True)
class Repeats:
    """The pass@k family of one agent in one environment."""

    samples: int
    """Plays of each question."""
    questions: tuple[Question, ...]
    """In the order of deals and seats."""
    opponent: str | None = None
    """Who had the other seats; None where the agent had all."""
    spending: Spending = field(default_factory=Spending)
    """What the agent read and wrote."""

    @property
    def ks(self) -> list[int]:
        """Give the numbers of samples that are reported: powers of two, and all.

        >>> Repeats(6, ()).ks
        [1, 2, 4, 6]
        """
        powers = [2**i for i in range(self.samples.bit_length()) if 2**i <= self.samples]
        return sorted({*powers, self.samples})

    def pass_at(self, k: int) -> SuiteScore:
        """Chance that one of k plays is solved."""
        return self._mean(lambda q: pass_at_k(len(q.solved), sum(q.solved), k))

    def pass_hat(self, k: int) -> SuiteScore:
        """Chance that all k plays are solved."""
        return self._mean(lambda q: pass_hat_k(len(q.solved), sum(q.solved), k))

    def average(self) -> SuiteScore:
        """Mean share of plays that are solved: avg@k for any k."""
        return self._mean(lambda q: avg_at_k(len(q.solved), sum(q.solved), 1))

    def majority(self, k: int) -> SuiteScore | None:
        """Chance that the most frequent of k answers is right; None where nobody answers."""
        if not any(a is not None for q in self.questions for a in q.answers):
            return None
        return self._mean(lambda q: _majority(q, k))

    def to_dict(self) -> dict[str, Any]:
        """Give every estimate with its interval, as plain JSON values."""
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

    def _mean(self, estimate: Callable[[Question], float]) -> SuiteScore:
        values = [estimate(q) if q.solved else math.nan for q in self.questions]
        return suite_score(values, [q.deal for q in self.questions])


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

    Args:
        agent: who is measured; it has to sample, or all plays of a start are alike.
        env_id: registered environment.
        opponent: as in `evaluate`; None only where play is not a contest.
        samples: plays of each start from each seat.
        games: plays wanted in all, rounded up to whole questions and deals.
        seed: of the deals.
        env_options: arguments of the environment.
    """
    count("samples", samples), count("games", games)
    env, other = make(env_id, **(env_options or {})), opponent_agent(opponent)
    if other is None and is_contest(env):
        raise ConfigError(f"{env_id} is a contest: pass@k needs an opponent, not self-play")
    seats = [""] if other is None else list(env.possible_agents)
    deals = math.ceil(games / (samples * len(seats)))
    matches = list(_matches(env, seats, _deals(deals, seed), samples))
    players = {"agent": agent} | ({"opponent": other} if other else {})
    before = used(agent)
    episodes = [
        episode
        for start in range(0, len(matches), AT_ONCE)
        for episode in play(env_id, matches[start : start + AT_ONCE], players, env_options)
    ]
    spent = spending(episodes, "agent", before, used(agent))
    found = _questions(env, seats, matches, episodes, samples)
    return Repeats(samples, tuple(found), other.name if other else None, spent)


def plain(score: SuiteScore) -> dict[str, Any]:
    """Give a mean over questions as JSON values; None where it is undefined."""
    found = score.interval
    bounds = None if math.isnan(found.low) else [found.low, found.high]
    return {
        "value": None if math.isnan(found.point) else found.point,
        "interval": bounds,
        "scored": score.scored,
        "unscored": score.unscored,
        "clusters": found.runs,
    }


def is_solved(env: TextEnv, episode: Episode, seat: str, players: Mapping[str, str]) -> bool:
    """Tell whether a play counts as a success of the agent.

    Args:
        env: an environment with the arguments of the play.
        episode: a finished play.
        seat: where the agent sat; empty for every seat.
        players: seat -> player name.
    """
    if "success" in episode.outcome:
        return episode.outcome["success"] >= SOLVED
    rows = list(rows_of(env, episode, 0, players, "agent"))
    if is_contest(env):
        return all(row.result == 1 for row in rows if row.seat == seat)
    return all(row.score >= SOLVED * env.payoff_range[1] for row in rows)


def _deals(deals: int, seed: int) -> list[int]:
    drawn = np.random.default_rng([seed, 2]).choice(2**31, size=deals, replace=False, shuffle=False)
    return [int(s) for s in drawn]


def _matches(env: TextEnv, seats: Sequence[str], deals: Sequence[int], samples: int) -> Any:
    """Yield the plays question by question; streams tell plays of one deal apart."""
    others = "opponent" if seats[0] else "agent"
    for deal in deals:
        for number, seat in enumerate(seats):
            players = dict.fromkeys(env.possible_agents, others) | ({seat: "agent"} if seat else {})
            for sample in range(samples):
                yield Match(deal, players, number * samples + sample)


def _questions(
    env: TextEnv,
    seats: Sequence[str],
    matches: Sequence[Match],
    episodes: Sequence[Episode],
    samples: int,
) -> list[Question]:
    """Gather the plays of each question; plays that failed for outside reasons are left out."""
    found = []
    for number, start in enumerate(range(0, len(matches), samples)):
        seat = seats[number % len(seats)]
        plays = [
            (m, e)
            for m, e in zip(matches[start:][:samples], episodes[start:][:samples], strict=True)
            if e.stop is not Stop.ERROR
        ]
        solved = tuple(is_solved(env, e, seat, m.players) for m, e in plays)
        answers = tuple(e.outcome.get("answer") for _, e in plays)
        found.append(Question(matches[start].seed, seat, solved, answers))
    return found


def _majority(question: Question, k: int) -> float:
    """Vote; the answer of a solved play is the right one, and without any no vote is right."""
    right = {a for a, s in zip(question.answers, question.solved, strict=True) if s}
    right.discard(None)
    if not right:
        return 0.0 if len(question.answers) >= k else math.nan
    gold, *others = right
    answers = [gold if a in others else a for a in question.answers]
    return maj_at_k(answers, gold, k)
