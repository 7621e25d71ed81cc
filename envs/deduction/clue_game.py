"""Games in which one player has another word than the rest, or none: clues, talk and one vote."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Stage
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.table_talk import TableTalk, best, says, seats_of, without
from coevo.envs.words.things import PROPERTIES, TRUE_OF

SLIP = 0.02
"""Chance that experts give to a clue that is not true of its player's word."""


class HiddenWords(NamedTuple):
    """What is hidden."""

    word: str
    """The word of all players but one."""
    other: str | None
    """The word of that one; None where it has none."""
    who: str
    """The one."""

    def word_of(self, seat: str) -> str | None:
        """Return the word of a seat."""
        return self.other if seat == self.who else self.word


@config
class ClueConfig:
    players: Annotated[int, whole(3, len(PROPERTIES) - 1)] = 4
    """Seats."""
    talk: Annotated[bool, Field(strict=True)] = True
    """Whether each player sends a message before the vote."""


C = TypeVar("C", bound=ClueConfig)


class ClueGame(TableTalk[C]):
    """One clue each, a property that was not named before; talk; a vote for another player."""

    payoff_range = (0.0, 1.0)
    world: HiddenWords

    def __init__(self, config: C) -> None:
        super().__init__(config)
        self.seats = seats_of(config.players)

    def clues_and_vote(self) -> Stage[str | None]:
        """Play until the vote; return who has most votes, if one has."""
        self.open_table()
        self.clues: dict[str, str] = {}
        for seat in self.seats:
            clue = yield One(seat, phase="clue", moves=unsaid(self.clues), expert=self.clue_replies)
            self.clues[seat] = clue
            self.announce(f"Clue of {seat}: {clue}.")
        if self.config.talk:
            yield from self.discuss(self.seats, self._speech)
        return (yield from self.vote(self.seats, self._ballot))

    @abstractmethod
    def worlds(self, seat: str) -> Sequence[HiddenWords]:
        """Return all worlds that agree with what a seat knows, each as likely at the start."""

    # ---- Experts -------------------------------------------------------------------------------

    def clue_replies(self, seat: str, skill: float) -> Replies:
        """Return an expert's clue: any that is true of its word."""
        odds = self.clue_odds(self.world, seat, self.clues)
        return mostly(list(odds), odds, skill)

    def clue_odds(
        self, world: HiddenWords, seat: str, before: Mapping[str, str]
    ) -> dict[str, float]:
        """Return the probability of every clue of an expert in a world, after some clues."""
        word = world.word_of(seat)
        assert word is not None
        return true_clues(word, before)

    def beliefs(self, worlds: Sequence[HiddenWords]) -> dict[HiddenWords, float]:
        """Return the probability of every world, where all give clues like experts."""
        odds = {world: self._odds(world) for world in worlds}
        total = sum(odds.values())
        return {world: p / total for world, p in odds.items()}

    def _odds(self, world: HiddenWords) -> float:
        product, before = 1.0, dict[str, str]()
        for seat, clue in self.clues.items():
            product *= self.clue_odds(world, seat, before)[clue] or SLIP
            before[seat] = clue
        return product

    def suspicion(self, seat: str) -> dict[str, float]:
        """Return the probability that each other player is the one, as a seat would say it."""
        found = dict.fromkeys(without(self.seats, seat), 0.0)
        for world, p in self.beliefs(self.worlds(seat)).items():
            if world.who in found:
                found[world.who] += p
        return found

    def _speech(self, seat: str, skill: float) -> Replies:
        named = next(iter(best(self.suspicion(seat))))
        return says(skill, f"I suspect {named}.", "I suspect no player.")

    def _ballot(self, seat: str, skill: float) -> Replies:
        return mostly(self.moves_of(seat), best(self.suspicion(seat)), skill)

    # ---- Hooks ---------------------------------------------------------------------------------

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw one of the worlds that agree with what the seat knows."""
        worlds = self.worlds(seat)
        self.world = worlds[int(rng.integers(len(worlds)))]
        return len(worlds) > 1

    def info(self, seat: str) -> dict[str, Any]:
        own = {"word": self.world.word_of(seat), "clues": dict(self.clues)}
        return {**super().info(seat), **own}

    def question(self, seat: str) -> str:
        if self.phase == "clue":
            return self.choice(seat, "Your clue?")
        if self.phase == "talk":
            return "Your message to all?"
        return self.choice(seat, "Whom do you vote for?")

    def terse_question(self, seat: str) -> str:
        """Return the clues, what was said, and what a seat is asked."""
        clues = ", ".join(f"{s} {clue}" for s, clue in self.clues.items()) or "none yet"
        asked = {"clue": "Give a clue:", "talk": "Speak to all: [say: text]", "vote": "Vote for:"}
        moves = [] if self.phase == "talk" else map(answer, self.moves_of(seat))
        parts = [f"Clues: {clues}.", self.heard_tersely(seat), asked[self.phase], *moves]
        return " ".join(filter(None, parts))

    def draw(self) -> str:
        words = [f"{s}: {self.world.word_of(s) or 'no word'}" for s in self.seats]
        clues = [f"{s}: clue {clue}" for s, clue in self.clues.items()]
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        votes = [f"{s}: vote for {v}" for s, v in self.votes.items()]
        return "\n".join([*words, *clues, *said, *votes])


def unsaid(clues: Mapping[str, str]) -> list[str]:
    """Return the properties that no clue named."""
    return [p for p in PROPERTIES if p not in clues.values()]


def true_clues(word: str, before: Mapping[str, str]) -> dict[str, float]:
    """Return equal odds for the clues that are true of a word; for all where none is left.

    >>> sorted(clue for clue, p in true_clues("dolphin", {}).items() if p == 0.5)
    ['eats meat', 'swims']
    """
    left = unsaid(before)
    true = [p for p in left if p in TRUE_OF[word]] or left
    return {p: (p in true) / len(true) for p in left}
