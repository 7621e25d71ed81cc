"""Digit message: one seat tells its digit in a message of its own, another adds its own digit.

Agents        sender_0, receiver_0
Observation   chat: rules and the own digit; for the receiver what the sender said
Action        sender: a message in any words or, with listed=True, one of three forms, [sentence],
              [code] or [noise]; receiver: a number from [0] to below `digits`
Reward        at the end, to both: 1 if the number is the sum of the two digits modulo `digits`
Ends          after the receiver's number, or with noise, which cannot be answered
Options       digits=5 (2 to 10) that there are; listed=False
References    random 0.2 (one number in five), oracle 1

The smallest task in which a team has to talk: what a message is worth shows in the answer alone.
Reward modules may charge for its length, as Optima does (arXiv 2410.08115); `words` is logged. A
sentence has twelve words, a code two, and noise one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer, heard, spoken
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.discussion.question_env import listing

SENDER, RECEIVER = "sender_0", "receiver_0"
FORMS = {
    "sentence": "My partner, the digit that I hold in my hand is {}.",
    "code": "Digit {}.",
    "noise": "Hm.",
}
"""Form of a message -> its words."""
NOISE = "noise"
_NUMBER = re.compile(r"\d+")


@config
class DigitMessageConfig:
    digits: Annotated[int, whole(2, 10)] = 5
    """Digits that there are, from 0 on."""
    listed: Annotated[bool, Field(strict=True)] = False
    """Whether messages are chosen from three forms."""


class DigitMessage(ProtocolTask[DigitMessageConfig]):
    env_id = "coevo/digit_message-v0"
    config_class = DigitMessageConfig
    seats = (SENDER, RECEIVER)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.sent, self.own = (int(d) for d in rng.integers(self.config.digits, size=2))
        self.task_id = f"{self.sent}+{self.own}"
        self.message, self.chosen, self.given = "", "", ""
        if self.config.listed:
            self.chosen = yield One(SENDER, moves=tuple(FORMS))
            self.message = FORMS[self.chosen].format(self.sent)
            if self.chosen == NOISE:
                return
        else:
            yield One(SENDER, read=lambda text: heard(text).strip())
            self.message = spoken(self.turns[-1].text).strip()
        self.given = yield One(RECEIVER, moves=[str(n) for n in range(self.config.digits)])
        yield Pay(dict.fromkeys(self.seats, float(self.given == self.right)))

    @property
    def right(self) -> str:
        """The right answer."""
        return str((self.sent + self.own) % self.config.digits)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the other seat's digit again."""
        drawn = int(rng.integers(self.config.digits))
        if seat == SENDER:
            self.own = drawn
        else:
            self.sent = drawn
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Tell the digit, or add the first number of the message to the own digit; mostly."""
        if seat == SENDER and self.config.listed:
            return mostly(self.moves_of(seat), {"code": 1.0}, skill)
        if seat == SENDER:
            told = [FORMS["sentence"].format(n) for n in range(self.config.digits)]
            return _mostly_text(told, self.sent, skill)
        number = _NUMBER.search(self.message)
        if number is None:
            return mostly(self.moves_of(seat), dict.fromkeys(self.moves_of(seat), 1.0), skill)
        summed = str((int(number[0]) + self.own) % self.config.digits)
        return mostly(self.moves_of(seat), {summed: 1.0}, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        most = self.config.digits
        form = ""
        if self.config.listed:
            form = f" It chooses the form of its message; {NOISE} ends the task without an answer."
        own = f"Your digit is {self.sent if seat == SENDER else self.own}."
        return (
            f"{SENDER} and {RECEIVER} hold a digit each, from 0 to {most - 1}. {SENDER} sends a "
            f"message, and {RECEIVER} answers with the sum of both digits modulo {most}: after "
            f"{most - 1} comes 0 again.{form} Both of you earn 1 if the answer is right.\n"
            f"You are {seat}. {own}"
        )

    def situation(self, seat: str) -> str:
        if seat == RECEIVER:
            return f"{SENDER} says:\n{quote(self.message)}\nThe sum?{listing(self.moves_of(seat))}"
        forms = "\n".join(f"{form}: {text.format(self.sent)}" for form, text in FORMS.items())
        listed = f" One of these:\n{forms}{listing(self.moves_of(seat))}"
        return f"Your message?{listed if self.config.listed else ''}"

    def terse(self, seat: str) -> str:
        if seat == SENDER:
            forms = f" Answer {' '.join(map(answer, FORMS))}" if self.config.listed else ""
            return f"Tell your partner your digit, {self.sent}, in a message.{forms}"
        said = quote_line(self.message, 120)
        return (
            f"You have {self.own}. Your partner says: {said} The sum modulo "
            f"{self.config.digits}? Answer [move]"
        )

    def draw(self) -> str:
        said = self.message or "nothing yet"
        return f"{SENDER} has {self.sent} and says: {said}\n{RECEIVER} has {self.own}: {self.given}"

    def outcome(self) -> dict[str, float]:
        """Return whether the answer was right, and how long the message was."""
        found = {
            "accuracy": float(self.given == self.right),
            "words": float(len(self.message.split())),
        }
        forms = {f"form/{form}": float(form == self.chosen) for form in FORMS}
        return found | (forms if self.config.listed else {})


def _mostly_text(texts: list[str], best: int, skill: float) -> Replies:
    odds = np.full(len(texts), (1 - skill) / len(texts))
    odds[best] += skill
    return Replies(tuple(texts), odds)


raw_env, env = turn_based(DigitMessage)
