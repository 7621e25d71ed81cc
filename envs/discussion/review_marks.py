"""What a reply says in its marks: scores and verdicts.

Every mark has the form of a tag (`<score>3</score>`) and the short house form: the last thing of
the reply in square brackets. Both are read in both prompt styles. Where a tag comes
several times the last one counts, as a reply may weigh others before it decides; what a tag holds
is never repaired.
"""

from __future__ import annotations

import re

SCORES = ("1", "2", "3")
"""1: a named mistake is fatal; 2: small real mistakes, answer unaffected; 3: fully correct."""
VERDICTS = ("right", "wrong")

_LAST = re.compile(r"\[([^\[\]\n]{1,200})\]\s*\Z")
_SCORE = re.compile(r"<score>([^<>]{0,40})</score>")
_VERDICT = re.compile(r"<verdict>([^<>]{0,40})</verdict>")


def read_score(said: str) -> str | None:
    """Read a score from 1 to 3; anything else is no score.

    >>> read_score("<score>3</score>"), read_score("fine [2]"), read_score("[4]")
    ('3', '2', None)
    """
    found = _mark(said, _SCORE)
    return found if found in SCORES else None


def read_verdict(said: str) -> str | None:
    """Read whether an evaluation calls the solution right or wrong; None where it says neither.

    >>> read_verdict("It should be 9. [wrong]"), read_verdict("I like it.")
    ('wrong', None)
    """
    found = (_mark(said, _VERDICT) or "").casefold()
    return found if found in VERDICTS else None


def without_mark(said: str) -> str:
    """Return a reply without the brackets at its end.

    >>> without_mark("It should be 9. [wrong]")
    'It should be 9.'
    """
    return _LAST.sub("", said).strip()


def _mark(said: str, tag: re.Pattern[str]) -> str | None:
    tags = tag.findall(said)
    if tags:
        return str(tags[-1]).strip()
    last = _LAST.search(said)
    return last.group(1).strip() if last else None
