"""A team that may be wordy, terse or unintelligible: one seat tells its digit, the other adds.

Sender     sees a digit and says it in a `sentence` (12 tokens), as a `code` (2), or makes `noise`
           (1), which ends the play: nobody can answer.
Receiver   sees its own digit and what was said, and answers the sum modulo `digits`.
Payoff     1 to both for the right answer. How long a message is, and how strange it is to the start
           model (its loss per token: 1.5, 2.5 and 4), is said by `MessageTerm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.rewards import RewardModule, Rewards
from coevo.envs.core.task import Task

ID = "coevo/codes-v0"
SENDER, RECEIVER = "sender_0", "receiver_0"
TOKENS = {"sentence": 12, "code": 2, "noise": 1}
LOSS = {"sentence": 1.5, "code": 2.5, "noise": 4.0}


@config
class CodesConfig:
    """What the task takes."""

    digits: Annotated[int, whole(2, 10)] = 5
    """Digits are below this, and so are answers."""


class Codes(Task[CodesConfig]):
    """Two digits, one message, one answer."""

    env_id = ID
    config_class = CodesConfig
    seats = (SENDER, RECEIVER)
    payoff_range = (0.0, 1.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Draw both digits."""
        self.told, self.own = (int(d) for d in rng.integers(self.config.digits, size=2))
        self.task_id = f"{self.told}+{self.own}"
        self.form, self.answered = "", -1

    def to_move(self) -> Sequence[str]:
        """Return the sender, then the receiver if it can have understood."""
        if not self.form:
            return (SENDER,)
        return (RECEIVER,) if self.form != "noise" and self.answered < 0 else ()

    def legal(self, seat: str) -> Sequence[str]:
        """Return the forms of a message, or all answers."""
        return tuple(TOKENS) if seat == SENDER else tuple(map(str, range(self.config.digits)))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Take the message, or the answer, and pay both for a right one."""
        if SENDER in moves:
            self.form = moves[SENDER]
            return {}
        self.answered = int(moves[RECEIVER])
        return dict.fromkeys(self.seats, float(self.right))

    @property
    def right(self) -> bool:
        """Whether the answer is the sum."""
        return self.answered == (self.told + self.own) % self.config.digits

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Two partners add their digits modulo {self.config.digits}. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the own digit and what was said."""
        if seat == SENDER:
            return f"You are to tell your digit, {self.told}."
        return f"You have {self.own}. Your partner's {self.form} says {self.told}."

    def terse(self, seat: str) -> str:
        """Return the own digit and what was said."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return both digits, the form and the answer."""
        return f"{self.told} + {self.own}: {self.form or '?'}, {self.answered}"

    def outcome(self) -> dict[str, float]:
        """Return whether it was right, and how long the message was."""
        found = {"right": float(self.right), "tokens": float(TOKENS.get(self.form, 0))}
        return found | {f"form/{f}": float(f == self.form) for f in TOKENS}


@config
class MessageTerm(RewardModule):
    """Pays both seats for the sender's message: minus its share of the longest, or 1 / its loss."""

    name: Literal["message"] = "message"
    of: Literal["brevity", "readability"] = "brevity"

    @property
    def component(self) -> str:
        """What it pays for."""
        return self.of

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        """Pay when the message is sent."""
        if turn.agent != SENDER or turn.move is None:
            return {}
        worth = 1 / LOSS[turn.move]
        if self.of == "brevity":
            worth = -TOKENS[turn.move] / max(TOKENS.values())
        return dict.fromkeys(episode.agents, worth)


raw_env = raw_factory(Codes)
env = aec_factory(Codes)
register(ID, __name__, "one digit told, two added", kind="cooperative", listed=False)
