"""The Chameleon: all players but one know which word is meant, and that one must not be found.

Agents        player_0 .. player_{n-1}; the chameleon is drawn from them
Observation   chat: rules, the board and the secret word, or that one is the chameleon; then clues
              and messages of others
Action        text ending in a property of the table, e.g. [swims]; then a message to all; then, all
              at once, text ending in a player, e.g. [player_2]; a chameleon that is found ends its
              text in a word of the board
Reward        1 to the chameleon if it is not found, or names the word; else 1 to all others
Ends          after the vote, or the chameleon's guess
Options       players=4; talk=True; board=6
References    mean payoff of a seat: random 53/162 (exact), expert 0.278 (400 games; an
              expert chameleon gains more than the others), at most 0.75

The party game of Big Potato (2017), without its scores for several rounds. A clue need not be
true; no clue is given twice. Experts who know the word say what is true of it. An expert chameleon
says what is likely to be true, by what it has heard, and experts weigh all players by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.deduction.clue_game import (
    SLIP,
    ClueConfig,
    ClueGame,
    HiddenWords,
    true_clues,
    unsaid,
)
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.societies.table_talk import best, without
from coevo.envs.words.things import THINGS, TRUE_OF, table


@config
class ChameleonConfig(ClueConfig):
    board: Annotated[int, whole(2, len(THINGS))] = 6
    """Words of the table that may be meant."""


class Chameleon(ClueGame[ChameleonConfig]):
    env_id = "coevo/chameleon-v0"
    config_class = ChameleonConfig

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        drawn = rng.permutation(len(THINGS))[: self.config.board]
        self.board = [THINGS[i] for i in sorted(drawn)]
        self.guess: str | None = None
        who = self.seats[int(rng.integers(len(self.seats)))]
        self.world = HiddenWords(THINGS[drawn[0]], None, who)
        found = (yield from self.clues_and_vote()) == self.world.who
        if found:
            self.announce("You were found.", [self.world.who])
            self.guess = yield One(
                self.world.who, phase="guess", moves=self.board, expert=self._guess
            )
        won = not found or self.guess == self.world.word
        yield Pay({seat: float((seat == self.world.who) == won) for seat in self.seats})

    def worlds(self, seat: str) -> Sequence[HiddenWords]:
        if seat == self.world.who:
            return [HiddenWords(word, None, seat) for word in self.board]
        return [HiddenWords(self.world.word, None, who) for who in self.seats if who != seat]

    def clue_odds(
        self, world: HiddenWords, seat: str, before: Mapping[str, str]
    ) -> dict[str, float]:
        if seat != world.who:
            return super().clue_odds(world, seat, before)
        odds = self.word_odds(before)
        true = {p: sum(odds[w] for w in self.board if p in TRUE_OF[w]) for p in unsaid(before)}
        total = sum(true.values()) or 1.0
        return {p: value / total for p, value in true.items()}

    def word_odds(self, clues: Mapping[str, str]) -> dict[str, float]:
        """Return the probability of every word of the board, by clues of players who know it."""
        odds = dict.fromkeys(self.board, 1.0)
        for word in self.board:
            before: dict[str, str] = {}
            for seat, clue in clues.items():
                odds[word] *= true_clues(word, before)[clue] or SLIP
                before[seat] = clue
        total = sum(odds.values())
        return {word: p / total for word, p in odds.items()}

    def suspicion(self, seat: str) -> dict[str, float]:
        """Return the probability that each other player is the chameleon; itself, as if it knew."""
        if seat != self.world.who:
            return super().suspicion(seat)
        others = without(self.seats, seat)
        found = self.beliefs([HiddenWords(w, None, who) for w in self.board for who in others])
        return {o: sum(p for w, p in found.items() if w.who == o) for o in others}

    def _guess(self, seat: str, skill: float) -> Replies:
        beliefs = {world.word: p for world, p in self.beliefs(self.worlds(seat)).items()}
        return mostly(self.board, best(beliefs), skill)

    def outcome(self) -> dict[str, float]:
        """Return the share of votes for the chameleon, and whether it named the word."""
        votes = list(self.votes.values())
        if not votes:
            return {}
        right = votes.count(self.world.who) / len(votes)
        return {"votes_right": right, "word_named": float(self.guess == self.world.word)}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        talk = " Then each sends one message to all." if self.config.talk else ""
        form = f"\n{MESSAGE_FORMAT}" if self.config.talk else ""
        return (
            f"The Chameleon, a game of {len(self.seats)} players. One word of the board is meant. "
            "All players know which, but for one, the chameleon. In turn each gives a clue, a "
            f"property of the table that was not named before.{talk} Then all vote at the same "
            "time. If the chameleon alone has most votes, it is found and may name a word of the "
            "board. The chameleon gets 1 point if it is not found or names the word that is meant, "
            "and the others get nothing. Else the others get 1 point each and the chameleon "
            f"nothing.\n{table()}\nThe board: {', '.join(self.board)}.\n"
            f"You are {seat}. {self._identity(seat)}{form}"
        )

    def _identity(self, seat: str) -> str:
        word = self.world.word_of(seat)
        return f"The word is {word}." if word else "You are the chameleon."

    def question(self, seat: str) -> str:
        if self.phase == "guess":
            return self.choice(seat, "Which word is meant?")
        return super().question(seat)

    def terse(self, seat: str) -> str:
        board = f"Chameleon: one of us does not know the word of: {', '.join(self.board)}."
        head = f"{board} You are {seat}. {self._identity(seat)}"
        if self.phase == "guess":
            clues = ", ".join(self.clues.values())
            return f"{head} Clues: {clues}. Name the word: {' '.join(map(answer, self.board))}"
        return f"{head} {self.terse_question(seat)}"

    def draw(self) -> str:
        guess = [f"guess: {self.guess}"] if self.guess else []
        return "\n".join([f"board: {', '.join(self.board)}", super().draw(), *guess])


raw_env, env = turn_based(Chameleon)
