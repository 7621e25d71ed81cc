"""Undercover: one player has another word than the rest, and no player knows whether it is the one.

Agents        player_0 .. player_{n-1}; words are drawn over them
Observation   chat: rules, the table of things and the own word, then clues and messages of others
Action        text ending in a property of the table, e.g. [swims]; then a message to all; then, all
              at once, text ending in a player, e.g. [player_2]
Reward        if the one has most votes, 1 to all others; else 1 to the one
Ends          after the vote
Options       players=4; talk=True
References    mean payoff of a seat: random 37/108 (exact), expert 0.559 (400 games; the
              best play known)

The party game Undercover, or Who is the Spy, with one round. Both words are things of the table
that differ in at most three properties; all pairs of them and all seats are as likely. A clue need
not be true; no clue is given twice. Experts say what is true of their word, and weigh all pairs of
words and seats by the clues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import Pay, Protocol
from coevo.envs.deduction.clue_game import ClueConfig, ClueGame, HiddenWords
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.words.things import THINGS, TRUE_OF, table

NEAR = 3
"""Properties in which the two words differ at most."""
PAIRS = [(a, b) for a, b in permutations(THINGS, 2) if len(TRUE_OF[a] ^ TRUE_OF[b]) <= NEAR]
"""Words of most players, and of the one."""


class Undercover(ClueGame[ClueConfig]):
    env_id = "coevo/undercover-v0"
    config_class = ClueConfig

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        word, other = PAIRS[int(rng.integers(len(PAIRS)))]
        self.world = HiddenWords(word, other, self.seats[int(rng.integers(len(self.seats)))])
        found = (yield from self.clues_and_vote()) == self.world.who
        yield Pay({seat: float((seat != self.world.who) == found) for seat in self.seats})

    def worlds(self, seat: str) -> Sequence[HiddenWords]:
        own = self.world.word_of(seat)
        every = (HiddenWords(*pair, who) for pair in PAIRS for who in self.seats)
        return [world for world in every if world.word_of(seat) == own]

    def outcome(self) -> dict[str, float]:
        """Return the share of votes for the one."""
        votes = list(self.votes.values())
        return {"votes_right": votes.count(self.world.who) / len(votes)} if votes else {}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        talk = " Then each sends one message to all." if self.config.talk else ""
        form = f"\n{MESSAGE_FORMAT}" if self.config.talk else ""
        return (
            f"Undercover, a game of {len(self.seats)} players. Each has a word of the table. All "
            "words are the same but one: one player is undercover and has a similar word. No "
            "player is told who it is, so it may be you. In turn each gives a clue to its word, a "
            f"property that was not named before.{talk} Then all vote at the same time. If the "
            "undercover player alone has most votes, all others get 1 point and it gets nothing. "
            f"Else it gets 1 point and the others nothing.\n{table()}\n"
            f"You are {seat}. Your word: {self.world.word_of(seat)}.{form}"
        )

    def terse(self, seat: str) -> str:
        word = self.world.word_of(seat)
        head = f"Undercover: one of us has another word. You are {seat}, your word is {word}."
        return f"{head} {self.terse_question(seat)}"


raw_env, env = turn_based(Undercover)
