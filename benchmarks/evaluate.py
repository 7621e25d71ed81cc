"""Head-to-head scores: both seats, the same start states, payoffs of the rules alone.

What an episode counts for is defined in `coevo.benchmarks.outcomes`. Episodes that failed for
outside reasons are left out and counted. Agents that sample draw from their own generators: an
evaluation that must be repeatable is given `agent.reseeded(seed)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.strategies.oracle import solve
from coevo.benchmarks.exact import exploitability
from coevo.benchmarks.measurement import RATES, Measurement, mean_and_interval, of_outcomes
from coevo.benchmarks.outcomes import is_contest, outcomes
from coevo.benchmarks.rollouts import opponent_agent, play, task_seeds
from coevo.benchmarks.statistics.social import social_outcomes
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.trainers.collect.rollout import EpisodeSpec


def evaluate(
    agent: Agent,
    env_id: str,
    opponent: Agent | str | None = "random",
    games: int = 200,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
    outcome: str = "",
) -> Measurement:
    """Play an agent against another, every start state once from each seat.

    The opponent, an agent or the name of one without a model, has all other seats; None lets the
    agent have all of them (self-play). Against an opponent `games` is rounded up to a multiple of
    the number of seats. Equal seeds give equal starts to every agent. `outcome` names what episodes
    say of themselves, such as `accuracy`, to be averaged in the place of payoffs.
    """
    if games < 1:
        raise ConfigError(f"games={games} must be at least 1")
    env = make(env_id, **(env_options or {}))
    other = opponent_agent(opponent)
    specs = _specs(env.possible_agents, games, seed, self_play=other is None)
    players = {"agent": agent} | ({"opponent": other} if other else {})
    played = play(env_id, specs, players, env_options)
    finished, contest = played.finished, is_contest(env)
    found = [o for s, e in finished for o in outcomes(env, e, s.seed, s.players, "agent")]
    seats = {s: [o for o in found if o.seat == s] for s in env.possible_agents}
    usage = played.usage
    measured = replace(
        of_outcomes(found, contest and other is not None),
        env=env_id,
        agent=agent.name,
        opponent=other.name if other else None,
        errors=len(specs) - len(finished),
        truncated_rate=float(np.mean([e.stop is StopReason.TURN_LIMIT for _, e in finished])),
        mean_turns=float(np.mean([len(e.turns) for _, e in finished])),
        sampling=dict(agent.sampling_settings),
        mean_tokens=usage.tokens / len(finished),
        usage=usage,
        seats={
            s: replace(of_outcomes(own, contest), task_scores=()) for s, own in seats.items() if own
        },
        details=_details([e for _, e in finished], contest),
    )
    return _by_outcome(measured, outcome, [e for _, e in finished]) if outcome else measured


def _details(episodes: Sequence[Episode], contest: bool) -> dict[str, Any]:
    """Return the means of what episodes say of themselves, and social outcomes where none wins."""
    own: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.outcome.items():
            if not name.startswith("return/") and name not in ("unread", "near_misses"):
                own.setdefault(name, []).append(float(value))
    found: dict[str, Any] = {} if contest else {"social": social_outcomes(episodes)}
    means = {name: float(np.mean(values)) for name, values in own.items()}
    return found | ({"outcome": means} if means else {})


def _by_outcome(found: Measurement, name: str, episodes: Sequence[Episode]) -> Measurement:
    scores = [float(e.outcome[name]) for e in episodes if name in e.outcome]
    if not scores:
        raise ConfigError(f"episodes of {found.env} say nothing of {name}; use another metric")
    value, interval = mean_and_interval(scores)
    return replace(found, value=value, interval=interval, task_scores=tuple(scores), seats={})


def _specs(seats: Sequence[str], games: int, seed: int, *, self_play: bool) -> list[EpisodeSpec]:
    seeds = task_seeds(games if self_play else math.ceil(games / len(seats)), seed)
    if self_play:
        return [EpisodeSpec(s, dict.fromkeys(seats, "agent")) for s in seeds]
    return [
        EpisodeSpec(s, {**dict.fromkeys(seats, "opponent"), seat: "agent"}, stream)
        for s in seeds
        for stream, seat in enumerate(seats)
    ]


def standard_table(
    agent: Agent,
    env_id: str,
    start_agent: Agent | None = None,
    games: int = 200,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
) -> dict[str, float | str | None]:
    """Return the usual row about one agent; None where a number does not exist here.

    Returns:
        exploitability; win_rate_vs_random and win_rate_vs_start, draws counted half;
        return_vs_oracle, and in `oracle` how that one plays; return_self_play, where play is not
        a contest; forfeit_rate, unread_rate and the other `RATES`, averaged over these opponents.
    """
    env = make(env_id, **(env_options or {}))
    oracle = oracle_of(env)
    opponents: dict[str, Agent | str | None] = {"random": "random"}
    opponents |= {} if is_contest(env) else {"self": None}
    opponents |= {} if start_agent is None else {"start": start_agent}
    opponents |= {} if oracle is None else {"oracle": "oracle"}
    found = {
        name: evaluate(agent, env_id, other, games, seed, env_options)
        for name, other in opponents.items()
    }
    return {
        "exploitability": _exploitability(agent, env_id, env_options),
        "win_rate_vs_random": found["random"].score,
        "win_rate_vs_start": found["start"].score if "start" in found else None,
        "return_vs_oracle": found["oracle"].value if "oracle" in found else None,
        "oracle": oracle,
        "return_self_play": found["self"].value if "self" in found else None,
        **{name: sum(getattr(m, name) for m in found.values()) / len(found) for name in RATES},
    }


def oracle_of(env: TextEnv) -> str | None:
    """Return how the oracle of an environment plays; None if there is none."""
    if not isinstance(env.task, OpenSpielTask):
        return None
    try:
        return solve(str(env.task.game)).label
    except ConfigError:
        return None


def _exploitability(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None
) -> float | None:
    try:
        return exploitability(agent, env_id, env_options).exploitability
    except ConfigError:
        return None
