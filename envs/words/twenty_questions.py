"""Questions over a finite table: one seat knows a thing, the other asks and names it.

Agents        asker_0, answerer_0 (sees the thing)
Observation   chat: rules and the table of things, then the question, or all answers so far
Action        asker: text ending in a question or in a thing, e.g. [swims] or [otter]; answerer: in
              [yes] or [no]
Reward        to both, when the asker names the right thing: 1 less `price` for every question; else
              nothing
Ends          when the asker names a thing; after `questions` it must
Options       questions, price of each
References    mean payoff of a seat: random 0.0782, oracle 0.6333 (exact), 3.67 questions

The oracle is an optimal decision tree where answers are true, by dynamic programming over what is
left. Answers need not be true, but no code does better: the table splits as if it had any question.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly
from coevo.envs.words.things import PROPERTIES, THINGS, TRUE_OF, table

ASKER, ANSWERER = "asker_0", "answerer_0"
ANSWERS = ("yes", "no")


@config
class TwentyQuestionsConfig:
    """How much may be asked."""

    questions: Annotated[int, whole(1, len(PROPERTIES))] = 6
    """Questions before a thing must be named."""
    price: Annotated[float, real(0, 1)] = 0.1
    """What a question takes off the point for the right thing."""

    def __post_init__(self) -> None:
        if self.questions * self.price > 1:
            raise ConfigError(
                f"questions={self.questions} at price={self.price} cost more than the point"
            )


class TwentyQuestions(ProtocolTask[TwentyQuestionsConfig]):
    env_id = "coevo/twenty_questions-v0"
    config_class = TwentyQuestionsConfig
    seats = (ASKER, ANSWERER)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.thing = THINGS[int(rng.integers(len(THINGS)))]
        self.told: list[tuple[str, str]] = []
        self.question: str | None = None
        self.named: str | None = None
        self.named = yield One(ASKER, moves=[*THINGS, *self._questions()])
        while self.named in PROPERTIES:
            self.question, self.named = self.named, None
            said = yield One(ANSWERER, moves=ANSWERS)
            self.told.append((self.question, said))
            self.question = None
            self.named = yield One(ASKER, moves=[*THINGS, *self._questions()])
        paid = (1 - self.config.price * len(self.told)) * (self.named == self.thing)
        yield Pay(dict.fromkeys(self.seats, paid))

    def _questions(self) -> list[str]:
        asked = {question for question, _ in self.told}
        left = len(self.told) < self.config.questions
        return [p for p in PROPERTIES if left and p not in asked]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the true answer, or the best question or name, mostly."""
        if seat == ANSWERER:
            true = ANSWERS[str(self.question) not in TRUE_OF[self.thing]]
            return mostly(ANSWERS, {true: 1.0}, skill)
        limits = self.config.questions, self.config.price
        best = best_moves(self.left(), len(self.told), *limits)
        return mostly(self.moves_of(seat), dict.fromkeys(best, 1.0), skill)

    def left(self) -> frozenset[str]:
        """Return the things that agree with all answers; all things where none does."""
        fit = frozenset(
            thing
            for thing, has in TRUE_OF.items()
            if all((question in has) == (said == "yes") for question, said in self.told)
        )
        return fit or frozenset(THINGS)

    def outcome(self) -> dict[str, float]:
        """Return the number of questions, whether the thing was named, and untrue answers."""
        true = [(q in TRUE_OF[self.thing]) == (said == "yes") for q, said in self.told]
        return {
            "questions": float(len(self.told)),
            "right": float(self.named == self.thing),
            "untrue_answers": float(true.count(False)),
        }

    def at_risk(self, seat: str) -> float:
        return 0.0

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw another thing: to the asker any answer may be untrue."""
        if seat == ANSWERER:
            return False
        self.thing = THINGS[int(rng.integers(len(THINGS)))]
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        asks = seat == ASKER
        role = "asker: ask, then name the thing" if asks else "answerer: answer yes or no"
        return (
            "A game of questions for two partners, who win or lose together. The answerer has one "
            "of the things in the table, each with equal chance. The asker asks what is true of "
            f"it, at most {self.config.questions} questions, and then names a thing, which ends "
            "the game. The right thing is worth 1 point to both, less "
            f"{self.config.price:g} for every question; a wrong one nothing.\n{table()}\n"
            f"You are {seat}, the {role}."
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.moves_of(seat)))}"
        if seat == ANSWERER:
            return f"The thing: {self.thing}. The question: {self.question}? {moves}"
        said = ", ".join(f"{question}? {told}" for question, told in self.told)
        left = self.config.questions - len(self.told)
        return f"Answers so far: {said or 'none'}. Questions left: {left}. {moves}"

    def terse(self, seat: str) -> str:
        if seat == ANSWERER:
            return f"The thing: {self.thing}. {self.question}? Answer [yes] or [no]"
        fit = " ".join(sorted(self.left()))
        asked = self._questions()
        head = f"Name the thing: {fit}."
        if not asked:
            return f"{head} Answer as {answer(THINGS[0])}"
        return f"{head} Or ask: {', '.join(asked)}. Answer as {answer(asked[0])}"

    def draw(self) -> str:
        lines = [f"{question}? {said}" for question, said in self.told]
        asked = [f"{self.question}?"] if self.question else []
        named = [f"named: {self.named}"] if self.named else []
        return "\n".join([f"thing: {self.thing}", *lines, *asked, *named])


@lru_cache(maxsize=200_000)
def value(left: frozenset[str], asked: int, most: int, price: float) -> float:
    """Return the best expected payoff with true answers and even chances of all that is left.

    V(S, n) = max( (1 - price n) / |S|, max over questions of the mean of V(part, n + 1) ); the
    second only below `most` questions.

    >>> value(frozenset(["bat", "cow"]), 0, 6, 0.1), value(frozenset(["cow"]), 3, 6, 0.1)
    (0.9, 0.7)
    """
    return max(_worth(left, asked, most, price).values())


def best_moves(left: frozenset[str], asked: int, most: int, price: float) -> list[str]:
    """Return the questions and things of the best expected payoff."""
    worth = _worth(left, asked, most, price)
    best = max(worth.values())
    return [move for move, value in worth.items() if value > best - 1e-9]


def _worth(left: frozenset[str], asked: int, most: int, price: float) -> dict[str, float]:
    """Return the expected payoff of every name, and of every question that excludes something."""
    worth = dict.fromkeys(sorted(left), (1 - price * asked) / len(left))
    for question in PROPERTIES if asked < most else ():
        yes = frozenset(thing for thing in left if question in TRUE_OF[thing])
        if yes and yes != left:
            parts = (yes, left - yes)
            values = (len(part) * value(part, asked + 1, most, price) for part in parts)
            worth[question] = sum(values) / len(left)
    return worth


raw_env, env = turn_based(TwentyQuestions)
