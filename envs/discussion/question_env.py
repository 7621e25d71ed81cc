"""What rooms share in which a question with a known answer is asked: drawing it and grading it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from coevo.envs.core.chat import escape
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import parse_move
from coevo.envs.questions import QuestionSource, final_answer, questions
from coevo.envs.questions.sources import DEFAULT

_TAG = re.compile(r"</?([a-z_]{2,20})>", re.IGNORECASE)
PROTOCOL_TAGS = frozenset({"answer", "verify", "score", "search", "information"})
"""Tags that mean something in some room here; an agent may use its own role's only."""
ANSWER_FORM = r"Put the final answer in \boxed{} or, as the last thing, in square brackets."
SHORT = 60
"""Characters of an answer that a terse prompt shows."""


class QuestionEnv(TextEnv):
    """A room about one question; every play draws one, or takes `options={"item": number}`."""

    payoff_range = (0.0, 1.0)
    source: QuestionSource

    def _ask(self, spec: str | Mapping[str, Any] | QuestionSource) -> None:
        """Take the source of questions; called once, by the constructor."""
        self.source = questions(spec)
        if self.source.spec != questions(DEFAULT).spec:
            self.options["questions"] = self.source.spec

    def _begin(self, options: Mapping[str, Any]) -> None:
        item = options.get("item")
        if item is None:
            self.question = self.source.draw(self.np_random)
        else:
            self.question = self.source.item(whole("item", item, 0, len(self.source) - 1))
        self._task_id = f"{self.source.name}:{self.question.id}"

    def _final(self, text: str) -> str | None:
        return final_answer(text, self.question.kind)

    def _answered(self, turn: Turn) -> None:
        """Note the answer that a turn gives, and whether it is right."""
        turn.answer = self._final(turn.text)
        turn.verified = self.source.grade(self.question, turn.answer)

    def _foreign(self, turn: Turn, *own: str) -> None:
        """Note the tags of other roles in a reply; they are text, and nobody obeys them."""
        found = foreign_tags(turn.text, own)
        if found:
            turn.notes["foreign_tags"] = found

    def _breaches(self) -> float:
        """Count replies with tags of other roles."""
        return float(sum("foreign_tags" in turn.notes for turn in self.episode.turns))


def foreign_tags(text: str, own: tuple[str, ...] = ()) -> list[str]:
    """List the protocol tags in a reply that belong to other roles.

    >>> foreign_tags("<answer>4</answer><verify>approve</verify>", ("answer",))
    ['verify']
    """
    return sorted({m[1].lower() for m in _TAG.finditer(text)} & (PROTOCOL_TAGS - set(own)))


def quoted(turn: Turn, limit: int = 4000) -> str:
    """Give what a turn said, its thoughts left out, safe for another's prompt."""
    return escape(parse_move(turn.text, None).move or "", limit) or "(nothing)"


def shown(answer: str | None) -> str:
    """Give an answer for a terse prompt.

    >>> shown("[7]"), shown(None)
    ('⟦7⟧', 'none')
    """
    return "none" if answer is None else escape(" ".join(answer.split()), SHORT)


def whole(name: str, number: object, low: int, high: int) -> int:
    """Check a whole number of an environment's arguments."""
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise ConfigError(f"{name}={number!r} must be a whole number from {low} to {high}")
    return number
