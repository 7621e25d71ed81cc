"""What a reply says in its marks: scores and verdicts.

Every mark has the form of a tag (`<score>3</score>`) and the short house form: the last thing of
the reply in square brackets. Both are read in both prompt styles. The last mark counts (see
`coevo.envs.core.parsing`), as a reply may weigh others before it decides.
"""

from __future__ import annotations

from coevo.envs.core.parsing import bracketed, last_mark

SCORES = ("1", "2", "3")
"""1: a named mistake is fatal; 2: small real mistakes, answer unaffected; 3: fully correct."""
VERDICTS = ("right", "wrong")


def read_score(said: str) -> str | None:
    """Read a score from 1 to 3; anything else is no score.

    >>> read_score("<score>3</score>"), read_score("fine [2]"), read_score("[4]")
    ('3', '2', None)
    """
    found = _mark(said, "score")
    return found if found in SCORES else None


def read_verdict(said: str) -> str | None:
    """Read whether an evaluation calls the solution right or wrong; None where it says neither.

    >>> read_verdict("It should be 9. [wrong]"), read_verdict("I like it.")
    ('wrong', None)
    """
    found = (_mark(said, "verdict") or "").casefold()
    return found if found in VERDICTS else None


def without_mark(said: str) -> str:
    """Return a reply without the brackets at its end.

    >>> without_mark("It should be 9. [wrong]")
    'It should be 9.'
    """
    inside = bracketed(said)
    return said.strip() if inside is None else said.rstrip()[: -len(inside) - 2].strip()


def _mark(said: str, tag: str) -> str | None:
    found = last_mark(said, (tag,))
    return found.text.strip() if found else None
