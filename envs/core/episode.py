"""The record of one episode, from which rewards, training rows, reports and replays are made.

One episode is one JSON object on one line, readable by people and by `coevo replay`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from coevo.envs.core.chat import Chat, Message, Span
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import NEAR, Status
from coevo.envs.core.quoting import json_text

SCHEMA = 2


class TornLineError(DataError):
    """The last line of a file was cut while it was written; all lines before it are whole."""


class StopReason(StrEnum):
    """Why an episode ended."""

    FINISHED = "finished"
    """The rules ended it."""
    FORFEIT = "forfeit"
    """An agent used up its attempts at a legal move."""
    TURN_LIMIT = "turn_limit"
    """`max_cycles` was reached; the rest pays nothing."""
    UNFINISHED = "unfinished"
    """Still being played."""
    ERROR = "error"
    """An agent could not answer (server down, budget spent); never scored as a zero."""


@dataclass(frozen=True, slots=True)
class PolicyRef:
    """Which parameter set: its name, and how many updates have moved it."""

    name: str
    version: int = -1
    """Update count; -1 where nothing is learnt."""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(slots=True)
class Turn:
    """One reply of one agent, and what it caused."""

    agent: str
    """The seat that spoke."""
    seen: Chat | Span
    """The chat that this seat saw: messages of its own, or a span of those of its episode."""
    text: str
    """The reply, word for word."""
    move: str | None
    """The move that was played: parsed from the text, or drawn by the illegal-move policy; None
    where the seat was asked again, or gave up."""
    status: Status
    """Whether the reply was a legal move, or said what was asked for."""
    legal: tuple[str, ...] | None
    """The moves that were legal; None where any text is."""
    rewards: dict[str, dict[str, float]] = field(default_factory=dict)
    """Component name -> agent -> reward for this reply, or that fell due after it."""
    versions: dict[str, int] = field(default_factory=dict)
    """Component name -> version of the reward module that scored this reply."""
    invalid: dict[str, dict[str, str]] = field(default_factory=dict)
    """Component name -> agent -> why no reward could be found."""
    player: str = ""
    """Who sat there: a policy's name, a scripted agent's name."""
    version: int = -1
    """Update count of the policy that wrote it; -1 for agents that do not learn."""
    prompt_ids: list[int] | None = None
    """Token ids that the policy read before it wrote; None for agents without tokens."""
    token_ids: list[int] | None = None
    """Token ids that the policy sampled, its end-of-turn token included."""
    logprobs: list[float] | None = None
    """Log-probability of each sampled id under the behaviour policy, in nats."""
    choices: list[list[int]] | None = None
    """For guided choice: the token ids of every reply that was allowed."""
    begins: str = ""
    """What the reply begins with that its player did not write."""
    injected: list[str] = field(default_factory=list)
    """Ids of the artifacts whose text a trainer added to what the seat saw."""
    trained: str = ""
    """Where text was injected, the prompt that the reply is learnt under: `as_seen`, or `stripped`
    of that text; `hidden` where the seat did not see it and a reference does."""
    stripped_ids: list[int] | None = None
    """Token ids of the prompt without the injected text, where it is learnt so."""
    reference_ids: list[int] | None = None
    """Token ids of the prompt with the injected text, where a reference alone reads it."""
    advantage: float | None = None
    """Mean advantage of its tokens in the update that used it; None where none did."""
    role: str = ""
    """What the seat was here: `solver`, `evaluator`; statistics may be kept per role."""
    round: int = 0
    """Number of the game's round; turns of one seat in one round may be credited as one step."""
    about: int = -1
    """Place in the episode of the turn that this one judges or answers; -1 for none."""
    answer: str | None = None
    """The final answer that the reply gives, as the environment reads it; None for none."""
    verified: float | None = None
    """What a verifier gives that answer, 0..1; None where nothing was verified."""
    marks: dict[str, float] = field(default_factory=dict)
    """Mark -> what a trainer's judge says of this reply, such as 1 for good and -1 for bad; credit
    reads it and it is part of no reward."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What else the environment has to say about it, JSON-able: retrieved documents, reasons."""

    @property
    def policy(self) -> PolicyRef:
        """Who wrote it, and after how many updates."""
        return PolicyRef(self.player, self.version)

    @property
    def chat(self) -> Chat:
        """The chat that this seat saw."""
        return tuple(self.seen)

    def pay(self, component: str, rewards: dict[str, float]) -> None:
        """Add rewards of one component to those that already fell due after this reply."""
        table = self.rewards.setdefault(component, {})
        for agent, reward in rewards.items():
            table[agent] = table.get(agent, 0.0) + float(reward)


