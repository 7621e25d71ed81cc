"""The log of a tournament: one line per episode."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from coevo.benchmarks.outcomes import outcomes, seat_score
from coevo.benchmarks.tournament.schedule import Block, Pair, Schedule, first_of
from coevo.envs.core.config import read
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import DataError
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.files import replace_text, storage


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """One episode of a tournament."""

    pair: Pair
    block: int
    task: int
    """Number of the start state among those of the pair."""
    seed: int
    seats: dict[str, str]
    stop: StopReason
    payoffs: dict[str, float] = field(default_factory=dict)
    """Seat -> score as in `coevo.benchmarks.outcomes`; empty where the episode failed."""
    result: dict[str, float] | None = None
    """Agent -> points: 1 won, 1/2 drawn, 0 lost; None without a contest or where it failed."""
    forfeit: list[str] = field(default_factory=list)
    """Seats that ended it by an illegal reply."""
    replies: dict[str, int] = field(default_factory=dict)
    illegal: dict[str, int] = field(default_factory=dict)
    """Seat -> how many of them were not legal moves."""
    unread: dict[str, int] = field(default_factory=dict)
    """Seat -> of how many of them nothing was read."""
    near_misses: dict[str, int] = field(default_factory=dict)
    """Seat -> how many came close to a legal move and were not read."""
    turns: int = 0
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether an agent could not answer: such an episode is counted and left out."""
        return self.stop is StopReason.ERROR

    def mean_payoff(self, agent: str) -> float:
        """Return an agent's score, the mean over its seats."""
        own = [self.payoffs[s] for s, name in self.seats.items() if name == agent]
        return sum(own) / len(own)

    def to_json(self) -> str:
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, line: str) -> EpisodeRecord | None:
        """Read a line; None where it is torn or something else."""
        try:
            data = json.loads(line)
            return read(cls, {f.name: data[f.name] for f in fields(cls)})
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


def record_of(
    env: TextEnv, block: Block, task: int, spec: EpisodeSpec, episode: Episode, contest: bool
) -> EpisodeRecord:
    """Score a finished episode.

    Among more than two seats the agent that sits alone wins by the single highest score, and
    loses where another seat has more.
    """
    common: dict[str, Any] = {
        "pair": block.pair,
        "block": block.number,
        "task": task,
        "seed": spec.seed,
        "seats": dict(spec.players),
        "stop": episode.stop,
        "turns": len(episode.turns),
    }
    if episode.stop is StopReason.ERROR:
        return EpisodeRecord(**common, note=_by_name(episode.note, spec))
    seats = episode.agents
    return EpisodeRecord(
        **common,
        payoffs={s: seat_score(env, episode, s) for s in seats},
        result=_points(env, block.pair, spec, episode) if contest else None,
        forfeit=list(episode.offenders),
        replies={s: sum(t.agent == s for t in episode.turns) for s in seats},
        illegal={s: episode.illegal_replies(s) for s in seats},
        unread=episode.unread_replies(),
        near_misses=episode.near_misses(),
    )


def _by_name(note: str, spec: EpisodeSpec) -> str:
    """Name the agent instead of the seat that could not answer."""
    seat, colon, reason = note.partition(":")
    return f"{spec.players[seat]}:{reason}" if colon and seat in spec.players else note


def _points(
    env: TextEnv, pair: Pair, spec: EpisodeSpec, episode: Episode
) -> dict[str, float] | None:
    if pair[0] == pair[1]:
        return None
    first = first_of(dict(spec.players))
    outcome = next(outcomes(env, episode, spec.seed, spec.players, first))
    won = (outcome.result + 1) / 2
    return {name: won if name == first else 1 - won for name in pair}


def failed_block(schedule: Schedule, block: Block, reason: str) -> list[EpisodeRecord]:
    """Return the episodes of a block of which nothing is known but why it failed."""
    return [
        EpisodeRecord(
            pair=block.pair,
            block=block.number,
            task=task,
            seed=spec.seed,
            seats=dict(spec.players),
            stop=StopReason.ERROR,
            note=reason,
        )
        for task, spec in schedule.specs(block)
    ]


class EpisodeLog:
    """The file of episodes: whole blocks, in the order in which they were finished."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, episodes: Iterable[EpisodeRecord]) -> None:
        text = "".join(e.to_json() + "\n" for e in episodes)
        with storage(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def read(self) -> list[EpisodeRecord]:
        if not self.path.exists() and not self.path.is_symlink():
            return []
        try:
            text = self.path.read_bytes().decode("utf-8", errors="replace")
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from None
        return [e for line in text.split("\n") if (e := EpisodeRecord.from_json(line)) is not None]

    def resume(self, schedule: Schedule) -> dict[Block, list[EpisodeRecord]]:
        """Cut the file back to the blocks that need not be played again, and give them.

        A block that a kill has torn is dropped, and so is one with a failed episode: whoever could
        not answer may be able to now.
        """
        blocks: dict[tuple[Pair, int], list[EpisodeRecord]] = defaultdict(list)
        for record in self.read():
            blocks[record.pair, record.block].append(record)
        kept = {
            block: episodes
            for (pair, number), episodes in blocks.items()
            if pair in schedule.pairs and 0 <= number < schedule.blocks_per_pair
            if _is_whole(schedule, block := schedule.block(pair, number), episodes)
        }
        text = "".join(p.to_json() + "\n" for episodes in kept.values() for p in episodes)
        if self.path.exists() and self.path.read_bytes() != text.encode():
            with storage(self.path):
                replace_text(self.path, text)
        return kept


def _is_whole(schedule: Schedule, block: Block, episodes: Sequence[EpisodeRecord]) -> bool:
    wanted = [(task, m.seed, dict(m.players)) for task, m in schedule.specs(block)]
    found = [(p.task, p.seed, p.seats) for p in episodes]
    return found == wanted and not any(p.failed for p in episodes)
