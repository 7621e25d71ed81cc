"""What router, searcher and answerer say, as they say it: verdicts, queries, answers.

Both forms are read in both prompt styles: tags, as in the full protocol, and square brackets at
the end of the reply, as in the terse one. What an agent thinks (`<think>`) is not read.
"""

from __future__ import annotations

import re

from coevo.envs.core.parsing import parse_move

_TAGS = frozenset({"verify", "search", "answer", "information", "question"})
_TAG = re.compile(r"</?([a-z_]{2,20})>", re.IGNORECASE)
_VERDICT = re.compile(
    r"<verify>\s{0,9}(yes|no)\s{0,9}</verify>|\[\s{0,9}(yes|no)\s{0,9}\]\s{0,40}\Z", re.IGNORECASE
)
_BRACKETS = r"\[\s{0,9}(?:%s\s{0,9}:\s{0,9})?([^\[\]\n]{1,400})\]\s{0,40}\Z"


def verdict(text: str) -> str | None:
    """Read whether the router has enough: the last verdict of its reply; None for none.

    >>> verdict("<verify>No</verify>"), verdict("We know it. [yes]"), verdict("perhaps")
    ('no', 'yes', None)
    """
    found = _VERDICT.findall(_said(text))
    return "".join(found[-1]).lower() if found else None


def query(text: str) -> str | None:
    """Read what the searcher wants to know: the first search of its reply; None for none.

    >>> query("<search> mayor of Suna </search>"), query("Next. [search: mayor Suna]"), query("?")
    ('mayor of Suna', 'mayor Suna', None)
    """
    return _first_tagged(_said(text), "search") or _bracketed(_said(text), "search")


def answer(text: str) -> str | None:
    """Read the answerer's answer: the last one of its reply; None for none.

    >>> answer("<answer>Kimo</answer>"), answer("It is [answer: Kimo]"), answer("[Kimo]")
    ('Kimo', 'Kimo', 'Kimo')
    """
    said = _said(text)
    at = said.rfind("<answer>")
    tagged = _first_tagged(said[at:], "answer") if at >= 0 else None
    return _bracketed(said, "answer") or tagged


def foreign_tags(text: str, own: str) -> list[str]:
    """List the protocol's tags in a reply that only others may use; they are text like any other.

    >>> foreign_tags("<search>x</search><information>Kimo</information>", "search")
    ['information']
    """
    return sorted({m.lower() for m in _TAG.findall(text)} & (_TAGS - {own}))


def _said(text: str) -> str:
    return parse_move(text, None).move or ""


def _first_tagged(said: str, tag: str) -> str | None:
    opened = said.find(f"<{tag}>")
    closed = said.find(f"</{tag}>", opened)
    if opened < 0 or closed < 0:
        return None
    return said[opened + len(tag) + 2 : closed].strip() or None


def _bracketed(said: str, label: str) -> str | None:
    found = re.search(_BRACKETS % label, said[-500:], re.IGNORECASE)
    return found[1].strip() or None if found else None
