"""What a reply says in its marks: scores and verdicts.

Every mark has the form of a tag (`<score>3</score>`) and the short house form, square brackets.
Both are read in both prompt styles, by the rule for moves (`coevo.envs.core.parsing`).
"""

from __future__ import annotations

import re

from coevo.envs.core.parsing import Parse, parse_move

SCORES = ("1", "2", "3")
"""1: a named mistake is fatal; 2: small real mistakes, answer unaffected; 3: fully correct."""
VERDICTS = ("right", "wrong")
_AT_THE_END = re.compile(r"\[[^\[\]\n]{1,200}\]\s*\Z")


def read_score(said: str) -> Parse:
    """Read a score from 1 to 3; anything else is no score.

    >>> [read_score(said).move for said in ("<score>3</score>", "fine: [2].", "[4]")]
    ['3', '2', None]
    """
    return parse_move(said, SCORES, ("score",))


def read_verdict(said: str) -> Parse:
    """Read whether an evaluation calls the solution right or wrong.

    >>> read_verdict("It should be 9. [wrong]").move, read_verdict("I like it.").move
    ('wrong', None)
    """
    return parse_move(said, VERDICTS, ("verdict",))


def without_mark(said: str) -> str:
    """Return a reply without the brackets at its end.

    >>> without_mark("It should be 9. [wrong]")
    'It should be 9.'
    """
    said = said.rstrip()
    found = _AT_THE_END.search(said, max(0, len(said) - 300))
    return said[: found.start()].strip() if found else said.strip()
