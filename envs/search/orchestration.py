"""What router, searcher and answerer say, as they say it: verdicts, queries, answers.

Both forms are read in both prompt styles: tags, as in the full protocol, and square brackets, as in
the terse one. What an agent thinks (`<think>`) is not read.
"""

from __future__ import annotations

import re

from coevo.envs.core.parsing import Parse, last_mark, parse_move

_TAGS = frozenset({"verify", "search", "answer", "information", "question"})
_TAG = re.compile(r"</?([a-z_]{2,20})>", re.IGNORECASE)


def verdict(text: str) -> Parse:
    """Read whether the router has enough.

    >>> [verdict(said).move for said in ("<verify>No</verify>", "Known: [yes].", "perhaps")]
    ['no', 'yes', None]
    """
    return parse_move(text, ("yes", "no"), ("verify",))


def query(text: str) -> str | None:
    """Read what the searcher wants to know; None for none.

    >>> query("<search> mayor of Suna </search>"), query("Next. [search: mayor Suna]"), query("?")
    ('mayor of Suna', 'mayor Suna', None)
    """
    return _content(text, "search")


def answer(text: str) -> str | None:
    """Read the answerer's answer; None for none.

    >>> answer("<answer>Kimo</answer>"), answer("It is [answer: Kimo]"), answer("[Kimo]")
    ('Kimo', 'Kimo', 'Kimo')
    """
    return _content(text, "answer")


def foreign_tags(text: str, own: str) -> list[str]:
    """List the protocol's tags in a reply that only others may use; they are text like any other.

    >>> foreign_tags("<search>x</search><information>Kimo</information>", "search")
    ['information']
    """
    return sorted({m.lower() for m in _TAG.findall(text)} & (_TAGS - {own}))


def _content(text: str, tag: str) -> str | None:
    """Return what the last mark of a reply holds, without the label that brackets may carry."""
    mark = last_mark(text, (tag,))
    if mark is None:
        return None
    label, colon, rest = mark.text.partition(":")
    labelled = not mark.tag and colon and label.strip().lower() == tag
    return (rest if labelled else mark.text).strip() or None
