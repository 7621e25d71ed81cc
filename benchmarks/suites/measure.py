"""One agent measured in one environment: a row of the table of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import Evaluation, evaluate, repeatable
from coevo.benchmarks.metrics import OPPONENTS, Metric, gives_probabilities, metric
from coevo.benchmarks.repeats import Repeats, repeat
from coevo.benchmarks.scores import is_contest
from coevo.benchmarks.spending import Spending
from coevo.envs import make
from coevo.envs.core.errors import ConfigError

PLAYED_INSTEAD = "return_vs_oracle"
"""What is measured where an agent gives no probabilities to be evaluated exactly by."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played."""

    games: int = 320
    """Plays per environment, rounded up to whole deals."""
    seed: int = 0
    """Of deals and sampling."""
    samples: int = 0
    """Plays of each start for pass@k, in plays of their own; 0 for none."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of every environment."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One row. Only plain JSON values, so that a row read back equals the row written."""

    env: str
    """Environment id."""
    metric: str = ""
    """What was measured."""
    higher_is_better: bool = True
    """False where 0 is best."""
    value: float | None = None
    """The score; None where the measurement failed."""
    interval: list[float] | None = None
    """95 % interval over deals; None for an exact value, or under two deals."""
    exact: bool = False
    """Whether the value is exact: then nothing is left to chance."""
    normalised: float | None = None
    """(value - random) / (oracle - random), unclipped; None without references."""
    normalised_interval: list[float] | None = None
    """The same for the interval, lower bound first."""
    references: dict[str, float] | None = None
    """What counts as 0 (random) and as 1 (oracle)."""
    source: str = ""
    """How the references were found, or why there are none."""
    opponent: str | None = None
    """Who had the other seats in the plays; None where the agent had all."""
    plays: int = 0
    """Plays that counted."""
    errors: int = 0
    """Plays left out because somebody could not answer."""
    forfeit_rate: float = 0.0
    """Share of plays that the agent forfeited."""
    illegal_rate: float = 0.0
    """Share of its replies that were not legal moves."""
    unparsed_rate: float = 0.0
    """Share of its replies in which no move could be read."""
    truncated_rate: float = 0.0
    """Share of plays that reached the limit of rounds."""
    sampling: dict[str, Any] = field(default_factory=dict)
    """Temperature and max_new_tokens of the agent; empty for scripts."""
    spending: dict[str, Any] = field(default_factory=lambda: asdict(Spending()))
    """Tokens, requests, cost; of the plays for pass@k too."""
    deal_scores: list[float] = field(default_factory=list)
    """Mean payoff on every deal of the plays."""
    repeats: dict[str, Any] | None = None
    """The pass@k family, where it was asked for: against random play in contests."""
    failed: str = ""
    """Why there is no value; empty where there is one."""


def measure(agent: Agent, env_id: str, settings: Settings) -> Measured:
    """Measure an agent by the primary metric of an environment.

    Exact metrics are accompanied by plays against random, for the rates of forfeits and the like.
    An agent without probabilities is measured against the oracle instead.
    """
    chosen = _metric(agent, env_id, settings)
    opponent = OPPONENTS.get(chosen.name, "random")
    played = evaluate(
        repeatable(agent, settings.seed),
        env_id,
        opponent,
        settings.games,
        settings.seed,
        settings.env_options,
        samples=0,
    )
    repeats = _repeats(agent, env_id, settings) if settings.samples else None
    exact = chosen.name not in OPPONENTS
    value = chosen.measure(agent) if exact else played.total.mean_return
    interval = None if exact or played.total.interval is None else list(played.total.interval)
    return Measured(
        env=env_id,
        metric=chosen.name,
        higher_is_better=chosen.higher_is_better,
        value=value,
        interval=interval,
        exact=exact,
        **_normalised(chosen, value, interval),
        **_rates(played),
        sampling=sampling_of(agent),
        deal_scores=list(played.deal_scores),
        repeats=None if repeats is None else repeats.to_dict(),
        spending=asdict(played.spending + (repeats.spending if repeats else Spending())),
    )


def measure_or_say_why(agent: Agent, env_id: str, settings: Settings) -> Measured:
    """Measure; an environment that does not suit the agent is a row with its reason.

    Servers that are down and disks that refuse are no property of the environment: they raise.
    """
    try:
        return measure(agent, env_id, settings)
    except ConfigError as error:
        return Measured(env=env_id, failed=str(error), sampling=sampling_of(agent))


def sampling_of(agent: Agent) -> dict[str, Any]:
    """Give temperature and longest reply of an agent; empty for agents that sample no tokens.

    Policies have a SamplingConfig, agents behind a server their settings.
    """
    policies = getattr(agent, "policies", None)
    if isinstance(policies, Mapping) and policies:
        return sampling_of(next(iter(policies.values())))
    config: Any = getattr(agent, "sampling", None) or getattr(agent, "settings", None)
    longest = getattr(config, "max_new_tokens", getattr(config, "max_tokens", None))
    if not hasattr(config, "temperature"):
        return {}
    return {"temperature": config.temperature, "max_new_tokens": longest}


def _metric(agent: Agent, env_id: str, settings: Settings) -> Metric:
    primary = metric(env_id, settings.env_options)
    if primary.name in OPPONENTS or gives_probabilities(agent):
        return primary
    return metric(env_id, settings.env_options, PLAYED_INSTEAD)


def _normalised(chosen: Metric, value: float, interval: list[float] | None) -> dict[str, Any]:
    if chosen.references is None:
        return {"source": chosen.source}
    bounds = None if interval is None else sorted(map(chosen.normalised, interval))
    return {
        "normalised": chosen.normalised(value),
        "normalised_interval": bounds,
        "references": chosen.references._asdict(),
        "source": chosen.source,
    }


def _rates(played: Evaluation) -> dict[str, Any]:
    return {
        "opponent": played.opponent,
        "plays": played.total.plays,
        "errors": played.errors,
        "forfeit_rate": played.total.forfeit_rate,
        "illegal_rate": played.total.illegal_rate,
        "unparsed_rate": played.unparsed_rate,
        "truncated_rate": played.truncated_rate,
    }


def _repeats(agent: Agent, env_id: str, settings: Settings) -> Repeats:
    """Play every start several times: against random play in a contest, else in self-play.

    Against an oracle nobody wins, and a share of wins says nothing.
    """
    env = make(env_id, **settings.env_options)
    return repeat(
        repeatable(agent, settings.seed),
        env_id,
        "random" if is_contest(env) else None,
        samples=settings.samples,
        games=settings.games,
        seed=settings.seed,
        env_options=settings.env_options,
    )