@dataclass(slots=True)
class Episode:
    """One episode of one environment from reset to end."""

    env: str
    """Registered environment id."""
    seed: int | None
    """Seed given to `reset`; None continued the environment's own generator."""
    options: dict[str, Any]
    """Arguments that make this environment again, reward modules aside: prompt style always,
    others where they differ from the defaults. Files of the first version lack `illegal` and
    `max_cycles`."""
    agents: tuple[str, ...]
    """All seats, in seat order."""
    task: str = ""
    """Start state or question: equal tasks may be compared with each other."""
    turns: list[Turn] = field(default_factory=list)
    stop: StopReason = StopReason.UNFINISHED
    outcome: dict[str, float] = field(default_factory=dict)
    """Metrics of the finished episode; `return/<agent>` is what the rules pay and illegal moves
    cost, `unread` and `near_misses` count replies."""
    note: str = ""
    """Reason in words when `stop` is `forfeit` or `error`."""

    def total(self, agent: str, component: str | None = None) -> float:
        """Sum an agent's rewards, of one component or of all."""
        paid = [
            rewards.get(agent, 0.0)
            for turn in self.turns
            for name, rewards in turn.rewards.items()
            if component is None or name == component
        ]
        return sum(paid)

    def unrewarded(self, agent: str) -> bool:
        """Return whether a reward module found no reward for something an agent did."""
        return any(agent in missing for t in self.turns for missing in t.invalid.values())

    @property
    def offenders(self) -> tuple[str, ...]:
        """Seats whose illegal replies ended the episode; none where it ended otherwise."""
        if self.stop is not StopReason.FORFEIT:
            return ()
        last = {turn.agent: turn.move for turn in self.turns}
        return tuple(a for a in self.agents if a in last and last[a] is None)

    def unread_replies(self) -> dict[str, int]:
        """Count every agent's replies of which nothing was read: no move, answer or verdict."""
        return self._count(lambda t: t.status is Status.UNPARSABLE)

    def near_misses(self) -> dict[str, int]:
        """Count every agent's replies that came close to a legal move and were not read."""
        return self._count(lambda t: t.notes.get("miss") in NEAR)

    def _count(self, kind: Callable[[Turn], bool]) -> dict[str, int]:
        return {a: sum(t.agent == a and kind(t) for t in self.turns) for a in self.agents}

    def illegal_replies(self, agent: str) -> int:
        """Count an agent's replies that were not legal moves."""
        return sum(t.agent == agent and t.status is not Status.LEGAL for t in self.turns)

    def to_json(self) -> str:
        """Return the episode as one line, in which every message stands once."""
        chats, spans = _stored(self.turns)
        turns = [
            _plain(turn) | {"seen": span} for turn, span in zip(self.turns, spans, strict=True)
        ]
        data = {"schema": SCHEMA, **_plain(self), "chats": chats, "turns": turns}
        return json_text(data)

    @classmethod
    def from_json(cls, line: str | bytes) -> Episode:
        """Return the episode that a line holds; raise DataError naming what is wrong."""
        try:
            data = json.loads(line)
            schema = data.pop("schema")
            if schema != SCHEMA:
                raise DataError(f"episode has schema {schema}, this version reads {SCHEMA}")
            turns, chats = data.pop("turns"), data.pop("chats")
            logs = {seat: [_message(m, turns) for m in chat] for seat, chat in chats.items()}
            agents, stop = tuple(data.pop("agents")), StopReason(data.pop("stop"))
            made = [_turn(turn, logs) for turn in turns]
            return cls(**data, agents=agents, stop=stop, turns=made)
        except DataError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"not an episode: {type(error).__name__}: {error}") from None


def _stored(turns: Iterable[Turn]) -> tuple[dict[str, list[Message | int]], list[tuple[int, int]]]:
    """Return the messages of each seat, a reply as the number of its turn; what each turn saw."""
    logs: dict[str, list[Message]] = {}
    written: dict[str, list[Message | int]] = {}
    starts: dict[str, int] = {}
    replies: dict[str, tuple[int, Message]] = {}
    spans = []
    for number, turn in enumerate(turns):
        log, start = logs.setdefault(turn.agent, []), starts.get(turn.agent, 0)
        known = log[start:]
        chat = list(turn.seen)
        if chat[: len(known)] != known:
            start, known = len(log), []
            starts[turn.agent] = start
        new = chat[len(known) :]
        log += new
        at, reply = replies.get(turn.agent, (-1, None))
        written.setdefault(turn.agent, []).extend(at if m == reply else m for m in new)
        spans.append((start, len(log)))
        replies[turn.agent] = (number, {"role": "assistant", "content": turn.text})
    return written, spans


def _plain(record: Turn | Episode) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _message(stored: Message | int, turns: list[dict[str, Any]]) -> Message:
    if isinstance(stored, int):
        return {"role": "assistant", "content": turns[stored]["text"]}
    return stored


def _turn(data: dict[str, Any], logs: dict[str, list[Message]]) -> Turn:
    legal, (start, stop), status = data.pop("legal"), data.pop("seen"), Status(data.pop("status"))
    seen = Span(logs[data["agent"]], start, stop)
    return Turn(**data, seen=seen, status=status, legal=None if legal is None else tuple(legal))


def write_episodes(path: Path, episodes: Iterable[Episode]) -> None:
    """Append episodes to a JSON-lines file; raise OSError where it cannot be written.

    What cannot be seen is written as its JSON escape: no text ends a line, steers a terminal that
    shows the file, or lacks a UTF-8 form, as half a surrogate pair does.
    """
    with path.open("a", encoding="utf-8") as file:
        for episode in episodes:
            file.write(episode.to_json() + "\n")


def read_episodes(path: Path) -> Iterator[Episode]:
    """Read a JSON-lines file.

    Raises:
        TornLineError: at the end, where the last line stops in the middle.
        DataError: the file cannot be opened, or a line is broken; its number is given.
    """
    if path.exists() and not path.is_file():  # a pipe may never end
        raise DataError(f"cannot read {path}: it is not a file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    with file:
        for number, line in enumerate(file, start=1):
            try:
                yield Episode.from_json(line)
            except DataError as error:
                kind = TornLineError if _is_torn(line) else DataError
                raise kind(f"{path}, line {number}: {error}") from None


def _is_torn(line: bytes) -> bool:
    """Return whether a line has lost its line end and a part of its JSON value."""
    if line.endswith(b"\n"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False
