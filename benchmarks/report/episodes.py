"""Which recorded episodes a page shows: an index of all, and a sample over what differs.

Files are read line by line, twice: once for the index, which keeps a few numbers per episode, and
once for the episodes that were picked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from coevo.benchmarks.outcomes import EQUAL, is_contest
from coevo.benchmarks.report.sources import lines
from coevo.envs import make
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.collect.metrics import lead

T = TypeVar("T")
ENDINGS = {
    StopReason.TURN_LIMIT: "truncated",
    StopReason.ERROR: "error",
    StopReason.UNFINISHED: "unfinished",
}


@dataclass(frozen=True)
class EpisodeFile:
    """A file of episodes, and what is the same for all of them."""

    path: Path
    name: str
    """How the file is called on the page."""
    environment: str
    algorithm: str
    """Algorithm, or whatever else the episodes are grouped by."""
    seed: int | str


class Entry(NamedTuple):
    """Where an episode lies and what it is picked by."""

    source: int
    line: int
    place: int
    """Bytes before it."""
    step: int
    outcome: str


@dataclass
class Index:
    """All episodes of some files."""

    sources: Sequence[EpisodeFile]
    entries: list[Entry] = field(default_factory=list)
    unreadable: int = 0
    """Lines that hold no episode."""

    def outcomes(self) -> Counter[str]:
        return Counter(entry.outcome for entry in self.entries)


def index(sources: Sequence[EpisodeFile]) -> Index:
    """Read every line once; what cannot be read is counted and left out."""
    found = Index(sources)
    for number, source in enumerate(sources):
        for at, (place, line) in enumerate(lines(source.path), start=1):
            try:
                episode = Episode.from_json(line)
                step = int(episode.outcome.get("step", 0))
                entry = Entry(number, at, place, step, outcome(episode))
            except (DataError, ValueError, TypeError, AttributeError):
                found.unreadable += 1
            else:
                found.entries.append(entry)
    return found


def outcome(episode: Episode) -> str:
    """Say in a few words how an episode ended: who won, who forfeited, or what cut it short."""
    if episode.stop is StopReason.FORFEIT:
        out = episode.offenders or ("a seat",)
        return f"{' and '.join(out)} {'forfeits' if len(out) == 1 else 'forfeit'}"
    if episode.stop is not StopReason.FINISHED:
        return ENDINGS[episode.stop]
    if len(episode.agents) < 2 or not _is_contest(episode.env, json.dumps(episode.options)):
        return "finished"
    best = [seat for seat in episode.agents if lead(episode, seat) >= -EQUAL]
    if len(best) == len(episode.agents):
        return "draw"
    return f"{' and '.join(best)} {'wins' if len(best) == 1 else 'win'}"


@lru_cache(maxsize=256)
def _is_contest(env_id: str, options: str) -> bool:
    try:
        return is_contest(make(env_id, **json.loads(options)))
    except CoevoError:
        return False  # registered where the episode was recorded; here it is not


# ---- The sample --------------------------------------------------------------------------------


def pick(found: Index, most: int) -> list[Entry]:
    """Choose episodes over what differs: algorithms and environments, outcomes, then updates.

    Algorithms (in each environment) get equal parts, within each the outcomes do, so that rare
    outcomes are seen; of one outcome the episodes are evenly spaced over updates and seeds, the
    first and the last among them.
    """
    groups = _by(found.entries, lambda e: _group(found.sources[e.source]))
    chosen: list[Entry] = []
    for own, quota in _shared(groups, most):
        for alike, few in _shared(_by(own, lambda e: e.outcome), quota):
            chosen += evenly(sorted(alike, key=lambda e: (e.step, e.source, e.place)), few)
    return sorted(chosen, key=lambda e: (e.source, e.place))


def _group(source: EpisodeFile) -> tuple[str, str]:
    return source.environment, source.algorithm


def _by(entries: Iterable[Entry], key: Callable[[Entry], Hashable]) -> list[list[Entry]]:
    groups: dict[Hashable, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return list(groups.values())


def _shared(groups: list[list[Entry]], most: int) -> Iterator[tuple[list[Entry], int]]:
    return zip(groups, shares([len(g) for g in groups], most), strict=True)


def shares(sizes: Sequence[int], most: int) -> list[int]:
    """Split a number evenly, and what one group cannot use among the others."""
    out = [0] * len(sizes)
    for done, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        out[i] = min(sizes[i], most // (len(sizes) - done))
        most -= out[i]
    return out


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Take some of a sequence, evenly spaced, both ends among them; of one, the last."""
    if count >= len(items):
        return list(items)
    if count <= 1:
        return list(items[len(items) - count :])
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def read(found: Index, chosen: Sequence[Entry]) -> Iterator[tuple[Entry, Episode]]:
    """Read the episodes that were picked, file by file."""
    for number, source in enumerate(found.sources):
        own = [entry for entry in chosen if entry.source == number]
        if not own:
            continue
        with source.path.open("rb") as file:
            for entry in own:
                file.seek(entry.place)
                yield entry, Episode.from_json(file.readline())
