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
from coevo.benchmarks.evaluate import evaluate, opponent_agent, repeatable
from coevo.benchmarks.exploitability import exact_payoffs
from coevo.benchmarks.metrics import gives_probabilities, metric
from coevo.benchmarks.repeats import plain
from coevo.benchmarks.scores import is_contest
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.errors import suite_score
from coevo.benchmarks.statistics.generations import (
    PERCENTILES,
    Ancestry,
    Generations,
    ancestry,
    generation_table,
    nash_reference,
)
from coevo.benchmarks.suites.measure import Measured, Settings, measure
from coevo.benchmarks.suites.results import Results
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError


@dataclass(frozen=True)
class Change:
    """What became of the metric between two generations."""

    first: str
    """The earlier one."""
    last: str
    """The later one."""
    difference: float
    """Later minus earlier."""
    interval: list[float] | None
    """Its 95 % interval over the deals that both played; None for an exact difference."""
    better: bool | None
    """Whether the later one is better; None where the interval holds 0."""


@dataclass(frozen=True)
class Series:
    """A series of generations, oldest first."""

    names: tuple[str, ...]
    """Generations."""
    scores: tuple[Measured, ...]
    """Each by the environment's metric."""
    opponents: tuple[str, ...]
    """The fixed opponents."""
    returns_GC: Array
    """Mean payoff of each generation on each cell (opponent, seat), cells in this order."""
    table: Generations | None
    """Percentiles over the cells; None where no cell ever paid anything."""
    points_GG: Array | None
    """Share of the row against the column: its payoff from the lowest (0) to the highest (1) of a
    zero-sum game, points elsewhere; None where play is no contest."""
    ancestry: Ancestry | None
    """Against earlier generations; None where play is no contest."""
    change: Change
    """From the first to the last."""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON values; NaN becomes None."""
        found: dict[str, Any] = {
            "generations": list(self.names),
            "scores": [asdict(s) for s in self.scores],
            "opponents": list(self.opponents),
            "returns": self.returns_GC.tolist(),
            "points": None if self.points_GG is None else self.points_GG.tolist(),
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
    results: Results,
    opponents: Mapping[str, Agent | str],
    done: Callable[[str], None] | None = None,
) -> Series:
    """Score a series of checkpoints.

    Args:
        agents: generation -> agent, oldest first.
        env_id: registered environment.
        settings: what is played: `games` per generation and metric, per opponent and per pair.
        results: keeps every part as it is finished.
        opponents: name -> fixed opponent.
        done: told the name of each finished part.

    Raises:
        ConfigError: there are fewer than two generations, or no opponents.
    """
    if len(agents) < 2 or not opponents:
        raise ConfigError(
            f"a series needs two generations and an opponent; got {len(agents)} generations "
            f"and {len(opponents)} opponents"
        )

    def part(name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        found = results.part(name, compute)
        if done is not None:
            done(name)
        return found

    def meet(one: str, two: str, other: Agent | str) -> dict[str, Any]:
        name = f"{one}-against-{two}"
        return part(name, lambda: _meeting(agents[one], other, env_id, settings, name))

    def scored(name: str) -> Measured:
        return Measured(
            **part(f"score-{name}", lambda: asdict(measure(agents[name], env_id, settings)))
        )

    names = tuple(agents)
    scores = tuple(scored(name) for name in names)
    env = make(env_id, **settings.env_options)
    fixed = [[meet(n, o, other) for o, other in opponents.items()] for n in names]
    returns = np.array([[v for cell in row for v in cell["seats"].values()] for row in fixed])
    points = _cross_play(agents, env, meet) if is_contest(env) else None
    series = Series(
        names,
        scores,
        tuple(opponents),
        returns,
        _table(returns, env.payoff_range),
        points,
        None if points is None else ancestry(points),
        change_between(scores[0], scores[-1], (names[0], names[-1])),
    )
    results.finish(series.to_dict())
    return series


def change_between(first: Measured, last: Measured, names: tuple[str, str]) -> Change:
    """Compare two measurements of one environment, deal by deal where they were played."""
    if first.value is None or last.value is None:
        raise ConfigError(f"{names[0]} and {names[1]} cannot be compared: one has no score")
    sign = 1 if first.higher_is_better else -1
    if first.exact and last.exact:
        gap = last.value - first.value
        return Change(*names, gap, None, None if gap == 0 else sign * gap > 0)
    if len(first.deal_scores) != len(last.deal_scores):
        raise ConfigError(f"{names[0]} and {names[1]} finished different deals: nothing pairs them")
    found = plain(suite_score(np.subtract(last.deal_scores, first.deal_scores).tolist()))
    bounds = found["interval"]
    decided = bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
    better = sign * found["value"] > 0 if decided else None
    return Change(*names, found["value"], bounds, better)


def _meeting(
    agent: Agent, other: Agent | str, env_id: str, settings: Settings, name: str
) -> dict[str, Any]:
    """Let an agent meet another: exactly where the game allows, else on the deals of the seed.

    Both sample from generators of their own, which are others in every meeting: luck that all
    meetings shared would look like a trend.
    """
    rival = opponent_agent(other)
    if rival is not None and _exact(env_id, settings, agent, rival):
        pair = exact_payoffs(agent, rival, env_id, settings.env_options)
        seats = dict(zip(make(env_id, **settings.env_options).possible_agents, pair, strict=True))
        return {"exact": True, "mean_return": sum(pair) / 2, "points": None, "seats": seats}
    stream = settings.seed + zlib.crc32(name.encode())
    played = evaluate(
        repeatable(agent, stream),
        env_id,
        None if rival is None else repeatable(rival, stream + 1),
        settings.games,
        settings.seed,
        settings.env_options,
        samples=0,
    )
    return {
        "exact": False,
        "mean_return": played.total.mean_return,
        "points": played.total.points,
        "seats": {seat: score.mean_return for seat, score in played.seats.items()},
    }


def _exact(env_id: str, settings: Settings, agent: Agent, rival: Agent) -> bool:
    small = metric(env_id, settings.env_options).name == "exploitability"
    return small and gives_probabilities(agent) and gives_probabilities(rival)


def _cross_play(
    agents: Mapping[str, Agent],
    env: TextEnv,
    meet: Callable[[str, str, Agent | str], dict[str, Any]],
) -> Array:
    """Let every generation play every earlier one; the diagonal is 1/2.

    In a zero-sum game the payoff counts, scaled to 0..1: that is points where a game is won or
    lost, and more than points where winning often may cost more than it brings, as in poker.
    """
    names = list(agents)
    points = np.full((len(names), len(names)), 0.5)
    for early, late in itertools.combinations(range(len(names)), 2):
        found = meet(names[late], names[early], agents[names[early]])
        low, high = env.payoff_range
        share = (found["mean_return"] - low) / (high - low) if env.zero_sum else found["points"]
        points[late, early], points[early, late] = share, 1 - share
    return points


def _table(returns_GC: Array, payoff_range: tuple[float, float]) -> Generations | None:
    """Shift payoffs so that the worst is 0; cells that pay nobody anything are left out."""
    scores = np.maximum(returns_GC - payoff_range[0], 0.0)
    alike = bool((scores == scores[0]).all())
    reference = scores[0] if alike else nash_reference(scores)
    paying = reference > 1e-12
    return generation_table(scores[:, paying], reference[paying]) if paying.any() else None
