"""Axes of change: the same agent in ever less familiar settings, without any further training.

players    more players at the table
payoffs    the same moves, paid otherwise
partners   other partners or opponents than itself

Every level is scored between random play (0) and a best response (1) at that level, computed
exactly; the curve over the levels has a worst case and an area. A new axis is one line in `AXES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate, repeatable
from coevo.benchmarks.exact import against
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.spending import Spending
from coevo.benchmarks.statistics.adaptability import SeverityCurve, severity_curve
from coevo.benchmarks.statistics.normalise import References, normalise
from coevo.benchmarks.suites.measure import Settings, sampling_of
from coevo.benchmarks.suites.players import scripted
from coevo.benchmarks.suites.results import Results
from coevo.envs.core.errors import ConfigError, unknown

SELF = "self"
"""In place of a player: the agent has all seats."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """One setting on an axis."""

    severity: float
    """How far it is from the first one."""
    label: str
    """What it is, in a few words."""
    env_id: str
    """Registered environment."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""
    other: str = "random"
    """Who has the other seats: a scripted player, or `self`."""

    def references(self) -> References:
        """Give what counts as 0 and 1 here.

        Raises:
            ConfigError: the game is too large to say.
        """
        if self.other == SELF:
            found = metric(self.env_id, self.env_options, "return_self_play")
            if found.references is None:
                raise ConfigError(found.source)
            return found.references
        return against(self.env_id, self.env_options, scripted(self.other))


@dataclass(frozen=True, kw_only=True)
class LevelResult:
    """An agent at one level. Only plain JSON values."""

    label: str
    """What the level is."""
    severity: float
    """Where it lies on the axis."""
    env: str
    """Environment id."""
    other: str
    """Who had the other seats."""
    value: float
    """Mean payoff, every deal from each seat."""
    interval: list[float] | None
    """Its 95 % interval, clustered by deal."""
    references: dict[str, float]
    """What counts as 0 and as 1."""
    normalised: float
    """Between them."""
    normalised_interval: list[float] | None
    """The same for the interval."""
    plays: int
    """Plays that counted."""
    forfeit_rate: float
    """Share of plays that the agent forfeited."""
    sampling: dict[str, Any] = field(default_factory=dict)
    """Temperature and max_new_tokens."""
    spending: dict[str, Any] = field(default_factory=lambda: asdict(Spending()))
    """Tokens, requests, cost."""


def run_axis(
    agent: Agent,
    levels: tuple[Level, ...],
    settings: Settings,
    results: Results,
    done: Callable[[LevelResult], None] | None = None,
) -> tuple[list[LevelResult], SeverityCurve]:
    """Measure an agent at every level of an axis.

    Args:
        agent: who is measured.
        levels: by growing severity.
        settings: what is played at each; their arguments are added to those of the levels.
        results: keeps every level as it is finished.
        done: told of each level.
    """
    rows = []
    for level in levels:
        name = f"{level.severity:g}-{level.label}"
        found = results.part(name, partial(_at, agent, level, settings))
        rows.append(LevelResult(**found))
        if done is not None:
            done(rows[-1])
    curve = severity_curve([r.severity for r in rows], [r.normalised for r in rows])
    results.finish({"levels": [asdict(r) for r in rows], **curve._asdict()})
    return rows, curve


def axis(name: str, env_id: str | None = None) -> tuple[Level, ...]:
    """Look an axis up; without an environment take the first one that has it.

    >>> [level.label for level in axis("players")]
    ['2 players', '3 players', '4 players']
    """
    named = {env: levels for (found, env), levels in AXES.items() if found == name}
    if not named:
        raise unknown("axis", name, {found for found, _ in AXES})
    if env_id is None:
        return next(iter(named.values()))
    if env_id not in named:
        raise ConfigError(f"no axis {name!r} for {env_id}; it exists for {', '.join(named)}")
    return named[env_id]


def _at(agent: Agent, level: Level, settings: Settings) -> dict[str, Any]:
    """Measure at one level; plain values, to be kept."""
    refs = level.references()
    played = evaluate(
        repeatable(agent, settings.seed),
        level.env_id,
        None if level.other == SELF else scripted(level.other),
        settings.games,
        settings.seed,
        {**settings.env_options, **level.env_options},
        samples=0,
    )
    value, bounds = played.total.mean_return, played.total.interval
    found = LevelResult(
        label=level.label,
        severity=level.severity,
        env=level.env_id,
        other=level.other,
        value=value,
        interval=None if bounds is None else list(bounds),
        references=refs._asdict(),
        normalised=float(normalise([value], *refs)[0]),
        normalised_interval=None if bounds is None else normalise(bounds, *refs).tolist(),
        plays=played.total.plays,
        forfeit_rate=played.total.forfeit_rate,
        sampling=sampling_of(agent),
        spending=asdict(played.spending),
    )
    return asdict(found)


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


AXES: dict[tuple[str, str], tuple[Level, ...]] = {
    ("players", "coevo/kuhn_poker-v0"): _players(range(2, 5)),
    ("payoffs", "coevo/goofspiel-v0"): _payoffs(),
    ("partners", "coevo/tiny_hanabi-v0"): _partners(
        "coevo/tiny_hanabi-v0", SELF, "convention:1", "convention:2", "convention:3", "random"
    ),
    ("partners", "coevo/kuhn_poker-v0"): _partners(
        "coevo/kuhn_poker-v0", "oracle", "tutor:0.5", "random", "first_legal"
    ),
}
"""(axis, environment that it starts from) -> levels by growing severity."""
