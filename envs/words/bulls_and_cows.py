"""Bulls and cows: one seat hides a code of different letters, the other finds it by few guesses.

Agents        setter_0, breaker_0
Observation   chat: rules, then for the breaker all guesses so far with their answers
Action        text ending in a code in square brackets, e.g. [ABD]
Reward        breaker 1 for the first guess, falling evenly to -1 where no guess finds the code;
              setter the opposite
Ends          when the code is found, or after `guesses`
Options       letters, length of the code, guesses
References    return against random play over both seats: random 0, oracle 0.5305 (exact); the value
              for the breaker is 1/3: 72 guesses for 24 codes, three on average

By symmetry between letters and places the setter can do no better than to draw evenly, and the best
decision tree against that is an equilibrium (code_search.py). The expert breaker follows such
trees; the expert setter draws evenly, as a random one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import perm
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly
from coevo.envs.words.code_search import Answer, answered, code_search

CODES = 60
"""Most codes that the exact search takes on."""
SETTER, BREAKER = "setter_0", "breaker_0"


@config
class BullsAndCowsConfig:
    """How large the code is."""

    letters: Annotated[int, whole(2, 8)] = 4
    """Letters that a code may have: A, B, ..."""
    length: Annotated[int, whole(1, 4)] = 3
    """Letters of a code, all different."""
    guesses: Annotated[int, whole(1, 100)] = 6
    """Guesses that the breaker has."""

    def __post_init__(self) -> None:
        if self.length > self.letters:
            raise ConfigError(f"length={self.length} must be at most letters={self.letters}")
        if perm(self.letters, self.length) > CODES:
            raise ConfigError(
                f"letters={self.letters} with length={self.length}: more than {CODES} codes"
            )


class BullsAndCows(ProtocolTask[BullsAndCowsConfig]):
    env_id = "coevo/bulls_and_cows-v0"
    config_class = BullsAndCowsConfig
    seats = (SETTER, BREAKER)
    payoff_range = (-1.0, 1.0)
    zero_sum = True

    def __init__(self, config: BullsAndCowsConfig) -> None:
        super().__init__(config)
        self.search = code_search(config.letters, config.length)
        self.letters = "".join(sorted(set("".join(self.search.codes))))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.told: list[tuple[str, Answer]] = []
        self.code: str | None = None
        self.code = yield One(SETTER, moves=self.search.codes)
        while len(self.told) < self.config.guesses and not self._found():
            guess = yield One(BREAKER, moves=self.search.codes)
            self.told.append((guess, answered(guess, self.code)))
        paid = self.payoff(len(self.told) if self._found() else None)
        yield Pay({BREAKER: paid, SETTER: -paid})

    def _found(self) -> bool:
        return bool(self.told) and self.told[-1][0] == self.code

    def payoff(self, guesses: int | None) -> float:
        """Return what so many guesses are worth to the breaker; None for a code not found.

        >>> task = BullsAndCows(BullsAndCowsConfig(guesses=4))
        >>> [task.payoff(n) for n in (1, 2, 4, None)]
        [1.0, 0.5, -0.5, -1.0]
        """
        tried = self.config.guesses if guesses is None else guesses - 1
        return 1 - 2 * tried / self.config.guesses

    def expert(self, seat: str, skill: float) -> Replies:
        """Return any code for the setter, a guess of a best tree for the breaker, mostly."""
        good = self.search.codes
        if seat == BREAKER:
            good = tuple(self.search.best(self.search.left(self.told)))
        return mostly(self.search.codes, dict.fromkeys(good, 1.0), skill)

    def outcome(self) -> dict[str, float]:
        """Return the number of guesses, and whether the code was found."""
        return {"guesses": float(len(self.told)), "found": float(self._found())}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the code among those that agree with all answers so far."""
        if seat == SETTER or self.code is None:
            return False
        left = self.search.left(self.told)
        possible = [code for i, code in enumerate(self.search.codes) if left >> i & 1]
        self.code = str(rng.choice(possible))
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        most, length = self.config.guesses, self.config.length
        role = "setter: hide a code" if seat == SETTER else "breaker: find the code"
        return (
            f"Bulls and cows. The setter hides a code of {length} different letters out of "
            f"{self.letters}. The breaker guesses codes, at most {most} times. After each guess it "
            "is told the bulls, letters in their right place, and the cows, letters of the code in "
            "a wrong place. The breaker gets 1 point for finding the code at once, "
            f"{2 / most:.3g} less for each further guess, and -1 if it does not find it; the "
            f"setter gets the opposite.\nYou are {seat}, the {role}."
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.search.codes))}"
        if seat == SETTER:
            return f"Which code do you hide? {moves}"
        lines = [f"{guess}: {bulls} bulls, {cows} cows" for guess, (bulls, cows) in self.told]
        asked = f"Guess {len(self.told) + 1} of {self.config.guesses}. {moves}"
        return "\n".join(["Told so far:", *lines, asked] if lines else [asked])

    def terse(self, seat: str) -> str:
        head = f"Bulls and cows: {self.config.length} of {self.letters}."
        example = answer(self.search.codes[0])
        if seat == SETTER:
            return f"{head} You hide a code. Answer as {example}"
        told = ", ".join(f"{guess} {bulls}b{cows}c" for guess, (bulls, cows) in self.told)
        left = self.config.guesses - len(self.told)
        return f"{head} You guess, {left} left. {told or 'Nothing told'}. Answer as {example}"

    def draw(self) -> str:
        lines = [f"{guess}: {bulls} bulls, {cows} cows" for guess, (bulls, cows) in self.told]
        return "\n".join([f"code: {self.code or 'not hidden yet'}", *lines])


raw_env, env = turn_based(BullsAndCows)
