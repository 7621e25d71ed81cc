"""Agents side by side on a suite, as Markdown: from folders of evaluations, finished or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coevo.benchmarks.files import read_json, short
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.report.formats import (
    counts,
    number,
    percent,
    plus_minus,
    whole,
    with_interval,
)
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.suite import KIND
from coevo.benchmarks.suites.totals import totals
from coevo.envs.core.errors import ConfigError, DataError

Name = Callable[[str], str]
"""Writes the id of an environment in the first column."""


@dataclass(frozen=True)
class Evaluated:
    """One agent on a suite."""

    settings: Mapping[str, Any]
    """The manifest of its folder."""
    rows: Mapping[str, Measurement]
    """Environment -> measurement; those that are not done yet are missing."""

    @property
    def agent(self) -> str:
        """Name of the agent as it was given."""
        return str(self.settings["agent"])

    @property
    def how(self) -> str:
        """Say in one line how it was measured."""
        drawn = ", ".join(f"{k} {v}" for k, v in self.settings["sampling"].items())
        style = self.settings["env_options"].get("prompt_style", "full")
        return (
            f"`{self.agent}`: {self.settings['games'] or 'the usual number of'} episodes per "
            f"environment, seed {self.settings['seed']}, prompts in {style} style, "
            f"{drawn or 'no sampling of tokens'}; commit {str(self.settings['commit'])[:10]}, "
            f"{self.settings['hardware']['processor']}"
        )


def read_evaluated(folder: Path) -> Evaluated:
    """Read what is done of a suite.

    DataError where the folder holds something else, or is damaged.
    """
    manifest = ResultsFolder(folder, KIND).manifest()
    if manifest.get("suite") is None:
        raise DataError(f"{folder} holds an evaluation, but not of a suite")
    try:
        rows = [Measurement.from_dict(read_json(p)) for p in sorted((folder / "parts").glob("*"))]
    except ConfigError as error:
        raise DataError(f"a part of {folder} is damaged: {error}") from None
    return Evaluated(manifest, {row.env: row for row in rows})


def side_by_side(agents: Sequence[Evaluated], env_ids: Iterable[str], name: Name = short) -> str:
    """Return the tables of some agents: payoffs with their references, and how replies were read.

    Agents that sample no tokens have the first table alone.
    """
    env_ids = list(env_ids)
    parts = [normalised(agents, env_ids), "## Payoffs", _table(*payoffs(agents, env_ids, name))]
    for own in (a for a in agents if a.settings["sampling"]):
        parts += [f"## Replies of {own.agent}", _table(*replies(own, env_ids, name))]
    return "\n\n".join([*parts, "## How it was measured", *(f"- {a.how}" for a in agents)]) + "\n"


def normalised(agents: Sequence[Evaluated], env_ids: Iterable[str]) -> str:
    """Return the normalised score of every agent over the environments that all have played."""
    scored = [{e for e, m in a.rows.items() if m.normalised is not None} for a in agents]
    common = [e for e in env_ids if all(e in own for own in scored)]
    lines = [
        f"Normalised (0 random, 1 best known) over {len(common)} environments: interquartile "
        "mean and, in brackets, its 95 % interval over start states."
    ]
    for own in agents if common else ():
        found = totals([own.rows[e] for e in common], np.random.default_rng(0)).iqm
        lines.append(f"- {own.agent}: {with_interval(found.point, [found.low, found.high])}")
    return "\n".join([lines[0], "", *lines[1:]])


Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Heads of the columns, and rows."""


def payoffs(agents: Sequence[Evaluated], env_ids: Iterable[str], name: Name = short) -> Table:
    """Return a row per environment: metric, references, the value of every agent.

    A single agent has a column for its normalised value.
    """
    lines = []
    for env_id in env_ids:
        found = [a.rows.get(env_id) for a in agents]
        known = next((m for m in found if m is not None), Measurement())
        refs = known.references or {}
        lines.append(
            (
                *(name(env_id), known.metric.replace("_", " ")),
                *(number(refs.get(key)) for key in ("random", "oracle")),
                *map(_value, found),
                *((number(known.normalised),) if len(agents) == 1 else ()),
            )
        )
    heads = ("environment", "metric", "random, reference", "best known, reference")
    last = ("normalised",) if len(agents) == 1 else ()
    return (*heads, *(a.agent for a in agents), *last), lines


def _value(found: Measurement | None) -> str:
    if found is None:
        return "–"
    return plus_minus(found.value, found.interval) + (" exact" if found.exact else "")


def replies(own: Evaluated, env_ids: Iterable[str], name: Name = short) -> Table:
    """Return a row per environment: how an agent's replies were read, and what they took."""
    rows = [(env_id, own.rows[env_id]) for env_id in env_ids if env_id in own.rows]
    lines = [
        (
            *(name(env_id), whole(m.episodes), percent(1 - m.illegal_rate)),
            *map(percent, (m.unread_rate, m.near_miss_rate, m.forfeit_rate, m.truncated_rate)),
            *(whole(m.errors), counts(m.usage.failures)),
            *(number(m.mean_turns, 1), whole(m.mean_tokens)),
        )
        for env_id, m in rows
        if m.episodes
    ]
    return (
        *("environment", "episodes", "legal", "unread", "near misses", "forfeited", "cut off"),
        *("left out", "failed requests", "replies per episode", "tokens per episode"),
    ), lines


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in x)} |" for x in lines)
