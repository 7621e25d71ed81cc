"""Scripted routers, searchers and answerers for `coevo/search_router-v0`.

A speaker reads the question and the facts of a chat, terse or full, and follows the question
through them, as far as both are those of the compact invented world.
At skill s it does what that tells with probability s: routes rightly, asks for the next fact, says
the name that was found. Otherwise it does what somebody does who has not read the facts: it tosses
a coin, asks about any of the words at hand, says any of the names at hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.envs.core.chat import Chat

_TERSE = re.compile(r"(?P<question>[^?]*)\? (?P<known>.*) (?:Enough|Next|So)\? \[", re.DOTALL)
_FULL = re.compile(r"Question: (?:Who is|Who are|What is|What are) the (?P<question>[^?]*)\?\n")
_DOC = re.compile(r"^Doc \d+ \(Title: .*?\) (.*)$", re.MULTILINE)
_FACT = re.compile(r"(?P<subject>[^.:]+): (?P<relation>[^\s.]+) (?P<object>[^.]+)\.")
MOST_NAMES = 8
"""Names among which somebody guesses who has not read the facts."""


class Seen(NamedTuple):
    """What a chat says."""

    relation: str | None
    """The relation to follow next; None where the question is answered."""
    entity: str
    """How far the facts lead: where to go on, or the answer."""
    relations: tuple[str, ...]
    """All relations that the question names."""
    names: tuple[str, ...]
    """Entities in the chat, the question's first."""


def speak(request: Request, skill: float) -> Speech:
    """Give what a player of this skill might say, and how likely.

    Args:
        request: a request of the search team.
        skill: 0 plays at random in the right form, 1 does what the facts tell.
    """
    seen = read(request.chat)
    role = request.info.get("role", "router")
    if role == "router":
        known = 0.5 if seen is None else float(seen.relation is None)
        enough = skill * known + (1 - skill) * 0.5
        return Speech(("[yes]", "[no]"), np.array([enough, 1 - enough]))
    if seen is None:
        return Speech(("[search: it]" if role == "searcher" else "[answer: it]",), np.ones(1))
    if role == "searcher":
        best = f"[search: {seen.relation or seen.relations[0]} {seen.entity}]"
        guesses = [f"[search: {r} {n}]" for r in seen.relations for n in seen.names]
    else:
        best = f"[answer: {seen.entity}]"
        guesses = [f"[answer: {n}]" for n in seen.names[1:] or seen.names]
    return _mixed(best, guesses, skill)


def read(chat: Chat) -> Seen | None:
    """Follow the question of a chat through its facts; None for questions of another sort.

    >>> prompt = "home of boss of Poko? Poko: boss Kula. Enough? [yes] or [no]"
    >>> read(({"role": "user", "content": prompt},))
    Seen(relation='home', entity='Kula', relations=('boss', 'home'), names=('Poko', 'Kula'))
    """
    question, known = _parts("\n".join(m["content"] for m in chat if m["role"] == "user"))
    *asked, start = question.split(" of ")
    if not asked:
        return None
    said: dict[tuple[str, str], str] = {}
    for fact in _FACT.finditer(known):
        said.setdefault((fact["subject"].strip(), fact["relation"]), fact["object"].strip())
    relations = tuple(reversed(asked))
    at, entity = 0, start
    while at < len(relations) and (entity, relations[at]) in said:
        entity = said[entity, relations[at]]
        at += 1
    mentioned = [n for (s, _), o in said.items() for n in (s, *o.split())]
    names = tuple(dict.fromkeys([start, *mentioned]))[:MOST_NAMES]
    following = relations[at] if at < len(relations) else None
    return Seen(following, entity, tuple(dict.fromkeys(relations)), names)


def _parts(told: str) -> tuple[str, str]:
    """Give the question, tersely, and the sentences that were found."""
    if found := _FULL.search(told):
        return found["question"].replace(" of the ", " of "), " ".join(_DOC.findall(told))
    terse = _TERSE.match(told)
    return (terse["question"], terse["known"]) if terse else ("", "")


def _mixed(best: str, guesses: Sequence[str], skill: float) -> Speech:
    replies = tuple(dict.fromkeys([best, *guesses]))
    odds = np.array([(1 - skill) * guesses.count(r) / len(guesses) for r in replies])
    odds[0] += skill
    return Speech(replies, odds)
