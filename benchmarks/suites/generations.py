"""A series of checkpoints of one run: is a later one better?

Three views, because each alone can deceive: the environment's metric, generation by generation;
games against fixed opponents, in percentiles over (opponent, seat) cells; and games against all
earlier generations, where a policy that has forgotten how to beat an old self is found out.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.measurement import Measurement, mean_and_interval
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.rollouts import opponent_agent
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.generations import (
    PERCENTILES,
    Ancestry,
    Generations,
    ancestry,
    generation_table,
    nash_reference,
)
from coevo.benchmarks.suites.suite import Settings, kept, measure
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError


@dataclass(frozen=True)
class Change:
    """What became of the metric between two generations."""

    first: str
    last: str
    difference: float
    interval: list[float] | None
    """Its 95 % interval over the starts that both played; None for an exact difference."""
    better: bool | None
    """Whether the later one is better; None where the interval holds 0."""


@dataclass(frozen=True)
class GenerationSeries:
    """A series of generations, oldest first."""

    names: tuple[str, ...]
    scores: tuple[Measurement, ...]
    opponents: tuple[str, ...]
    returns_GC: Array
    """Mean payoff of each generation on each cell (opponent, seat), cells in this order."""
    table: Generations | None
    """Percentiles over the cells; None where no cell has any payoff."""
    score_GG: Array | None
    """Share of the row against the column: its payoff from the lowest (0) to the highest (1) of a
    zero-sum game, the score elsewhere; None where an episode is no contest."""
    ancestry: Ancestry | None
    """Against earlier generations; None where an episode is no contest."""
    change: Change

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; NaN becomes None."""
        found: dict[str, Any] = {
            "generations": list(self.names),
            "scores": [s.to_dict() for s in self.scores],
            "opponents": list(self.opponents),
            "returns": self.returns_GC.tolist(),
            "head_to_head": None if self.score_GG is None else self.score_GG.tolist(),
            "change": asdict(self.change),
            "verdict": self.verdict,
        }
        if self.table is not None:
            found["percentiles"] = dict(
                zip(map(str, PERCENTILES), self.table.percentiles.T.tolist(), strict=True)
            )
            found["participation"] = self.table.participation.tolist()
            found["dominates"] = list(self.table.dominates)
        if self.ancestry is not None:
            found["ancestry"] = {
                name: [None if math.isnan(v) else v for v in values]
                for name, values in self.ancestry._asdict().items()
            }
            found["generation_over_generation"] = self.ancestry.score
        return found

    @property
    def verdict(self) -> str:
        """Say in one sentence whether the last generation is better than the first."""
        change, metric = self.change, self.scores[0].metric
        size = f"{metric} {change.difference:+.4g}"
        if change.interval is not None:
            size += f" [{change.interval[0]:+.4g}, {change.interval[1]:+.4g}]"
        if change.better is None:
            return f"no difference detected between {change.first} and {change.last} ({size})"
        word = "better" if change.better else "worse"
        return f"{change.last} is {word} than {change.first} ({size})"


def run_generations(
    agents: Mapping[str, Agent],
    env_id: str,
    settings: Settings,
    results: ResultsFolder,
    opponents: Mapping[str, Agent | str],
    done: Callable[[str], None] = lambda name: None,
) -> GenerationSeries:
    """Score a series of checkpoints.

    Agents are oldest first; `games` of the settings are played per generation and metric, per
    opponent and per pair. ConfigError for fewer than two generations, or no opponents.
    """
    if len(agents) < 2 or not opponents:
        raise ConfigError(
            f"a series needs two generations and an opponent; got {len(agents)} generations "
            f"and {len(opponents)} opponents"
        )

    def play(one: str, two: str, other: Agent | str) -> dict[str, Any]:
        name = f"{one}-against-{two}"
        found = results.part(name, lambda: _pairing(agents[one], other, env_id, settings, name))
        done(name)
        return found

    def scored(name: str) -> Measurement:
        found = kept(results, f"score-{name}", lambda: measure(agents[name], env_id, settings))
        done(f"score-{name}")
        return found

    names = tuple(agents)
    scores = tuple(scored(name) for name in names)
    env = make(env_id, **settings.env_options)
    fixed = [[play(n, o, other) for o, other in opponents.items()] for n in names]
    returns = np.array([[v for cell in row for v in cell["seats"].values()] for row in fixed])
    shares = _cross_play(agents, env, play) if is_contest(env) else None
    return GenerationSeries(
        names,
        scores,
        tuple(opponents),
        returns,
        _table(returns, env.payoff_range),
        shares,
        None if shares is None else ancestry(shares),
        change_between(scores[0], scores[-1], (names[0], names[-1])),
    )


