"""What a seat of a search task does with a reply: search, answer, ask; in tags or in brackets.

    <search>mayor of Dalu</search>   or   [search: mayor of Dalu]

The last mark counts, as everywhere (`parsing`); tags that belong to others are no action, they are
counted and reported with the turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from coevo.envs.core.parsing import marks, spoken

LONGEST = 1000
"""Characters of a query, question or answer that are read; more is cut off and reported."""
TAGS = ("think", "search", "information", "question", "answer")
"""Tags of search tasks; `information` is the environment's own."""
MANY_ANSWERS = 10
"""More answer tags than this make a reply worth a quarter (the published rule)."""
_LABEL = re.compile(r"\s*(\w+)(?:\s*:|\s)")
"""What stands before the text between brackets; the colon may be missing."""
_TAG = re.compile(r"</?(" + "|".join(TAGS) + r")>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Action:
    """One reply, read."""

    kind: str
    """`search`, `answer`, `question`, or `none` where the reply holds no action of the seat."""
    text: str
    """The query, answer or question, tidied; for `none`, the beginning of what was said."""
    odd: tuple[str, ...] = ()
    """What was wrong with the reply, in words; reported with the turn."""
    answer_tags: int = 0
    """Opening or closing answer tags, whichever are more."""

    def __str__(self) -> str:
        return self.text if self.kind == "none" else f"{self.kind}: {self.text}"


def read_action(reply: str, kinds: Collection[str]) -> Action:
    """Read the action of a reply.

    Args:
        reply: word for word; anything may stand in it.
        kinds: what the seat may do, of `search`, `answer` and `question`.

    >>> read_action("I look it up. [search: mayor of Dalu]", ("search", "answer"))
    Action(kind='search', text='mayor of Dalu', odd=(), answer_tags=0)
    >>> read_action("[search mayor of Dalu]", ("search", "answer")).text
    'mayor of Dalu'
    >>> str(read_action("<answer> Kimo </answer><search>x</search>", ("search", "answer")))
    'search: x'
    """
    said = spoken(reply)
    names = [m.group(1).lower() for m in _TAG.finditer(said)]
    foreign = sorted({n for n in names if n not in kinds and n != "think"})
    odd = [f"tag <{name}> of somebody else" for name in foreign]
    kind, given = _last(said, kinds) or ("none", said)
    text = tidy(given)
    if kind != "none":
        odd += oddities(given)
        kind = kind if text else "none"
    opened = len(re.findall(r"(?i)<answer>|\[\s*answer[\s:]", said))
    closed = len(re.findall(r"(?i)</answer>", said))
    return Action(kind, text, tuple(odd), max(opened, closed))


def _last(said: str, kinds: Collection[str]) -> tuple[str, str] | None:
    """Return kind and text of the last mark that names a kind."""
    for mark in reversed(marks(said, kinds)):
        if mark.tag:
            return mark.tag, mark.text
        labelled = _LABEL.match(mark.text)
        if labelled and labelled[1].lower() in kinds:
            return labelled[1].lower(), mark.text[labelled.end() :]
    return None


def tidy(text: str, limit: int = LONGEST) -> str:
    """Cut a text, take tags, control characters and superfluous blanks out.

    >>> tidy(" mayor  of <answer>Dalu</answer>" + chr(7))
    'mayor of Dalu'
    """
    plain = " ".join(_TAG.sub(" ", text).split())[: 4 * limit]
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())[:limit]


def oddities(text: str) -> list[str]:
    """Say in words what is strange about a query, answer or question."""
    said = []
    if len(text) > LONGEST:
        said.append(f"{len(text)} characters, cut to {LONGEST}")
    if any(not c.isprintable() and c not in "\n\t\r" for c in text[: 4 * LONGEST]):
        said.append("control characters")
    if _TAG.search(text):
        said.append("tags inside")
    return said
