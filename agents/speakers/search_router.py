"""Scripted routers, searchers and answerers for `coevo/search_router-v0`.

A speaker reads the question and the facts of a terse prompt and follows the question through them.
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

_PROMPT = re.compile(r"(?P<question>[^?]*)\? (?P<known>.*) (?:Enough|Next|So)\? \[", re.DOTALL)
_FACT = re.compile(r"(?P<subject>[^.:]+): (?P<relation>[^\s.]+) (?P<object>[^.]+)\.")
MOST_NAMES = 8
"""Names among which somebody guesses who has not read the facts."""


class Seen(NamedTuple):
    """What a terse prompt says."""

    relation: str | None
    """The relation to follow next; None where the question is answered."""
    entity: str
    """How far the facts lead: where to go on, or the answer."""
    relations: tuple[str, ...]
    """All relations that the question names."""
    names: tuple[str, ...]
    """All entities in the prompt, the question's first."""


def speak(request: Request, skill: float) -> Speech:
    """Give what a player of this skill might say, and how likely.

    Args:
        request: a terse request of the search team.
        skill: 0 plays at random in the right form, 1 does what the facts tell.
    """
    seen = read(request.chat[-1]["content"])
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


def read(prompt: str) -> Seen | None:
    """Follow the question of a terse prompt through its facts; None for another sort of prompt.

    >>> read("home of boss of Poko? Poko: boss Kula. Enough? [yes] or [no]")
    Seen(relation='home', entity='Kula', relations=('boss', 'home'), names=('Poko', 'Kula'))
    """
    found = _PROMPT.match(prompt)
    if found is None:
        return None
    *asked, start = found["question"].split(" of ")
    facts = [m.groupdict() for m in _FACT.finditer(found["known"])]
    if not asked:
        return None
    said: dict[tuple[str, str], str] = {}
    for fact in facts:
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


def _mixed(best: str, guesses: Sequence[str], skill: float) -> Speech:
    replies = tuple(dict.fromkeys([best, *guesses]))
    odds = np.array([(1 - skill) * guesses.count(r) / len(guesses) for r in replies])
    odds[0] += skill
    return Speech(replies, odds)
