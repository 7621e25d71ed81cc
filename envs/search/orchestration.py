"""What router, searcher and answerer say, as they say it: verdicts, queries, answers.

Both forms are read in both prompt styles: tags, as in the full protocol, and square brackets, as in
the terse one. What an agent thinks (`<think>`) is not read.
"""

from __future__ import annotations

import re

from coevo.envs.core.parsing import Parse, Status, last_mark, missing, parse_move

_TAGS = frozenset({"verify", "search", "answer", "information", "question"})
_TAG = re.compile(r"</?([a-z_]{2,20})>", re.IGNORECASE)


def verdict(text: str) -> Parse:
    """Read whether the router has enough.

    >>> [verdict(said).move for said in ("<verify>No</verify>", "Known: [yes].", "perhaps")]
    ['no', 'yes', None]
    """
    return parse_move(text, ("yes", "no"), ("verify",))


def query(text: str) -> Parse:
    """Read what the searcher wants to know.

    >>> query("<search> mayor of Suna </search>").move, query("Next. [search: mayor Suna]").move
    ('mayor of Suna', 'mayor Suna')
    >>> query("?").detail
    'no query was found in the reply'
    """
    return _content(text, "search", "query")


def answer(text: str) -> Parse:
    """Read the answerer's answer.

    >>> [answer(t).move for t in ("<answer>Kimo</answer>", "It is [answer: Kimo]", "[Kimo]", "?")]
    ['Kimo', 'Kimo', 'Kimo', None]
    """
    return _content(text, "answer", "answer")


def foreign_tags(text: str, own: str) -> list[str]:
    """List the protocol's tags in a reply that only others may use; they are text like any other.

    >>> foreign_tags("<search>x</search><information>Kimo</information>", "search")
    ['information']
    """
    return sorted({m.lower() for m in _TAG.findall(text)} & (_TAGS - {own}))


def _content(text: str, tag: str, what: str) -> Parse:
    """Return what the last mark of a reply holds, without the label that brackets may carry."""
    mark = last_mark(text, (tag,))
    label, colon, rest = mark.text.partition(":") if mark else ("", "", "")
    labelled = mark and not mark.tag and colon and label.strip().lower() == tag
    said = (rest if labelled else mark.text if mark else "").strip()
    return Parse(said, Status.LEGAL) if said else missing(text, what)
