"""A suite: every environment of a set, one after the other, and their totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, NoReplyError
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.metrics import Metric, metric
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.repeats import Repeats, repeat
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.totals import Totals, totals
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, DataError

KIND = "evaluation"
"""Kind of the folders that evaluations are kept in."""
PLAYED_INSTEAD = "return_vs_oracle"
"""What is measured where an agent gives no probabilities to be evaluated exactly by."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played."""

    games: int = 320
    """Episodes per environment, rounded up to whole starts."""
    seed: int = 0
    played: bool = False
    """Measure by payoffs alone, so that agents of all kinds can stand side by side."""
    samples: int = 0
    """Episodes of each start for pass@k, in episodes of their own; 0 for none."""
    env_options: Mapping[str, Any] = field(default_factory=dict)


def kept(results: ResultsFolder, name: str, compute: Callable[[], Measurement]) -> Measurement:
    """Return a measurement: read it where it was finished before, else compute and keep it."""
    found = results.part(name, lambda: compute().to_dict())
    try:
        return Measurement.from_dict(found)
    except ConfigError as error:
        place = results.place(name)
        raise DataError(f"{place} is damaged ({error}); remove it to measure again") from None


def run_suite(
    agent: Agent,
    env_ids: Sequence[str],
    settings: Settings,
    results: ResultsFolder,
    done: Callable[[Measurement], None] = lambda row: None,
    order: Sequence[str] | None = None,
) -> tuple[list[Measurement], Totals]:
    """Measure an agent in some environments; `order` says which are played first."""
    found = {}
    for env_id in env_ids if order is None else order:
        found[env_id] = kept(results, env_id, partial(_or_reason, agent, env_id, settings))
        done(found[env_id])
    rows = [found[env_id] for env_id in env_ids]
    return rows, totals(rows, np.random.default_rng(settings.seed))


def _or_reason(agent: Agent, env_id: str, settings: Settings) -> Measurement:
    """Measure; an environment that does not suit the agent is a row with its reason.

    So is one in which no episode could be finished. Servers that are down and disks that refuse
    are no property of the environment: they raise.
    """
    try:
        return measure(agent, env_id, settings)
    except (ConfigError, NoReplyError) as error:
        sampling = dict(agent.sampling_settings)
        return Measurement(env=env_id, metric="", failed=str(error), sampling=sampling)


def chosen_metric(agent: Agent, env_id: str, settings: Settings) -> Metric:
    """Return the primary metric; payoffs where an exact one is not wanted, or not to be had."""
    chosen = metric(env_id, settings.env_options)
    if chosen.name == "exploitability" and (settings.played or not agent.gives_probabilities):
        return metric(env_id, settings.env_options, PLAYED_INSTEAD)
    return chosen


def measure(agent: Agent, env_id: str, settings: Settings) -> Measurement:
    """Measure an agent by the primary metric of an environment.

    Exact metrics are accompanied by episodes against random, for the rates of forfeits and the
    like. An agent without probabilities is measured against the oracle instead. The pass@k family,
    where it was asked for, is in `details`.
    """
    games, chosen = settings.games, chosen_metric(agent, env_id, settings)
    found = chosen.accompanied(agent, games, settings.seed, games)
    if not settings.samples:
        return found
    repeats = _repeats(agent, env_id, settings)
    details = {**found.details, "repeats": repeats.to_dict()}
    return replace(found, details=details, usage=found.usage + repeats.usage)


def _repeats(agent: Agent, env_id: str, settings: Settings) -> Repeats:
    """Play every start several times: against random play in a contest, else in self-play.

    No agent beats an oracle, so a share of wins says nothing.
    """
    env = make(env_id, **settings.env_options)
    return repeat(
        agent.reseeded(settings.seed),
        env_id,
        "random" if is_contest(env) else None,
        samples=settings.samples,
        games=settings.games,
        seed=settings.seed,
        env_options=settings.env_options,
    )
