"""What repeated dilemmas share: rounds of an optional message each and then one joint choice.

In a round the seats first speak in turn (who starts is drawn for the first round and alternates),
each seeing what was said before; then all choose at the same time. All replies of a seat in one
game round carry its number as `Turn.round`, so that they may be credited as one time-step.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import marks, normalise, spoken
from coevo.envs.core.protocol import All, One, Pay, Protocol, ProtocolTask
from coevo.envs.core.quoting import quote_line, visible

MESSAGE_LENGTH = 500
"""Characters of a message that reach the others."""
TERSE_MESSAGE = 48
"""Characters of a message that a terse prompt has room for."""
MESSAGE_FORMAT = (
    "When you are asked for a message, put it between <message> and </message>; the others see "
    f"nothing else of your reply. Up to {MESSAGE_LENGTH} characters reach them."
)
_SAY = re.compile(r"\[\s*say\s*:", re.I)


@config
class RoundsConfig:
    rounds: Annotated[int, whole(1, 10_000)] = 10
    """Game rounds."""
    messages: Annotated[bool, Field(strict=True)] = False
    """Whether each seat sends one message before the choice."""
    unparsable: str | Annotated[int, whole()] | None = None
    """Legal choice of a seat that gives none, second attempts included, instead of what the
    illegal-move policy does; its replies still count as illegal ones. None for the policy."""


C = TypeVar("C", bound=RoundsConfig)


class RepeatedGame(ProtocolTask[C]):
    """Base of tasks in rounds of talk and simultaneous choice."""

    def __init__(self, config: C) -> None:
        super().__init__(config)
        self.rounds, self.messages = config.rounds, config.messages
        self.simultaneous = not self.messages
        given = config.unparsable
        self.otherwise = None if given is None else self._choice_of_all(str(given))

    # ---- What a subclass says -----------------------------------------------------------------

    @abstractmethod
    def choices(self, seat: str) -> Sequence[str]:
        """Return the legal choices of a seat; the same in every round."""

    @abstractmethod
    def new_game(self, rng: np.random.Generator) -> None:
        """Draw whatever chance decides, for all rounds: equal seeds must meet equal luck."""

    @abstractmethod
    def resolve(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Return the payoffs of the choices of a round, and remember the choices."""

    def before_choice(self) -> Protocol:
        """Ask what else is asked in a round, after the messages."""
        yield from ()

    def facts(self, seat: str) -> dict[str, Any]:
        """Return what a seat knows, as numbers for scripted agents."""
        return {}

    # ---- Rounds -------------------------------------------------------------------------------

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.round, self.length = 0, self.rounds
        self.starter = int(rng.integers(len(self.seats)))
        self.new_game(rng)
        while not self.over:
            self.said: dict[str, str] = {}
            for i in range(len(self.seats) if self.messages else 0):
                speaker = self.seats[(self.starter + self.round + i) % len(self.seats)]
                self.said[speaker] = yield One(speaker, phase="message", read=message)
            yield from self.before_choice()
            choices = yield All(
                self.seats, phase="choice", moves=self.choices, otherwise=self.otherwise
            )
            yield Pay(self.resolve(choices))
            self.round += 1

    @property
    def over(self) -> bool:
        return self.round >= self.length

    def worst_left(self, seat: str, earned: float) -> float:
        return min(0.0, self.payoff_range[0]) * (1 - self.round / self.rounds)

    def others(self, seat: str) -> list[str]:
        """Return the other seats in order."""
        return [a for a in self.seats if a != seat]

    # ---- Replies ------------------------------------------------------------------------------

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.round
        turn.notes["phase"] = self.phase

    def _choice_of_all(self, given: str) -> str:
        known = [set(self.choices(a)) for a in self.seats]
        found = [c for c in self.choices(self.seats[0]) if normalise(c) == normalise(given)]
        if len(found) != 1 or not all(found[0] in own for own in known):
            names = ", ".join(sorted(set.intersection(*known)))
            raise ConfigError(f"unparsable={given!r} must be a choice of every seat: {names}")
        return found[0]

    # ---- Prompts ------------------------------------------------------------------------------

    def heard(self, seat: str) -> list[str]:
        """Return quotes of the messages of this round that came after the seat's own."""
        order = list(self.said)
        since = order.index(seat) + 1 if seat in self.said else 0
        return [f"{s} said: {quote_line(self.said[s], MESSAGE_LENGTH)}" for s in order[since:]]

    def heard_tersely(self, seat: str) -> list[str]:
        """Return the beginnings of the others' messages of this round."""
        two = len(self.seats) == 2
        names = {s: "Other" if two else f"p{self.seats.index(s)}" for s in self.said if s != seat}
        return [f"{n}: {quote_line(self.said[s], TERSE_MESSAGE)}" for s, n in names.items()]

    def info(self, seat: str) -> dict[str, Any]:
        return {
            "player": self.seats.index(seat),
            "round": self.round,
            "rounds": self.rounds,
            "messages": dict(self.said),
            **self.facts(seat),
        }


def message(text: str) -> str:
    """Read a message: what stands in `<message>` tags or in `[say: ...]`, else the whole reply.

    It is one line in which everything can be seen; prompts quote it.

    >>> message('Thinking. <message>I have "rock".</message>')
    'I have "rock".'
    >>> message("[say: hello]"), message("<think>lie</think> [say: I have [paper]]")
    ('hello', 'I have [paper]')
    >>> message("[say: a] or rather [say: b].")
    'b'
    """
    said = spoken(text).rstrip()
    tagged = marks(said, ("message",), brackets=False)
    labelled, end = list(_SAY.finditer(said)), said.rfind("]")
    if labelled and labelled[-1].end() <= end:
        said = said[labelled[-1].end() : end]
    elif tagged:
        said = tagged[-1].text
    return " ".join(visible(said).split())[:MESSAGE_LENGTH]
