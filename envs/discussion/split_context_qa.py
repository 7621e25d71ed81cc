r"""Split context: two readers hold half of the facts each, and must agree on an answer.

Agents        reader_0, reader_1, in turn
Observation   chat: rules, the reader's own facts, the question, and what the other said
Action        any text; an answer is an animal as the final answer, \boxed{owl} or ending in [owl]
Reward        at the end, to both: 1 if both gave the same answer and it is right, else 0
Ends          when a reader repeats the answer that the other has just given, or after `turns`
              messages of both together
Options       people=3 (2 to 4), who live in as many towns; turns=6
References    random and oracle: see the registry

The information exchange of Optima (arXiv 2410.08115): a question over two facts, of which neither
reader has both. `reader_0` knows who lives where, `reader_1` which animal lives in which town.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer, heard
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import even, mixed, quoted
from coevo.envs.questions import final_answer

LIVES, KEEPS = "reader_0", "reader_1"
PEOPLE = ("Ann", "Ben", "Mia", "Tom")
TOWNS = ("Lume", "Kelo", "Tiva", "Mora")
ANIMALS = ("owl", "fox", "hen", "cat")


@config
class SplitContextQaConfig:
    people: Annotated[int, whole(2, 4)] = 3
    """Number of people, towns and animals."""
    turns: Annotated[int, whole(2, 100)] = 6
    """Messages of both readers together, at most."""


class SplitContextQa(ProtocolTask[SplitContextQaConfig]):
    """Two readers with half of the facts each."""

    env_id = "coevo/split_context_qa-v0"
    config_class = SplitContextQaConfig
    payoff_range = (0.0, 1.0)
    seats = (LIVES, KEEPS)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        size = self.config.people
        self.names, self.animals = PEOPLE[:size], ANIMALS[:size]
        self.town_of = _dealt(self.names, rng)
        self.animal_of = _dealt(self.animals, rng)
        self.asked_of = self.names[int(rng.integers(size))]
        self.said: list[Turn] = []
        self.agreed = ""
        while len(self.said) < self.config.turns and not self.agreed:
            seat = self.seats[len(self.said) % 2]
            yield One(seat, read=lambda text: heard(text).strip())
            self.said.append(self.turns[-1])
            given = [turn.answer for turn in self.said[-2:]]
            if len(given) == 2 and given[0] is not None and given[0] == given[1]:
                self.agreed = given[0]
        yield Pay(dict.fromkeys(self.seats, float(self.agreed == self.right)))

    @property
    def right(self) -> str:
        """The right answer."""
        return self.animal_of[self.town_of[self.asked_of]]

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        given = (final_answer(turn.text) or "").strip(" .").lower()
        if given in self.animals:
            turn.answer, turn.verified = given, float(given == self.right)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Deal the facts of the other reader again."""
        if seat == LIVES:
            self.animal_of = _dealt(self.animals, rng)
        else:
            self.town_of = _dealt(self.names, rng)
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Tell the town, find its animal, repeat the other's answer; else any animal."""
        last = self.said[-1] if self.said else None
        town = self.town_of[self.asked_of]
        if seat == LIVES:
            known = last is not None and last.answer is not None
            best = answer(str(last.answer)) if known and last else f"{self.asked_of}: {town}"
        else:
            told = [t for t in _towns(last.text if last else "") if t in self.animal_of]
            best = answer(self.animal_of[told[-1]]) if told else "Which town?"
        guesses = mixed((1.0, even(self.animals)))
        odds = dict(zip(guesses.texts, (1 - skill) * guesses.probabilities, strict=True))
        odds[best] = odds.get(best, 0.0) + skill
        kept = {text: p for text, p in odds.items() if p > 0}
        return Replies(tuple(kept), np.array(list(kept.values())))

    # ---- Prompts ---------------------------------------------------------------------------

    @property
    def question(self) -> str:
        return f"Which animal lives in the town of {self.asked_of}?"

    def _facts(self, seat: str) -> str:
        if seat == LIVES:
            return " ".join(f"{name} lives in {self.town_of[name]}." for name in self.names)
        return " ".join(f"The {self.animal_of[t]} lives in {t}." for t in sorted(self.animal_of))

    def rules(self, seat: str) -> str:
        other = self.seats[1 - self.seats.index(seat)]
        return (
            f"{LIVES} and {KEEPS} answer a question together. Each has facts that the other does "
            f"not see, and the answer needs facts of both. You write messages in turn, "
            f"{self.config.turns} in all at most. When you know the answer, end your message with "
            "the animal in square brackets. The task ends when one of you repeats the answer that "
            f"the other has just given. Both of you earn 1 if it is right, and 0 otherwise.\n"
            f"You are {seat}; the other is {other}. Your facts: {self._facts(seat)}"
        )

    def situation(self, seat: str) -> str:
        parts = [f"Question: {self.question}"] if len(self.said) < 2 else []
        if self.said:
            turn = self.said[-1]
            parts.append(f"{turn.agent} says:\n{quoted(turn)}")
        left = self.config.turns - len(self.said)
        parts.append(f"Messages left, with yours: {left}. Your message?")
        return "\n".join(parts)

    def terse(self, seat: str) -> str:
        told = ""
        if self.said:
            last = self.said[-1]
            heard_of = [last.answer or "", *(t for t in _towns(last.text) if t in self.animal_of)]
            told = f" Other: {', '.join(filter(None, heard_of)) or 'nothing'}."
        return f"{self._facts(seat)} {self.question}{told} Tell the other, or answer [animal]."

    def draw(self) -> str:
        lines = [self._facts(LIVES), self._facts(KEEPS), f"{self.question} {self.right}"]
        lines += [f"{turn.agent}: {turn.answer or 'a message'}" for turn in self.said]
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return whether both agreed and on what is right, and how many messages that took."""
        return {
            "accuracy": float(self.agreed == self.right),
            "agreed": float(bool(self.agreed)),
            "messages": float(len(self.said)),
        }


def _dealt(what: tuple[str, ...], rng: np.random.Generator) -> dict[str, str]:
    """Deal the towns to people, or the animals to the towns."""
    order = [int(i) for i in rng.permutation(len(what))]
    if what[0] in PEOPLE:
        return {name: TOWNS[i] for name, i in zip(what, order, strict=True)}
    return {TOWNS[i]: animal for animal, i in zip(what, order, strict=True)}


def _towns(text: str) -> list[str]:
    """Return the towns that a message names, in its order.

    >>> _towns("Ann lives in lume, Ben in Kelo.")
    ['Lume', 'Kelo']
    """
    found = re.findall(rf"\b({'|'.join(TOWNS)})\b", heard(text), re.IGNORECASE)
    return [name.capitalize() for name in found]


raw_env, env = turn_based(SplitContextQa)
