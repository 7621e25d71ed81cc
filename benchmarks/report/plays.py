"""Which recorded plays a page shows: an index of all of them, and a sample over what differs.

Files are read line by line, twice: once for the index, which keeps a few numbers per play, and
once for the plays that were picked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from coevo.benchmarks.report.sources import lines
from coevo.envs import spec
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.metrics import EQUAL, lead

T = TypeVar("T")
ENDINGS = {
    Stop.TURN_LIMIT: "truncated",
    Stop.ERROR: "error",
    Stop.UNFINISHED: "unfinished",
}


@dataclass(frozen=True)
class Source:
    """A file of plays, and what is the same for all of them."""

    path: Path
    name: str
    """How the file is called on the page."""
    environment: str
    algorithm: str
    """Algorithm, or whatever else the plays are grouped by."""
    seed: int | str


class Entry(NamedTuple):
    """Where a play lies and what it is picked by."""

    source: int
    line: int
    """From 1 on."""
    place: int
    """Bytes before it."""
    step: int
    """Updates done when it was played."""
    outcome: str


@dataclass
class Index:
    """All plays of some files."""

    sources: Sequence[Source]
    entries: list[Entry] = field(default_factory=list)
    unreadable: int = 0
    """Lines that hold no episode."""

    def outcomes(self) -> Counter[str]:
        """Count plays by outcome."""
        return Counter(entry.outcome for entry in self.entries)


def index(sources: Sequence[Source]) -> Index:
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
    """Say in a few words how a play ended: who won, who forfeited, or what cut it short."""
    if episode.stop is Stop.FORFEIT:
        return f"{' and '.join(episode.offenders) or 'somebody'} forfeits"
    if episode.stop is not Stop.FINISHED:
        return ENDINGS[episode.stop]
    kind = _kind(episode.env)
    if len(episode.agents) < 2 or kind == "cooperative":
        return "finished"
    winners = [seat for seat in episode.agents if lead(episode, seat) > EQUAL]
    if not winners:
        return "nobody ahead"
    return f"{winners[0]} {'is ahead' if kind == 'mixed' else 'wins'}"


@cache
def _kind(env_id: str) -> str:
    try:
        return spec(env_id).kind
    except CoevoError:
        return ""  # recorded where the environment was registered; here it is not


# ---- The sample --------------------------------------------------------------------------------


def pick(found: Index, most: int) -> list[Entry]:
    """Choose plays over what differs: algorithms and environments, outcomes, then updates.

    Algorithms (in each environment) get equal parts, within each the outcomes do, so that rare
    outcomes are seen; of one outcome the plays are evenly spaced over updates and seeds, the first
    and the last among them.
    """
    groups = _by(found.entries, lambda e: _group(found.sources[e.source]))
    chosen: list[Entry] = []
    for own, quota in _shared(groups, most):
        for alike, few in _shared(_by(own, lambda e: e.outcome), quota):
            chosen += evenly(sorted(alike, key=lambda e: (e.step, e.source, e.place)), few)
    return sorted(chosen, key=lambda e: (e.source, e.place))


def _group(source: Source) -> tuple[str, str]:
    return source.environment, source.algorithm


def _by(entries: Iterable[Entry], key: Callable[[Entry], Hashable]) -> list[list[Entry]]:
    groups: dict[Hashable, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return list(groups.values())


def _shared(groups: list[list[Entry]], most: int) -> Iterator[tuple[list[Entry], int]]:
    return zip(groups, shares([len(g) for g in groups], most), strict=True)


def shares(sizes: Sequence[int], most: int) -> list[int]:
    """Give everybody the same part, and what somebody cannot use to the others.

    >>> shares([1, 5, 100], 10), shares([2, 2], 10), shares([7, 7, 7], 2)
    ([1, 4, 5], [2, 2], [0, 1, 1])
    """
    out = [0] * len(sizes)
    for done, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        out[i] = min(sizes[i], most // (len(sizes) - done))
        most -= out[i]
    return out


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Take some of a sequence, evenly spaced, both ends among them; of one, the last.

    >>> evenly([0, 1, 2, 3, 4], 3), evenly([0, 1, 2], 1), evenly([0, 1], 5)
    ([0, 2, 4], [2], [0, 1])
    """
    if count >= len(items):
        return list(items)
    if count <= 1:
        return list(items[len(items) - count :])
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def read(found: Index, chosen: Sequence[Entry]) -> Iterator[tuple[Entry, Episode]]:
    """Read the plays that were picked, file by file."""
    for number, source in enumerate(found.sources):
        own = [entry for entry in chosen if entry.source == number]
        if not own:
            continue
        with source.path.open("rb") as file:
            for entry in own:
                file.seek(entry.place)
                yield entry, Episode.from_json(file.readline())
