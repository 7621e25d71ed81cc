"""Protocols of many stages, written top to bottom: a generator that asks and receives.

    class Fishery(ProtocolTask[FisheryConfig]):
        def protocol(self, rng, options):
            self.stock = 100
            for month in range(12):
                tons = [str(n) for n in range(self.stock + 1)]
                catch = yield All(self.seats, say=f"{self.stock} tons. Your catch?", moves=tons)
                yield Pay({seat: int(move) for seat, move in catch.items()})
                self.stock = min(100, 2 * (self.stock - sum(map(int, catch.values()))))

`All` returns seat -> move, `One` the move itself. What other hooks read (`draw`, `info`, `outcome`,
`hide`) stands on `self`, from before the first question on, as an episode may end at any reply;
what only the protocol reads may be a local variable. Words, moves and experts may be functions of
the seat: they are called while their question is open, so they may read both.

Python cannot copy a generator. A copy of the task is therefore made by replay: the protocol starts
again and receives the same moves, with the random generator as it was at each of them, and asks for
no prompts on the way. A fork thus costs as much as the moves so far, like a copy of their record.
Two rules follow: draw from `rng` nowhere but in the protocol, and change nothing that `__init__`
made. A copy of a task on which `hide` was called has the true state again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.parsing import ANSWER_FORMAT, Parse, Status, parse_move
from coevo.envs.core.rewards import RESERVED
from coevo.envs.core.task import Replies, Task

C = TypeVar("C")
Words = str | Callable[[str], str]
"""A text, or a function from the seat that reads it to a text."""


@dataclass(slots=True, kw_only=True)
class Ask:
    """What one seat or several are asked: see `One` and `All`."""

    phase: str = ""
    """Name of the question, for hooks and records."""
    say: Words = ""
    """The question, after the rules and all that the seat was asked before (full style)."""
    terse: Words = ""
    """The same, complete in about 64 tokens; empty for the rules, `say` and how
    to answer."""
    moves: Sequence[str] | Callable[[str], Sequence[str]] | None = None
    """Legal moves, or a function from the seat to them; None where any text is legal."""
    read: Callable[[str], str | Parse] | None = None
    """Makes a move of a whole reply, or says why it cannot; None for the rule of all tasks
    (docs/replies.md)."""
    form: Words = ""
    """How to reply where any text is legal; repeated to a seat whose reply was not read."""
    otherwise: str | None = None
    """Move of a reply that is not read, where no attempt is left; None leaves it to the
    illegal-move policy."""
    expert: Callable[[str, float], Replies] | None = None
    """Function from the seat and a skill to what an expert might reply: see `Task.expert`."""


@dataclass(slots=True)
class All(Ask):
    """Ask several seats at once, none of which sees what others reply; gives seat -> move."""

    seats: Sequence[str]


@dataclass(slots=True)
class One(Ask):
    """Ask one seat; gives its move."""

    seat: str

    @property
    def seats(self) -> Sequence[str]:
        """Return the seat alone."""
        return (self.seat,)


class Pay(NamedTuple):
    """Pay for the replies to the last question; several payments of one seat add up."""

    amounts: Mapping[str, float]
    component: str = "payoff"
    """Column of the rewards: `payoff` is what the rules pay, others are the `components` of the
    task."""


T = TypeVar("T")
Stage = Generator[One | All | Pay, Any, T]
"""A part of a protocol, for `yield from`, which hands on what it returns."""
Protocol = Stage[None]
"""A whole protocol."""
_NOBODY = All(())


class _Received(NamedTuple):
    """Moves that a protocol received, and what else it could read at that time."""

    moves: dict[str, str]
    turns: int
    drawn: Mapping[str, Any] | None
    """State of the random generator."""

    def __deepcopy__(self, memo: object) -> _Received:
        return self


class ProtocolTask(Task[C]):
    """A task whose rules are one generator; subclasses give `protocol`, `rules` and `draw`."""

    asked: One | All = _NOBODY
    """The open question; it has no seats before the first and after the last one."""
    turns: list[Turn]
    """All replies so far, those that were not accepted included."""
    earned: dict[str, float]
    """What every seat was paid so far, all components together."""

    @property
    def phase(self) -> str:
        """Name of the open question."""
        return self.asked.phase

    @abstractmethod
    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        """Set up an episode, ask and pay to its end; the arguments are those of `reset`."""

    def moves_of(self, seat: str) -> list[str]:
        """Return the legal moves that the open question lists; none where any text is legal."""
        return list(self.legal(seat) or ())

    def note(self, key: str, value: Any) -> None:
        """Write a note on the latest reply: JSON-able, for metrics and reports."""
        self.turns[-1].notes[key] = value

    # ---- The hooks of a task -------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self._built: tuple[str, ...]
        self.__dict__.setdefault("_built", tuple(self.__dict__))
        self._rng, self._options = rng, options
        self._received: list[_Received] = []
        self._start = self._drawn()
        self.turns = []
        self._open()

    def to_move(self) -> Sequence[str]:
        return self.asked.seats

    def legal(self, seat: str) -> Sequence[str] | None:
        moves = self.asked.moves
        return moves(seat) if callable(moves) else moves

    def read(self, seat: str, text: str) -> Parse:
        asked = self.asked
        found = asked.read(text) if asked.read else parse_move(text, self.legal(seat))
        if isinstance(found, str):
            return Parse(found, Status.LEGAL)
        return found if found.ok else found._replace(move=asked.otherwise)

    def form(self, seat: str) -> str:
        return _said(self.asked.form, seat)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        self.turns.append(turn)

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        self._received.append(_Received(dict(moves), len(self.turns), self._drawn()))
        paid = self._receive(moves)
        payoffs = paid.pop("payoff", {})
        for component, amounts in paid.items():
            self.turns[-1].pay(component, amounts)
        return payoffs

    def situation(self, seat: str) -> str:
        return _said(self.asked.say, seat)

    def terse(self, seat: str) -> str:
        if self.asked.terse:
            return _said(self.asked.terse, seat)
        whole = f"{self.rules(seat)}\n{self.situation(seat)}"
        return whole if self.asked.moves is None else f"{whole}\n{ANSWER_FORMAT}"

    def expert(self, seat: str, skill: float) -> Replies | None:
        return self.asked.expert(seat, skill) if self.asked.expert else None

    # ---- The generator -------------------------------------------------------------------------

    def _open(self) -> None:
        self.earned = dict.fromkeys(self.seats, 0.0)
        self._run = self.protocol(self._rng, self._options)
        if not isinstance(self._run, Generator):
            raise self._wrong("returns no generator: it has to `yield` its questions")
        if self._advance(None):
            raise self._wrong("pays before its first question: there is no reply to pay for")

    def _receive(self, moves: Mapping[str, str]) -> dict[str, dict[str, float]]:
        asked = self.asked
        if isinstance(asked, One):
            return self._advance(moves[asked.seat])
        return self._advance({seat: moves[seat] for seat in asked.seats})

    def _advance(self, reply: Any) -> dict[str, dict[str, float]]:
        """Go on to the next question; return what was paid on the way, by component."""
        paid: dict[str, dict[str, float]] = {}
        self.asked = _NOBODY
        while True:
            try:
                found = self._run.send(reply)
            except StopIteration:
                return paid
            reply = None
            if isinstance(found, Pay):
                if found.component not in (*RESERVED, *self.components):
                    raise self._wrong(
                        f"pays {found.component!r}, which is not one of its components: "
                        f"{', '.join(self.components) or 'it has none'}"
                    )
                table = paid.setdefault(found.component, {})
                for seat, amount in found.amounts.items():
                    self._check(seat)
                    table[seat] = table.get(seat, 0.0) + float(amount)
                    self.earned[seat] += float(amount)
            elif isinstance(found, One | All):
                if not found.seats:
                    raise self._wrong("asks no seat: All(seats, ...) needs one or more")
                for seat in found.seats:
                    self._check(seat)
                self.asked = found
                return paid
            else:
                raise self._wrong(
                    f"yields {found!r}: expected One(seat, ...), All(seats, ...) or "
                    "Pay({seat: amount})"
                )

    def _check(self, seat: str) -> None:
        if seat not in self.seats:
            raise unknown("seat", seat, self.seats)

    def _wrong(self, what: str) -> ConfigError:
        return ConfigError(f"{type(self).__name__}.protocol {what}")

    # ---- Copies --------------------------------------------------------------------------------

    def _drawn(self) -> Mapping[str, Any] | None:
        return self._rng.bit_generator.state if self.draws else None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: what `__init__` made, the moves and the generator."""
        if "_built" not in self.__dict__:
            return self.__dict__
        kept = (*self._built, "_built", "_rng", "_options", "_received", "_start", "turns")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Replay the moves, so that the protocol stands where that of the original stood."""
        self.__dict__.update(state)
        if "_built" not in state:
            return
        turns, now = self.turns, self._drawn()
        self.turns = []
        self._redraw(self._start)
        self._open()
        for received in self._received:
            self.turns = turns[: received.turns]
            self._redraw(received.drawn)
            self._receive(received.moves)
        self.turns = turns
        self._redraw(now)

    def _redraw(self, state: Mapping[str, Any] | None) -> None:
        if state is not None:
            self._rng.bit_generator.state = state


def _said(words: Words, seat: str) -> str:
    return words(seat) if callable(words) else words
