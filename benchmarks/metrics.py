"""The one number by which an environment scores an agent, and what that number is worth.

exploitability      what a perfect opponent gains, exactly; less is better; needs probabilities
return_vs_oracle    mean payoff against the oracle, every deal from each seat
return_vs_random    mean payoff against random play, every deal from each seat
return_self_play    mean payoff of a seat when the agent has all of them
accuracy_self_play  mean of the plays' own `accuracy` when it does: where the rules pay nothing

A score is normalised by the fixed references of its environment: (S - random) / (oracle - random),
unclipped. Where there are none a raw score exists and a normalised one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate, repeatable
from coevo.benchmarks.exploitability import exploitability
from coevo.benchmarks.references import default_metric, references
from coevo.benchmarks.statistics.normalise import References, normalise
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.rollout import Match, play

GAMES = 32
"""Plays of a measurement on the way; ten times as many at the end."""

Options = Mapping[str, Any]
Measure = Callable[[Agent, str, Options, int, int], float]
"""(agent, environment, its arguments, games, seed) -> score."""


@dataclass(frozen=True)
class Metric:
    """How one environment scores an agent."""

    name: str
    """Key of `MEASURES`."""
    env_id: str
    """Registered environment."""
    env_options: Options
    """Arguments of the environment."""
    higher_is_better: bool
    """False where 0 is best."""
    references: References | None
    """Scores that count as 0 and 1; None where nobody worked them out."""
    source: str
    """How the references were found; without any, what is missing."""

    def measure(self, agent: Agent, games: int = GAMES, seed: int = 0) -> float:
        """Score an agent: a pure function of its weights, the deals and the seed.

        The agent's own generator is left alone. Exact metrics need no plays.

        Args:
            agent: who is measured.
            games: plays, rounded up so that each deal is played from every seat.
            seed: of deals and sampling.
        """
        return MEASURES[self.name](agent, self.env_id, self.env_options, games, seed)

    def normalised(self, value: float) -> float:
        """Give (value - random) / (oracle - random), unclipped: 1 is the oracle, either way round.

        Raises:
            ConfigError: the environment has no references with these arguments.
        """
        if self.references is None:
            raise ConfigError(self.source)
        return float(normalise([value], *self.references)[0])


def metric(env_id: str, env_options: Options | None = None, name: str | None = None) -> Metric:
    """Give the metric of an environment.

    Args:
        env_id: registered environment.
        env_options: arguments of the environment; the references depend on them.
        name: key of `MEASURES`; None takes the environment's primary metric.

    >>> kuhn = metric("coevo/kuhn_poker-v0")
    >>> kuhn.name, kuhn.higher_is_better, round(kuhn.normalised(11 / 48), 6)
    ('exploitability', False, 0.5)
    """
    options = dict(env_options or {})
    make(env_id, **options)  # a wrong argument is found here
    chosen = name or default_metric(env_id, options)
    if chosen not in MEASURES:
        raise unknown("metric", chosen, MEASURES)
    try:
        reference = references(env_id, options, chosen)
        found, source = reference.scores, reference.source
    except ConfigError as missing:
        found, source = None, str(missing)
    return Metric(chosen, env_id, options, chosen not in LESS_IS_BETTER, found, source)


def gives_probabilities(agent: Agent) -> bool:
    """Tell whether an agent can be evaluated exactly."""
    own = type(agent).probabilities is not Agent.probabilities
    return own or hasattr(agent, "move_logprobs")


def _exploitability(agent: Agent, env_id: str, options: Options, games: int, seed: int) -> float:
    found = exploitability(agent, env_id, options).exploitability
    if found is None:
        raise ConfigError(f"{env_id} with {dict(options)} is not constant-sum: no exploitability")
    return found


def _return_against(opponent: str | None) -> Measure:
    def measure(agent: Agent, env_id: str, options: Options, games: int, seed: int) -> float:
        ready = repeatable(agent, seed)
        return evaluate(ready, env_id, opponent, games, seed, options, samples=0).total.mean_return

    return measure


def _accuracy(agent: Agent, env_id: str, options: Options, games: int, seed: int) -> float:
    seats = make(env_id, **options).possible_agents
    seeds = np.random.default_rng(seed).integers(2**31, size=games)
    matches = [Match(int(s), dict.fromkeys(seats, "agent"), i) for i, s in enumerate(seeds)]
    plays = play(env_id, matches, {"agent": repeatable(agent, seed)}, options)
    found = [p.outcome["accuracy"] for p in plays if "accuracy" in p.outcome]
    if not found:
        raise ConfigError(f"plays of {env_id} say nothing of an accuracy; use another metric")
    return float(np.mean(found))


OPPONENTS: dict[str, str | None] = {
    "return_vs_oracle": "oracle",
    "return_vs_random": "random",
    "return_self_play": None,
}
"""Metrics that are mean payoffs -> who has the other seats; None is the agent itself."""
MEASURES: dict[str, Measure] = {
    "exploitability": _exploitability,
    "accuracy_self_play": _accuracy,
    **{name: _return_against(opponent) for name, opponent in OPPONENTS.items()},
}
"""Every metric by name."""
LESS_IS_BETTER = ("exploitability",)