def change_between(first: Measurement, last: Measurement, names: tuple[str, str]) -> Change:
    """Compare two measurements of one environment, start by start where they were played."""
    if first.value is None or last.value is None:
        raise ConfigError(f"{names[0]} and {names[1]} cannot be compared: one has no score")
    sign = 1 if first.higher_is_better else -1
    if first.exact and last.exact:
        gap = last.value - first.value
        return Change(*names, gap, None, None if gap == 0 else sign * gap > 0)
    if len(first.task_scores) != len(last.task_scores):
        raise ConfigError(f"{names[0]} and {names[1]} finished different tasks: nothing pairs them")
    gap, bounds = mean_and_interval(np.subtract(last.task_scores, first.task_scores).tolist())
    decided = bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
    better = sign * gap > 0 if decided else None
    return Change(*names, gap, None if bounds is None else list(bounds), better)


def _pairing(
    agent: Agent, other: Agent | str, env_id: str, settings: Settings, name: str
) -> dict[str, Any]:
    """Let an agent play another: exactly where the game allows, else on the starts of the seed.

    Both sample from generators of their own, which are others in every pairing: luck that all
    pairings shared would look like a trend.
    """
    rival = opponent_agent(other)
    assert rival is not None  # a series has opponents
    if _exact(env_id, settings, agent, rival):
        pair = exact_payoffs(agent, rival, env_id, settings.env_options)
        seats = dict(zip(make(env_id, **settings.env_options).possible_agents, pair, strict=True))
        return {"exact": True, "mean_return": sum(pair) / 2, "score": None, "seats": seats}
    stream = settings.seed + zlib.crc32(name.encode())
    played = evaluate(
        agent.reseeded(stream),
        env_id,
        rival.reseeded(stream + 1),
        settings.games,
        settings.seed,
        settings.env_options,
    )
    seats = {seat: float(own.value or 0.0) for seat, own in played.seats.items()}
    found = {"exact": False, "mean_return": played.value, "score": played.score}
    return found | {"seats": seats}


def _exact(env_id: str, settings: Settings, agent: Agent, rival: Agent) -> bool:
    small = metric(env_id, settings.env_options).name == "exploitability"
    return small and agent.gives_probabilities and rival.gives_probabilities


def _cross_play(
    agents: Mapping[str, Agent],
    env: TextEnv,
    play: Callable[[str, str, Agent | str], dict[str, Any]],
) -> Array:
    """Let every generation play every earlier one; the diagonal is 1/2.

    In a zero-sum game the payoff counts, scaled to 0..1: that is the score where a game is won or
    lost, and more than it where winning often may cost more than it brings, as in poker.
    """
    names = list(agents)
    shares = np.full((len(names), len(names)), 0.5)
    for early, late in itertools.combinations(range(len(names)), 2):
        found = play(names[late], names[early], agents[names[early]])
        low, high = env.payoff_range
        share = (found["mean_return"] - low) / (high - low) if env.zero_sum else found["score"]
        shares[late, early], shares[early, late] = share, 1 - share
    return shares


def _table(returns_GC: Array, payoff_range: tuple[float, float]) -> Generations | None:
    """Shift payoffs so that the worst is 0; cells without any payoff are left out."""
    scores = np.maximum(returns_GC - payoff_range[0], 0.0)
    alike = bool((scores == scores[0]).all())
    reference = scores[0] if alike else nash_reference(scores)
    paying = reference > 1e-12
    return generation_table(scores[:, paying], reference[paying]) if paying.any() else None
