"""Taboo: describe a word without the words that come to mind first; the other one names it.

Agents        describer_0 (sees the word and the forbidden ones), guesser_0
Observation   chat: rules and the words that may be meant, then the clue
Action        describer: a clue in free text, <message>text</message> or [say: text]; guesser: text
              ending in a word of the list, e.g. [piano]
Reward        to both, 1 if the first guess is right, less `1 / clues` for every wrong one; nothing
              if a clue says the word or a forbidden one
Ends          with the right word, the last guess, or a clue that is not allowed
Options       clues=2; words=6
References    mean payoff of a seat: random 0.25, oracle 1 (exact): the hints of the cards

The party game of Brian Hersch (1989) for two partners. A clue is checked exactly: the word and the
forbidden words, inflected, inside of longer words, spelled letter by letter, backwards, with digits
or look-alike letters (`coevo.envs.words.forbidden`). Experts know three hints for every card, of
which no two cards share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT, MESSAGE_LENGTH, message
from coevo.envs.words.forbidden import said

DESCRIBER, GUESSER = "describer_0", "guesser_0"


class TabooCard(NamedTuple):
    """One word to describe."""

    forbidden: tuple[str, ...]
    hints: tuple[str, ...]
    """What an expert may say."""


_CARDS = """
bread     bake flour butter toast            loaf crust sandwich
bridge    river cross road water             span pylons pillars
clock     time hour watch alarm              ticking pendulum tower
doctor    hospital sick nurse medicine       stethoscope surgery clinic
elephant  trunk big animal grey              tusks ivory savannah
football  ball kick goal team                stadium referee penalty
garden    flower plant grow grass            hedge gnome backyard
library   book read borrow quiet             shelves catalogue archive
milk      cow drink white dairy              calcium cereal udder
mirror    glass reflect look face            vanity bathroom silvered
moon      night sky sun space                crescent tides eclipse
piano     key music play instrument          pedals chords octave
snow      cold winter white ice              flakes skiing avalanche
train     rail station track travel          locomotive carriage conductor
umbrella  rain wet weather open              parasol drizzle canopy
winter    cold snow season summer            december scarf solstice
"""
CARDS = {
    word: TabooCard(tuple(rest[:4]), tuple(rest[4:]))
    for word, *rest in (line.split() for line in _CARDS.strip().splitlines())
}
"""Word -> its card."""


@config
class TabooConfig:
    clues: Annotated[int, whole(1, 5)] = 2
    """Clues and guesses."""
    words: Annotated[int, whole(2, len(CARDS))] = 6
    """Words that may be meant."""


class Taboo(ProtocolTask[TabooConfig]):
    env_id = "coevo/taboo-v0"
    config_class = TabooConfig
    seats = (DESCRIBER, GUESSER)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        drawn = rng.permutation(len(CARDS))[: self.config.words]
        self.words = [list(CARDS)[i] for i in sorted(drawn)]
        self.word = list(CARDS)[drawn[0]]
        self.clues: list[str] = []
        self.guesses: list[str] = []
        self.broken: list[str] = []
        while len(self.clues) < self.config.clues and self.word not in self.guesses:
            self.clues.append((yield One(DESCRIBER, phase="clue", read=message)))
            self.broken = said(self.clues[-1], (self.word, *CARDS[self.word].forbidden))
            self.note("forbidden", self.broken)
            if self.broken:
                return
            self.guesses.append((yield One(GUESSER, phase="guess", moves=self.left())))
        if self.word in self.guesses:
            worth = 1 - (len(self.guesses) - 1) / self.config.clues
            yield Pay(dict.fromkeys(self.seats, worth))

    def left(self) -> list[str]:
        """Return the words that were not named yet."""
        return [word for word in self.words if word not in self.guesses]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return a hint of the card, or the word whose hints are in the clues, mostly."""
        if seat == DESCRIBER:
            hints = CARDS[self.word].hints
            texts = (*(f"Think of {hint}." for hint in hints), "It is hard to say.")
            return Replies(texts, np.array([*[skill / len(hints)] * len(hints), 1 - skill]))
        left, clues = self.left(), " ".join(self.clues)
        hits = {word: float(len(said(clues, CARDS[word].hints))) for word in left}
        most = max(hits.values())
        return mostly(left, {word: 1.0 for word in left if hits[word] == most}, skill)

    def outcome(self) -> dict[str, float]:
        """Return whether the word was named, the number of clues, and forbidden words said."""
        return {
            "right": float(self.word in self.guesses),
            "clues": float(len(self.clues)),
            "forbidden": float(len(self.broken)),
        }

    def at_risk(self, seat: str) -> float:
        return 0.0

    def info(self, seat: str) -> dict[str, Any]:
        own = {"word": self.word} if seat == DESCRIBER else {"clues": list(self.clues)}
        return {"words": list(self.words), "guesses": list(self.guesses), **own}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw another word: to the guesser a clue may be about any that is left."""
        if seat == DESCRIBER:
            return False
        left = self.left()
        self.word = left[int(rng.integers(len(left)))]
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        n = self.config.clues
        many = f", for up to {n} clues" if n > 1 else ""
        rules = (
            "Taboo, a game for two partners, who win or lose together. The describer has one of "
            "the words of a list and gives a clue to it, without the word and without its "
            f"forbidden words. The guesser names a word of the list{many}. The right word is worth "
            f"1 point to both, less {1 / n:.3g} for every wrong guess. A clue that says the word "
            "or a forbidden one, in any form, also as a part of another word or spelled out, ends "
            f"the game without points.\nThe list: {', '.join(self.words)}."
        )
        if seat == GUESSER:
            return f"{rules}\nYou are {seat}, the guesser."
        forbidden = ", ".join(CARDS[self.word].forbidden)
        return (
            f"{rules}\nYou are {seat}, the describer. Your word: {self.word}. Forbidden: "
            f"{forbidden}.\n{MESSAGE_FORMAT}"
        )

    def situation(self, seat: str) -> str:
        if seat == DESCRIBER:
            wrong = f"Your partner named {self.guesses[-1]}. " if self.guesses else ""
            return f"{wrong}Your clue?"
        moves = f"Legal moves: {', '.join(map(answer, self.left()))}"
        return f"The clue: {quote_line(self.clues[-1], MESSAGE_LENGTH)}\nYour guess? {moves}"

    def terse(self, seat: str) -> str:
        if seat == DESCRIBER:
            forbidden = ", ".join(CARDS[self.word].forbidden)
            return f"Describe {self.word}. Do not say: {forbidden}. Answer [say: text]"
        clues = " ".join(quote_line(clue, 120) for clue in self.clues)
        return f"The clue: {clues} Which word? {' '.join(map(answer, self.left()))}"

    def draw(self) -> str:
        forbidden = ", ".join(CARDS[self.word].forbidden)
        clues = [f"clue: {quote_line(clue)}" for clue in self.clues]
        named = ", ".join(self.guesses) or "no guess yet"
        return "\n".join([f"{self.word} (forbidden: {forbidden})", *clues, f"guessed: {named}"])


raw_env, env = turn_based(Taboo)
