"""Head-to-head scores: both seats, the same deals, payoffs of the rules alone.

What a play counts for is defined in `coevo.benchmarks.scores`. Plays that failed for outside
reasons are left out and counted. Agents that sample draw from their own generators: reseed them
before an evaluation that must be repeatable.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coevo.agents import SCRIPTED
from coevo.agents.agent import Agent
from coevo.agents.oracle import solve
from coevo.benchmarks.exploitability import exploitability
from coevo.benchmarks.scores import Score, deal_means, is_contest, rows_of, score
from coevo.benchmarks.spending import Spending, spending, used
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.parsing import Status
from coevo.envs.games.openspiel import OpenSpielEnv
from coevo.trainers.rollout import Match, play

AT_ONCE = 256
"""Plays that run side by side."""


@dataclass(frozen=True)
class Evaluation:
    """One agent measured in one environment."""

    env: str
    """Environment id."""
    agent: str
    """Name of the agent."""
    opponent: str | None
    """Name of whoever had the other seats; None where the agent had all of them."""
    total: Score
    """Over all seats."""
    seats: dict[str, Score]
    """By the agent's seat."""
    mean_turns: float
    """Replies per play, of all seats together."""
    truncated_rate: float
    """Share of plays that reached the limit of rounds."""
    errors: int
    """Plays left out because somebody could not answer."""
    unparsed_rate: float
    """Share of the agent's replies in which no move could be read."""
    spending: Spending
    """What the agent read and wrote."""
    deal_scores: tuple[float, ...]
    """Mean score of the agent on each deal: the independent values behind the interval."""
    samples: tuple[Episode, ...]
    """The first plays, for reading."""

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the plays and the scores of single deals, as plain JSON values."""
        table = asdict(self)
        del table["samples"], table["deal_scores"]
        return table


def evaluate(
    agent: Agent,
    env_id: str,
    opponent: Agent | str | None = "random",
    games: int = 200,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
    samples: int = 4,
) -> Evaluation:
    """Play an agent against another, every deal once from each seat.

    Args:
        agent: who is measured.
        env_id: registered environment.
        opponent: has all other seats; an agent, a name of `SCRIPTED`, or None: the agent has
            all seats (self-play).
        games: plays wanted; against an opponent rounded up to a multiple of the number of seats.
        seed: of the deals; equal seeds give equal deals to every agent.
        env_options: arguments of the environment.
        samples: plays to keep in the result.

    Raises:
        ConfigError: games is under 1, or no play could be finished.
    """
    if games < 1:
        raise ConfigError(f"games={games} must be at least 1")
    env = make(env_id, **(env_options or {}))
    other = opponent_agent(opponent)
    matches = _matches(env.possible_agents, games, seed, self_play=other is None)
    players = {"agent": agent} | ({"opponent": other} if other else {})
    before = used(agent)
    episodes = [
        episode
        for start in range(0, len(matches), AT_ONCE)
        for episode in play(env_id, matches[start : start + AT_ONCE], players, env_options)
    ]
    spent = spending(episodes, "agent", before, used(agent))
    return _summary(env, agent, other, matches, episodes, samples, spent)


def repeatable(agent: Agent, seed: int) -> Agent:
    """Give an agent whose next replies are a function of the seed; the given one is left alone.

    Args:
        agent: a language model or several of them gets a twin with the same weights and a
            generator of its own; anybody else is given back, for scripts draw from their play.
        seed: of sampling.
    """
    if not hasattr(agent, "reseed"):
        return agent
    twin: Any = copy.copy(agent)
    policies = getattr(agent, "policies", None)
    if isinstance(policies, Mapping):
        twin.policies = {name: copy.copy(policy) for name, policy in policies.items()}
    twin.reseed(seed)
    if hasattr(twin, "forget"):
        twin.forget()
    return twin


def standard_table(
    agent: Agent,
    env_id: str,
    seed_agent: Agent | None = None,
    games: int = 200,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
) -> dict[str, float | str | None]:
    """Give the usual row about one agent; None where a number does not exist here.

    Args:
        agent: who is measured.
        env_id: registered environment.
        seed_agent: what the agent was before training.
        games: plays per opponent.
        seed: of the deals.
        env_options: arguments of the environment.

    Returns:
        exploitability; win_rate_vs_random and win_rate_vs_seed, draws counted half;
        return_vs_oracle, and in `oracle` how that one plays; return_self_play, where play is not
        a contest; forfeit_rate, averaged over these opponents.
    """
    env = make(env_id, **(env_options or {}))

    def against(other: Agent | str | None) -> Score:
        return evaluate(agent, env_id, other, games, seed, env_options, samples=0).total

    scores = {"random": against("random")}
    if not is_contest(env):
        scores["self"] = against(None)
    if seed_agent is not None:
        scores["seed"] = against(seed_agent)
    oracle = _oracle(env)
    if oracle is not None:
        scores["oracle"] = against("oracle")
    return {
        "exploitability": _exploitability(agent, env_id, env_options),
        "win_rate_vs_random": scores["random"].points,
        "win_rate_vs_seed": scores["seed"].points if "seed" in scores else None,
        "return_vs_oracle": scores["oracle"].mean_return if "oracle" in scores else None,
        "oracle": oracle,
        "return_self_play": scores["self"].mean_return if "self" in scores else None,
        "forfeit_rate": sum(s.forfeit_rate for s in scores.values()) / len(scores),
    }


def opponent_agent(given: Agent | str | None) -> Agent | None:
    """Give the agent behind a name of `SCRIPTED`; agents and None are given back."""
    if not isinstance(given, str):
        return given
    if given not in SCRIPTED:
        raise unknown("opponent", given, SCRIPTED)
    return SCRIPTED[given]()


def _matches(seats: Sequence[str], games: int, seed: int, *, self_play: bool) -> list[Match]:
    """Give every deal once per seat of the agent; once in self-play."""
    deals = games if self_play else math.ceil(games / len(seats))
    seeds = np.random.default_rng([seed, 2]).choice(2**31, size=deals, replace=False, shuffle=False)
    if self_play:
        return [Match(int(s), dict.fromkeys(seats, "agent")) for s in seeds]
    return [
        Match(int(s), {**dict.fromkeys(seats, "opponent"), seat: "agent"}, stream)
        for s in seeds
        for stream, seat in enumerate(seats)
    ]


def _summary(
    env: TextEnv,
    agent: Agent,
    other: Agent | None,
    matches: Sequence[Match],
    episodes: Sequence[Episode],
    samples: int,
    spent: Spending,
) -> Evaluation:
    played = [(m, e) for m, e in zip(matches, episodes, strict=True) if e.stop is not Stop.ERROR]
    if not played:
        raise ConfigError(f"none of {len(episodes)} plays could be finished: {episodes[0].note}")
    rows = [row for m, e in played for row in rows_of(env, e, m.seed, m.players, "agent")]
    contest = is_contest(env)
    seats = {s: [r for r in rows if r.seat == s] for s in env.possible_agents}
    return Evaluation(
        env=str(env),
        agent=agent.name,
        opponent=other.name if other else None,
        total=score(rows, contest and other is not None),
        seats={s: score(own, contest) for s, own in seats.items() if own},
        mean_turns=float(np.mean([len(e.turns) for _, e in played])),
        truncated_rate=float(np.mean([e.stop is Stop.TURN_LIMIT for _, e in played])),
        errors=len(episodes) - len(played),
        unparsed_rate=_unparsed([e for _, e in played]),
        spending=spent,
        deal_scores=tuple(deal_means(rows)),
        samples=tuple(episodes[:samples]),
    )


def _unparsed(episodes: Sequence[Episode]) -> float:
    said = [t.status for e in episodes for t in e.turns if t.player == "agent"]
    return sum(status is Status.UNPARSABLE for status in said) / max(len(said), 1)


def _oracle(env: TextEnv) -> str | None:
    """Say how the oracle of an environment plays; None if there is none."""
    if not isinstance(env, OpenSpielEnv):
        return None
    try:
        return solve(str(env.game)).label
    except ConfigError:
        return None


def _exploitability(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None
) -> float | None:
    try:
        return exploitability(agent, env_id, env_options).exploitability
    except ConfigError:
        return None
