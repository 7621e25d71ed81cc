"""The suites: which registered environments belong together."""

from __future__ import annotations

from coevo.envs import list_envs
from coevo.envs.core.errors import ConfigError, unknown

SUITES = {
    "games": "games, most on OpenSpiel's rules",
    "dilemmas": "social dilemmas: what one gains, the others may lose",
    "discussion": "debate, peer review, solver and verifier",
    "search": "questions over corpora",
    "mars-train": "the games that MARS trains on (arXiv 2510.15414)",
    "mars-heldout": "the games that MARS holds out, one for each that it trains on",
    "societies": "commons, reputations, leaders and planners",
    "grids": "worlds on a grid: apples, a river, a sea, mazes, a house, generated rules",
    "words": "questions, codes and clues over finite tables",
}
ALL = "all"
"""Suite of every listed environment."""


def environments(suite: str) -> list[str]:
    """Return the ids of the registered environments of a suite.

    ConfigError where nothing of this kind is registered yet.
    """
    registered = available()
    if suite not in registered:
        raise unknown("suite", suite, registered)
    if not registered[suite]:
        filled = "; ".join(f"{name}: {', '.join(ids)}" for name, ids in registered.items() if ids)
        raise ConfigError(
            f"no environment of the suite {suite!r} is registered yet. Available: {filled}"
        )
    return registered[suite]


def available() -> dict[str, list[str]]:
    """Return every suite with the ids of its environments; some have none yet."""
    found: dict[str, list[str]] = {name: [] for name in SUITES}
    for entry in list_envs():
        for name in entry.suite_names:
            found.setdefault(name, []).append(entry.id)
    return found | {ALL: [entry.id for entry in list_envs()]}
