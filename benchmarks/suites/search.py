"""How well an agent answers from a corpus: from memory, from one search, with searches of its own.

Equal seeds ask the same questions in all three ways. Without a search nothing but the weights can
know an answer, so that row is the leak report, beside the share of questions that name theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.measurement import mean_and_interval
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.rollouts import play, task_seeds
from coevo.envs import make
from coevo.envs.core.episode import Episode
from coevo.envs.search.disguise import mentions
from coevo.trainers.collect.rollout import EpisodeSpec

ENV = "coevo/search_reader-v0"
WAYS = {"closed book": "none", "one-shot reader": "question", "agent": "searcher"}
"""Name of a way -> who writes the queries."""
MOST_HOPS = 4
"""Hops of questions in worlds with a triple store."""


@dataclass(frozen=True, kw_only=True)
class SearchRow:
    """One way of answering questions of so many hops."""

    way: str
    hops: int
    episodes: int
    exact_match: float
    interval: tuple[float, float] | None
    """Of the exact match, 95 %."""
    f1: float
    shown: float
    """Share of episodes in which a passage that was shown holds the answer."""
    support: tuple[float, ...]
    """Share of episodes that found the document of the first hop, of the first two, ..."""
    searches: float
    before: float
    """Share of episodes that answer without having found all documents."""
    unread: float
    """Share of the replies of which nothing was read."""

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> SearchRow:
        """Read a row that was kept as JSON, whose lists are tuples here."""
        found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        return cls(**found)


@dataclass(frozen=True, kw_only=True)
class SearchTable:
    """All ways, and what leaks."""

    rows: tuple[SearchRow, ...]
    named: float
    """Share of the questions that name their answer."""

    @property
    def leaks(self) -> str:
        """Say what can be answered without searching."""
        closed = [row for row in self.rows if row.way == "closed book"]
        right = fmean(row.exact_match for row in closed)
        return (
            f"leaks: {right:.1%} of the questions are answered without a search, {self.named:.1%} "
            "name their answer"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"rows": [asdict(row) for row in self.rows], "named": self.named}


def hops_asked(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the hops to ask for: those given, else 1 to 4, or 1 where people wrote questions."""
    env = make(ENV, **options)
    if "hops" in options:
        return tuple(env.task.config.hops)
    env.reset(seed=0)
    task: Any = env.task  # the reader
    return tuple(range(1, MOST_HOPS + 1)) if task.world.symbolic else (1,)


def search_table(
    agent: Agent,
    games: int,
    seed: int,
    options: Mapping[str, Any],
    results: ResultsFolder,
    done: Callable[[str], None] = lambda name: None,
) -> SearchTable:
    """Play every way with the same questions.

    Args:
        agent: has all seats.
        games: episodes per way and number of hops.
        seed: of the questions.
        options: of the search reader; its world is the source.
        results: keeps what is finished.
        done: is called with what is finished.
    """
    rows, named = list[SearchRow](), list[float]()
    for hops in hops_asked(options):
        for way, asks in WAYS.items():
            given = {"searches": hops, **options, "hops": hops, "asks": asks}
            name = f"{way}, {hops} hop{'s' * (hops > 1)}"
            row = results.part(name, partial(_row, agent, way, games, seed, given))
            rows.append(SearchRow.from_dict(row))
            done(name)
        named += _named(games, seed, {**options, "hops": hops})
    return SearchTable(rows=tuple(rows), named=fmean(named))


def _played(agent: Agent, games: int, seed: int, options: Mapping[str, Any]) -> list[Episode]:
    seats = make(ENV, **options).possible_agents
    specs = [EpisodeSpec(s, dict.fromkeys(seats, "agent")) for s in task_seeds(games, seed)]
    return [episode for _, episode in play(ENV, specs, {"agent": agent}, options).finished]


def _named(games: int, seed: int, options: Mapping[str, Any]) -> Iterator[float]:
    env = make(ENV, **options)
    task: Any = env.task  # the reader
    for number in task_seeds(games, seed):
        env.reset(seed=number)
        question = task.question
        yield float(any(mentions(question.text, answer) for answer in question.answers))


def _row(
    agent: Agent, way: str, games: int, seed: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    episodes = _played(agent.reseeded(seed), games, seed, options)
    said, hops = [e.outcome for e in episodes], int(options["hops"])
    found = [o.get("supported_hops", 0.0) for o in said]
    replies = sum(len(e.turns) for e in episodes)
    value, interval = mean_and_interval([o["exact_match"] for o in said])
    return {
        "way": way,
        "hops": hops,
        "episodes": len(episodes),
        "exact_match": value,
        "interval": interval,
        "f1": fmean(o["f1"] for o in said),
        "shown": fmean(o["answer_shown"] for o in said),
        "support": [fmean(n >= hop for n in found) for hop in range(1, hops + 1)],
        "searches": fmean(o["searches"] for o in said),
        "before": fmean(n < hops for n in found),
        "unread": sum(sum(e.unread_replies().values()) for e in episodes) / replies,
    }
