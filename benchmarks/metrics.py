"""The metric of each environment, and how its values are normalised.

exploitability      what a perfect opponent gains, exactly; less is better; needs probabilities
return_vs_oracle    mean payoff against the oracle, every start from each seat
return_vs_random    mean payoff against random play, every start from each seat
return_self_play    mean payoff of a seat when the agent has all of them
accuracy_self_play  mean of the episodes' own `accuracy` when it does: where the rules pay nothing

A score is normalised by the fixed references of its environment: (S - random) / (oracle - random),
unclipped. Where there are none a raw score exists and a normalised one is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exploitability
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.references import default_metric, references
from coevo.benchmarks.statistics.normalise import References, normalise
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.games.openspiel import OpenSpielTask

GAMES = 32
"""Episodes of a measurement on the way; ten times as many at the end."""
RETURNS: dict[str, str | None] = {
    "return_vs_oracle": "oracle",
    "return_vs_random": "random",
    "return_self_play": None,
}
"""Metrics that are mean payoffs -> who has the other seats; None is the agent itself."""
METRICS = ("exploitability", "accuracy_self_play", *RETURNS)
LESS_IS_BETTER = ("exploitability",)

OF_THE_VALUE = (
    *("metric", "higher_is_better", "value", "interval", "exact", "normalised"),
    *("normalised_interval", "references", "source"),
)
"""Fields of an exact measurement that episodes beside it do not change."""


@dataclass(frozen=True)
class Metric:
    """How one environment scores an agent."""

    name: str
    env_id: str
    env_options: Mapping[str, Any]
    references: References | None
    """Scores that count as 0 and 1; None where they are not known."""
    source: str

    @property
    def higher_is_better(self) -> bool:
        return self.name not in LESS_IS_BETTER

    @property
    def opponent(self) -> str | None:
        """Return who has the other seats of its episodes; None is the agent itself.

        The oracle of a game that is not OpenSpiel's is the environment's expert.
        """
        if self.name != "return_vs_oracle":
            return "random" if self.name == "exploitability" else RETURNS.get(self.name)
        ours = isinstance(make(self.env_id, **self.env_options).task, OpenSpielTask)
        return "oracle" if ours else "expert:1"

    def measure(self, agent: Agent, games: int = GAMES, seed: int = 0) -> Measurement:
        """Score an agent: a pure function of its weights, the starts and the seed.

        The agent's own generator is left alone. Exact metrics need no episodes. Episodes are
        rounded up so that each start is played from every seat.
        """
        found = replace(
            self._measured(agent, games, seed),
            env=self.env_id,
            agent=agent.name,
            metric=self.name,
            higher_is_better=self.higher_is_better,
            sampling=dict(agent.sampling_settings),
        )
        return found.scaled(self.references, self.source)

    def accompanied(self, agent: Agent, games: int, seed: int, beside: int) -> Measurement:
        """Score an agent; an exact value has the rates of some episodes, `beside` of them."""
        found = self.measure(agent, games, seed)
        if not found.exact:
            return found
        twin, options = agent.reseeded(seed), self.env_options
        played = evaluate(twin, self.env_id, self.opponent, beside, seed, options)
        return replace(played, **{name: getattr(found, name) for name in OF_THE_VALUE})

    def _measured(self, agent: Agent, games: int, seed: int) -> Measurement:
        env_id, options = self.env_id, self.env_options
        if self.name == "exploitability":
            return Measurement(value=self._exploitability(agent), exact=True)
        ready = agent.reseeded(seed)
        if self.name == "accuracy_self_play":
            return evaluate(ready, env_id, None, games, seed, options, outcome="accuracy")
        return evaluate(ready, env_id, self.opponent, games, seed, options)

    def _exploitability(self, agent: Agent) -> float:
        found = exploitability(agent, self.env_id, self.env_options).exploitability
        if found is None:
            given = dict(self.env_options)
            raise ConfigError(f"{self.env_id} with {given} is not constant-sum: no exploitability")
        return found

    def normalised(self, value: float) -> float:
        """Return (value - random) / (oracle - random), unclipped: 1 is the oracle either way.

        ConfigError where the environment has no references with these arguments.
        """
        if self.references is None:
            raise ConfigError(self.source)
        return float(normalise([value], *self.references)[0])


def metric(
    env_id: str, env_options: Mapping[str, Any] | None = None, name: str | None = None
) -> Metric:
    """Return the metric of an environment.

    Without a name it is the environment's primary metric. The references depend on the arguments.
    """
    options = dict(env_options or {})
    make(env_id, **options)  # a wrong argument is found here
    chosen = name or default_metric(env_id, options)
    if chosen not in METRICS:
        raise unknown("metric", chosen, METRICS)
    try:
        found, source = references(env_id, options, chosen)
    except ConfigError as missing:
        return Metric(chosen, env_id, options, None, str(missing))
    return Metric(chosen, env_id, options, found, source)
