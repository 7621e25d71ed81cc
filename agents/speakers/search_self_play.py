"""Scripted proposers and solvers for `coevo/search_self_play-v0`.

The proposer works backwards: from the answer to a fact that ends in it, from that fact's subject
to the next one, until the chain is long enough to be asked for. The solver follows the question
through the facts it found and searches for the next one. At skill s either does so with probability
s; otherwise it does what somebody does who has not read the facts: it searches for any of the names
at hand, asks for any chain of the facts at hand, says any of the names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech

_PROPOSER = re.compile(r"Ask for (?P<answer>.+?), hops: (?P<hops>\d+)\.", re.DOTALL)
_SOLVER = re.compile(r"Question: (?P<question>.+?)\.(?: Found:| \[)", re.DOTALL)
_FACT = re.compile(r"(?P<subject>[^.:\[\]]+): (?P<relation>[^\s.\[\]]+) (?P<object>[^.\[\]]+)\.")
MOST_NAMES, MOST_QUESTIONS = 6, 12
"""Names and questions among which somebody guesses who has not read the facts."""


class Fact(NamedTuple):
    """One line that was found."""

    subject: str
    relation: str
    object: str


def speak(request: Request, skill: float) -> Speech:
    """Give what a player of this skill might say, and how likely.

    Args:
        request: a terse request of the search game.
        skill: 0 plays at random in the right form, 1 does what the facts tell.
    """
    prompt = request.chat[-1]["content"]
    proposer, solver = _PROPOSER.match(prompt), _SOLVER.match(prompt)
    facts, may_search = read_facts(prompt), "[search: ...]" in prompt
    if proposer:
        said = _propose(proposer["answer"], int(proposer["hops"]), facts, may_search)
    elif solver:
        said = _solve(solver["question"], facts, may_search)
    else:
        return Speech(("[answer: none]",), np.ones(1))
    return _mixed(*said, skill)


def read_facts(text: str) -> list[Fact]:
    """Read the facts of a terse prompt.

    >>> read_facts(" Found: Favo: boss Giku. Buno: friend Giku Favo. [answer: ...]")[1]
    Fact(subject='Buno', relation='friend', object='Giku Favo')
    """
    known = text.partition("Found:")[2]
    return [Fact(*(part.strip() for part in m.groups())) for m in _FACT.finditer(known)]


def chains(answer: str, hops: int, facts: Sequence[Fact]) -> list[tuple[Fact, ...]]:
    """Give the chains of facts that end in an answer, the fact that ends in it first.

    Chains are as long as the facts allow, `hops` at most, and no entity comes twice.

    >>> facts = [Fact("Favo", "boss", "Giku"), Fact("Rotu", "boss", "Favo")]
    >>> [[f.subject for f in chain] for chain in chains("Giku", 2, facts)]
    [['Favo', 'Rotu']]
    """
    found: list[tuple[Fact, ...]] = [()]
    for _ in range(hops):
        longer = [
            (*chain, fact)
            for chain in found
            for fact in facts
            if fact.object == (chain[-1].subject if chain else answer)
            and fact.subject not in (answer, *(f.subject for f in chain))
        ]
        if not longer:
            break
        found = longer
    return found


def asked(chain: Sequence[Fact]) -> str:
    """Ask for the end of a chain, whose last fact comes first.

    >>> asked([Fact("Favo", "boss", "Giku"), Fact("Rotu", "home", "Favo")])
    'boss of home of Rotu'
    """
    return " of ".join([*(fact.relation for fact in chain), chain[-1].subject])


def _propose(
    answer: str, hops: int, facts: Sequence[Fact], may_search: bool
) -> tuple[list[str], list[str]]:
    """Give what a good proposer says, and what somebody might say who guesses."""
    found = chains(answer, hops, facts)
    whole = len(found[0]) == hops or not may_search
    if whole:
        best = [f"[question: {asked(chain)}]" for chain in found if chain]
    else:
        best = [f"[search: {chain[-1].subject if chain else answer}]" for chain in found]
    pairs = [asked(pair) for pair in itertools.product(facts[:4], facts[:4])]
    questions = [asked([f]) for f in facts] + pairs
    guesses = [f"[question: {q}]" for q in dict.fromkeys(questions)][:MOST_QUESTIONS]
    if not facts and not may_search:
        guesses = [f"[question: home of {answer}]"]
    elif may_search:
        guesses += [f"[search: {n}]" for n in _names([answer], facts)]
    return best, guesses


def _solve(question: str, facts: Sequence[Fact], may_search: bool) -> tuple[list[str], list[str]]:
    """Give what a good solver says, and what somebody might say who guesses."""
    *relations, start = question.rstrip("?").split(" of ")
    said = {(f.subject, f.relation): f.object for f in reversed(facts)}
    following, entity = relations[::-1], start
    while following and (entity, following[0]) in said:
        entity = said[entity, following.pop(0)]
    names = _names([start], facts)
    answers = [f"[answer: {n}]" for n in names[1:] or names]
    if following and may_search:
        best = [f"[search: {following[0]} {entity}]"]
    else:
        best = answers[-1:] if following else [f"[answer: {entity}]"]
    asking = [f"[search: {r} {n}]" for r in dict.fromkeys(relations) for n in names]
    return best, [*(asking[: 2 * MOST_NAMES] if may_search else ()), *answers]


def _names(first: Sequence[str], facts: Sequence[Fact]) -> list[str]:
    every = [*first, *(n for f in facts for n in (f.subject, f.object) if " " not in n)]
    return list(dict.fromkeys(every))[:MOST_NAMES]


def _mixed(best: Sequence[str], guesses: Sequence[str], skill: float) -> Speech:
    replies = tuple(dict.fromkeys([*best, *guesses]))
    well = [best.count(r) / len(best) for r in replies] if best else [0.0] * len(replies)
    blind = [guesses.count(r) / len(guesses) for r in replies]
    share = skill if best else 0.0
    return Speech(replies, share * np.array(well) + (1 - share) * np.array(blind))
