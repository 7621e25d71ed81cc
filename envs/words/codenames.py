"""Clues for some words of a board: one seat knows which are theirs, the other looks for them.

Agents        spymaster_0 (sees the colours), guesser_0
Observation   chat: rules and the table of things, then the board and the clue
Action        spymaster: text ending in a property and a number, e.g. [swims 2]; guesser: in a word
              of the board, e.g. [otter]
Reward        to both: 1 for each of their words that is found, -1 for a wrong one
Ends          with the first wrong word, or after as many as the number says
Options       none
References    mean payoff of a seat: random -0.1, oracle 1.4353 (exact): the best clue for a partner
              who takes it literally, over all boards; 3 is the most, and within reach of partners
              who have agreed on a code

A board has six of the twelve things, three of them the partners'. A literal guesser takes a word of
the board that has the property, all with equal chance, and any where none is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import NoArguments, Replies, mostly
from coevo.envs.words.things import PROPERTIES, THINGS, TRUE_OF, table

SPYMASTER, GUESSER = "spymaster_0", "guesser_0"
BOARD, OWN = 6, 3
"""Words of a board, and how many of them are to be found."""
CLUES = tuple(f"{p} {n}" for p in PROPERTIES for n in range(1, OWN + 1))


class Codenames(ProtocolTask[NoArguments]):
    """A clue, and words that it may mean."""

    env_id = "coevo/codenames-v0"
    seats = (SPYMASTER, GUESSER)
    payoff_range = (-1.0, float(OWN))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        drawn = rng.permutation(len(THINGS))[:BOARD]
        self.board = tuple(THINGS[i] for i in sorted(drawn))
        self.own = frozenset(THINGS[i] for i in drawn[:OWN])
        self.taken: list[str] = []
        self.clue: str | None = None
        self.clue = yield One(SPYMASTER, moves=CLUES)
        for _ in range(self.number):
            word = yield One(GUESSER, moves=self._left())
            self.taken.append(word)
            yield Pay(dict.fromkeys(self.seats, 1.0 if word in self.own else -1.0))
            if word not in self.own:
                break

    def _left(self) -> list[str]:
        return [word for word in self.board if word not in self.taken]

    @property
    def number(self) -> int:
        """How many words the clue is for."""
        return int(str(self.clue).rpartition(" ")[2])

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best clue for a literal guesser, or a literal guess, mostly."""
        if seat == SPYMASTER:
            best = max(worth(clue, self.board, self.own) for clue in CLUES)
            good = [c for c in CLUES if worth(c, self.board, self.own) > best - 1e-9]
            return mostly(CLUES, dict.fromkeys(good, 1.0), skill)
        left = self._left()
        return mostly(left, dict.fromkeys(meant(str(self.clue), left), 1.0), skill)

    def outcome(self) -> dict[str, float]:
        """Return how many words were found, and the number of the clue."""
        number = 0 if self.clue is None else self.number
        return {"found": float(len(self.own & set(self.taken))), "number": float(number)}

    def at_risk(self, seat: str) -> float:
        return 1.0

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the partners' words anew, those aside that were found."""
        if seat == SPYMASTER:
            return False
        left = self._left()
        drawn = rng.permutation(len(left))[: OWN - len(self.taken)]
        self.own = frozenset([*self.taken, *(left[i] for i in drawn)])
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        role = "spymaster: give a clue" if seat == SPYMASTER else "guesser: find the words"
        return (
            f"A game of clues for two partners, who win or lose together. {OWN} of the {BOARD} "
            "words on the board are theirs, and only the spymaster sees which. It gives one clue: "
            "a property of the table and a number. The guesser then takes so many words, one after "
            f"the other. Each of their own is worth 1 point to both; a wrong one costs 1 and ends "
            f"the game.\n{table()}\nYou are {seat}, the {role}."
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.moves_of(seat)))}"
        board = f"The board: {', '.join(self.board)}."
        if seat == SPYMASTER:
            return f"{board} Yours: {', '.join(self._yours())}. {moves}"
        found = f" Found: {', '.join(self.taken)}." if self.taken else ""
        return f"{board} The clue: {self.clue}.{found} {moves}"

    def _yours(self) -> list[str]:
        return [word for word in self.board if word in self.own]

    def terse(self, seat: str) -> str:
        if seat == SPYMASTER:
            others = " ".join(word for word in self.board if word not in self.own)
            return f"Clue for {' '.join(self._yours())}, not {others}. Answer as {answer(CLUES[1])}"
        left = self._left()
        return f"Clue: {self.clue}. Words: {' '.join(left)}. Answer as {answer(left[0])}"

    def draw(self) -> str:
        words = " ".join(word.upper() if word in self.own else word for word in self.board)
        return f"{words}\nclue: {self.clue or 'none yet'}\ntaken: {', '.join(self.taken) or '-'}"


def meant(clue: str, words: Sequence[str]) -> list[str]:
    """Return the words that a clue means literally; all of them where it means none.

    >>> meant("swims 2", ["cow", "otter", "snake"]), meant("swims 2", ["cow", "snake"])
    (['otter'], ['cow', 'snake'])
    """
    said = clue.rpartition(" ")[0]
    return [word for word in words if said in TRUE_OF[word]] or list(words)


def worth(clue: str, board: Sequence[str], own: frozenset[str]) -> float:
    """Return the expected payoff of a clue for a literal guesser.

    >>> worth("swims 2", ("bat", "bee", "cow", "dolphin", "otter", "snake"),
    ...       frozenset(["dolphin", "otter", "cow"]))
    2.0
    """
    mean = set(meant(clue, board))
    if mean == set(board):
        mean = set()
    rest, number = set(board) - mean, int(clue.rpartition(" ")[2])
    return _worth(len(mean & own), len(mean - own), len(rest & own), len(rest - own), number)


@lru_cache(maxsize=100_000)
def _worth(right: int, wrong: int, later: int, others: int, number: int) -> float:
    """Return the payoff of so many draws: from the words that are meant, then from the rest."""
    if not number:
        return 0.0
    if not right + wrong:
        right, wrong, later, others = later, others, 0, 0
    chance = right / (right + wrong)
    if chance == 0:
        return -1.0
    return chance * (1 + _worth(right - 1, wrong, later, others, number - 1)) - (1 - chance)


raw_env, env = turn_based(Codenames)
