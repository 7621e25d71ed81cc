r"""Clarify: answer a question that may be vague, or ask the user first what is meant.

Agents        assistant_0; the user is scripted
Observation   text: what the assistant knows, the user's question and, if it asked, the user's reply
Action        [answer 40], one of the values that it knows; [answer all]; [ask], once
Reward        at the end, the user's welfare, 0..1: 1 for the right value alone or among all, less
              `length` for an answer with all values and `delay` for a question back; 0 if it is
              wrong
Ends          after an answer
Options       vague=0.5 (0 to 1), how often the question can be read in two ways; length=0.4,
              delay=0.1 and effort=0.2 (0 to 1): what the user pays for a long answer and for a
              question back, and the assistant for each line that it writes
References    random: see the registry; oracle 0.95: ask if the question is vague, else answer

The choice of GTAlign (arXiv 2510.08872): answer, ask, or both. The outcome has the welfare of both
sides, `welfare/user` as it is paid and `welfare/model`, 1 less `effort` for each line; the reward
module `mutual_welfare` pays their geometric mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, real
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly
from coevo.envs.discussion.question_env import listing

ASSISTANT = "assistant_0"
TOWNS = ("Suna", "Kelo", "Tiva", "Mora")
WAYS = ("bus", "train")
ASK, ALL = "ask", "answer all"
MINUTES = (20, 30, 40, 50)


@config
class ClarifyConfig:
    vague: Annotated[float, real(0, 1)] = 0.5
    """How often the question can be read in two ways."""
    length: Annotated[float, real(0, 1)] = 0.4
    """What an answer with all values costs the user."""
    delay: Annotated[float, real(0, 1)] = 0.1
    """What a question back costs the user."""
    effort: Annotated[float, real(0, 0.25)] = 0.2
    """What every line that it writes costs the assistant."""


class Clarify(ProtocolTask[ClarifyConfig]):
    """One assistant and a user who says what was meant if asked."""

    env_id = "coevo/clarify-v0"
    config_class = ClarifyConfig
    payoff_range = (0.0, 1.0)
    seats = (ASSISTANT,)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.town = TOWNS[int(rng.integers(len(TOWNS)))]
        self.minutes = [int(n) for n in rng.permutation(MINUTES)[: len(WAYS)]]
        self.meant = int(rng.integers(len(WAYS)))
        self.vague = bool(rng.random() < self.config.vague)
        self.clarified, self.given = False, ""
        moves = [*(f"answer {n}" for n in self.minutes), ALL]
        said = yield One(ASSISTANT, moves=[*moves, ASK])
        if said == ASK:
            self.clarified = True
            said = yield One(ASSISTANT, moves=moves)
        self.given = said
        yield Pay({ASSISTANT: self.user_welfare})

    @property
    def user_welfare(self) -> float:
        """What the reply is worth to the user."""
        if self.given not in (ALL, f"answer {self.minutes[self.meant]}"):
            return 0.0
        cost = self.config.length * (self.given == ALL) + self.config.delay * self.clarified
        return max(1 - cost, 0.0)

    @property
    def model_welfare(self) -> float:
        """What is left to the assistant after what it wrote."""
        lines = (len(WAYS) if self.given == ALL else 1) + self.clarified
        return 1 - self.config.effort * lines

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Redraw what the user means, where the assistant cannot know it."""
        if self.vague and not self.clarified:
            self.meant = int(rng.integers(len(WAYS)))
        return self.vague and not self.clarified

    def expert(self, seat: str, skill: float) -> Replies:
        """Ask what is meant where that is open, else answer it."""
        best = ASK if self.vague and not self.clarified else f"answer {self.minutes[self.meant]}"
        return mostly(self.moves_of(seat), {best: 1.0}, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    @property
    def _known(self) -> str:
        told = (f"by {way} {n} minutes" for way, n in zip(WAYS, self.minutes, strict=True))
        return f"A trip to {self.town} takes {' and '.join(told)}."

    @property
    def _question(self) -> str:
        by = "" if self.vague else f" by {WAYS[self.meant]}"
        return f"How long is a trip to {self.town}{by}?"

    def rules(self, seat: str) -> str:
        c = self.config
        return (
            "You help a user who has one question. Answer with the number that the user needs, or "
            "with all numbers, or ask back what is meant and answer then. The right number is "
            f"worth 1 to the user, less {c.length:g} if you give all numbers and {c.delay:g} if "
            f"you ask back; a wrong one is worth nothing. You earn what the user does.\n"
            f"You are {seat}. {self._known}"
        )

    def situation(self, seat: str) -> str:
        said = f"The user asks: {self._question}"
        if self.clarified:
            said = f"The user says: I mean by {WAYS[self.meant]}."
        return said + listing(self.moves_of(seat))

    def terse(self, seat: str) -> str:
        meant = f" I mean by {WAYS[self.meant]}." if self.clarified else ""
        moves = ", ".join(map(answer, self.moves_of(seat)))
        return f"{self._known} User: {self._question}{meant} {moves}?"

    def draw(self) -> str:
        lines = [self._known, f"User: {self._question} (means by {WAYS[self.meant]})"]
        return "\n".join([*lines, *(f"{turn.agent}: {turn.move}" for turn in self.turns)])

    def outcome(self) -> dict[str, float]:
        """Return what user and model got, and how the assistant replied by kind of question."""
        kind = "vague" if self.vague else "exact"
        if not self.given:
            return {}
        return {
            "welfare/user": self.user_welfare,
            "welfare/model": self.model_welfare,
            f"asked/{kind}": float(self.clarified),
            f"all/{kind}": float(self.given == ALL),
        }


raw_env, env = turn_based(Clarify)
