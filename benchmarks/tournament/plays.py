"""One line per play: the only thing that a tournament must not lose."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from coevo.benchmarks.scores import rows_of, seat_score
from coevo.benchmarks.tournament.schedule import Block, Pair, Schedule, first_of
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import DataError
from coevo.trainers.rollout import Match
from coevo.trainers.run_folder import replace_text, storage


@dataclass(frozen=True, kw_only=True)
class Play:
    """One play of a tournament."""

    pair: Pair
    block: int
    deal: int
    """Number of the start state among those of the pair."""
    seed: int
    """Seed of the environment."""
    seats: dict[str, str]
    """Seat -> agent."""
    stop: Stop
    """Why it ended."""
    payoffs: dict[str, float] = field(default_factory=dict)
    """Seat -> score as in `coevo.benchmarks.scores`; empty where the play failed."""
    result: dict[str, float] | None = None
    """Agent -> points: 1 won, 1/2 drawn, 0 lost; None without a contest or where it failed."""
    forfeit: list[str] = field(default_factory=list)
    """Seats that ended the play by an illegal reply."""
    replies: dict[str, int] = field(default_factory=dict)
    """Seat -> number of replies."""
    illegal: dict[str, int] = field(default_factory=dict)
    """Seat -> how many of them were not legal moves."""
    turns: int = 0
    """Replies of all seats."""
    note: str = ""
    """Why it failed."""

    @property
    def failed(self) -> bool:
        """Whether somebody could not answer: such a play is counted and left out."""
        return self.stop is Stop.ERROR

    def mean_payoff(self, agent: str) -> float:
        """Give an agent's score, the mean over its seats."""
        own = [self.payoffs[s] for s, name in self.seats.items() if name == agent]
        return sum(own) / len(own)

    def to_json(self) -> str:
        """Write the play as one line."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, line: str) -> Play | None:
        """Read a line; None where it is torn or something else."""
        try:
            data = json.loads(line)
            known = {f.name: data[f.name] for f in fields(cls)}
            return cls(**known | {"pair": tuple(data["pair"]), "stop": Stop(data["stop"])})
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


def play_of(
    env: TextEnv, block: Block, deal: int, match: Match, episode: Episode, contest: bool
) -> Play:
    """Score a finished episode.

    Among more than two seats whoever sits alone wins by the single highest score, and loses where
    another seat has more.
    """
    common: dict[str, Any] = {
        "pair": block.pair,
        "block": block.number,
        "deal": deal,
        "seed": match.seed,
        "seats": dict(match.players),
        "stop": episode.stop,
        "turns": len(episode.turns),
    }
    if episode.stop is Stop.ERROR:
        return Play(**common, note=_by_name(episode.note, match))
    seats = episode.agents
    return Play(
        **common,
        payoffs={s: seat_score(env, episode, s) for s in seats},
        result=_points(env, block.pair, match, episode) if contest else None,
        forfeit=list(episode.offenders),
        replies={s: sum(t.agent == s for t in episode.turns) for s in seats},
        illegal={s: episode.illegal_replies(s) for s in seats},
    )


def _by_name(note: str, match: Match) -> str:
    """Name the agent instead of the seat that could not answer."""
    seat, colon, reason = note.partition(":")
    return f"{match.players[seat]}:{reason}" if colon and seat in match.players else note


def _points(env: TextEnv, pair: Pair, match: Match, episode: Episode) -> dict[str, float] | None:
    if pair[0] == pair[1]:
        return None
    first = first_of(dict(match.players))
    row = next(rows_of(env, episode, match.seed, match.players, first))
    won = (row.result + 1) / 2
    return {name: won if name == first else 1 - won for name in pair}


def failed_block(schedule: Schedule, block: Block, reason: str) -> list[Play]:
    """Give the plays of a block of which nothing is known but why it failed."""
    return [
        Play(
            pair=block.pair,
            block=block.number,
            deal=deal,
            seed=match.seed,
            seats=dict(match.players),
            stop=Stop.ERROR,
            note=reason,
        )
        for deal, match in schedule.matches(block)
    ]


class PlayLog:
    """The file of plays: whole blocks, in the order in which they were finished.

    Args:
        path: of the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, plays: Iterable[Play]) -> None:
        """Add the plays of a block at once."""
        text = "".join(play.to_json() + "\n" for play in plays)
        with storage(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def read(self) -> list[Play]:
        """Read every line that is whole."""
        if not self.path.exists():
            return []
        try:
            text = self.path.read_bytes().decode("utf-8", errors="replace")
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from None
        return [play for line in text.split("\n") if (play := Play.from_json(line)) is not None]

    def resume(self, schedule: Schedule) -> dict[Block, list[Play]]:
        """Cut the file back to the blocks that need not be played again, and give them.

        A block that a kill has torn is dropped, and so is one with a failed play: whoever could not
        answer may be able to now.
        """
        blocks: dict[tuple[Pair, int], list[Play]] = defaultdict(list)
        read = self.read()
        for play in read:
            blocks[play.pair, play.block].append(play)
        kept = {
            block: plays
            for (pair, number), plays in blocks.items()
            if pair in schedule.pairs and 0 <= number < schedule.blocks_per_pair
            if _is_whole(schedule, block := schedule.block(pair, number), plays)
        }
        text = "".join(p.to_json() + "\n" for plays in kept.values() for p in plays)
        if self.path.exists() and self.path.read_bytes() != text.encode():
            with storage(self.path):
                replace_text(self.path, text)
        return kept


def _is_whole(schedule: Schedule, block: Block, plays: Sequence[Play]) -> bool:
    wanted = [(deal, m.seed, dict(m.players)) for deal, m in schedule.matches(block)]
    found = [(p.deal, p.seed, p.seats) for p in plays]
    return found == wanted and not any(p.failed for p in plays)
