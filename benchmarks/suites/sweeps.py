"""Robustness sweeps: the same agent in ever less familiar settings, without further training.

players    more players at the table
payoffs    the same moves with other payoffs
partners   other partners or opponents than itself

Every level is scored between random play (0) and a best response (1) at that level, computed
exactly; the curve over the levels has a worst case and an area. A new sweep is one line in
`SWEEPS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.registry import scripted
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import against
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.statistics.adaptability import SeverityCurve, severity_curve
from coevo.benchmarks.statistics.normalise import References
from coevo.benchmarks.suites.suite import Settings, kept
from coevo.envs.core.errors import ConfigError, unknown

SELF = "self"
"""In place of an agent: the agent has all seats."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """One setting of a sweep."""

    severity: float
    """How far it is from the first one."""
    label: str
    env_id: str
    env_options: Mapping[str, Any] = field(default_factory=dict)
    other: str = "random"
    """Who has the other seats: an agent without a model, or `self`."""

    def references(self) -> References:
        """Return what counts as 0 and 1 here.

        ConfigError where the game is too large to say.
        """
        if self.other == SELF:
            found = metric(self.env_id, self.env_options, "return_self_play")
            if found.references is None:
                raise ConfigError(found.source)
            return found.references
        return against(self.env_id, self.env_options, scripted(self.other))


def run_sweep(
    agent: Agent,
    levels: tuple[Level, ...],
    settings: Settings,
    results: ResultsFolder,
    done: Callable[[Measurement], None] = lambda row: None,
) -> tuple[list[Measurement], SeverityCurve]:
    """Measure an agent at every level of a sweep.

    Levels are by growing severity; arguments in the settings are added to theirs. Label and
    severity of a measurement stand in its `details`.
    """
    rows: list[Measurement] = []
    for level in levels:
        name = f"{level.severity:g}-{level.label}"
        rows.append(kept(results, name, partial(_at, agent, level, settings)))
        done(rows[-1])
    curve = severity_curve([x.severity for x in levels], [r.normalised or 0.0 for r in rows])
    return rows, curve


def _at(agent: Agent, level: Level, settings: Settings) -> Measurement:
    references = level.references()
    found = evaluate(
        agent.reseeded(settings.seed),
        level.env_id,
        None if level.other == SELF else level.other,
        settings.games,
        settings.seed,
        {**settings.env_options, **level.env_options},
    )
    details = {"label": level.label, "severity": level.severity}
    return replace(found, opponent=level.other, details=details).scaled(references)


def sweep(name: str, env_id: str | None = None) -> tuple[Level, ...]:
    """Look a sweep up; without an environment take the first one that has it."""
    named = {env: levels for (found, env), levels in SWEEPS.items() if found == name}
    if not named:
        raise unknown("axis", name, {found for found, _ in SWEEPS})
    if env_id is None:
        return next(iter(named.values()))
    if env_id not in named:
        raise ConfigError(f"no axis {name!r} for {env_id}; it exists for {', '.join(named)}")
    return named[env_id]


def _players(numbers: range) -> tuple[Level, ...]:
    return tuple(
        Level(
            severity=n - numbers[0],
            label=f"{n} players",
            env_id="coevo/openspiel-v0",
            env_options={"game": f"kuhn_poker(players={n})"},
        )
        for n in numbers
    )


def _payoffs() -> tuple[Level, ...]:
    game = "goofspiel(num_cards=4,points_order=descending,returns_type={})"
    kinds = {"win_loss": "win or lose", "point_difference": "margin", "total_points": "own points"}
    return tuple(
        Level(
            severity=i,
            label=label,
            env_id="coevo/goofspiel-v0",
            env_options={"game": game.format(kind)},
        )
        for i, (kind, label) in enumerate(kinds.items())
    )


def _partners(env_id: str, *others: str) -> tuple[Level, ...]:
    return tuple(
        Level(severity=i, label=f"with {other}", env_id=env_id, other=other)
        for i, other in enumerate(others)
    )


SWEEPS: dict[tuple[str, str], tuple[Level, ...]] = {
    ("players", "coevo/kuhn_poker-v0"): _players(range(2, 5)),
    ("payoffs", "coevo/goofspiel-v0"): _payoffs(),
    ("partners", "coevo/tiny_hanabi-v0"): _partners(
        "coevo/tiny_hanabi-v0", SELF, "convention:1", "convention:2", "convention:3", "random"
    ),
    ("partners", "coevo/kuhn_poker-v0"): _partners(
        "coevo/kuhn_poker-v0", "oracle", "expert:0.5", "random", "first_legal"
    ),
}
"""(what changes, environment that it starts from) -> levels by growing severity."""
