"""How experts search, propose and solve in a world whose documents state facts in short lines.

At skill s an expert does with probability s what the facts say; otherwise it does what a player
does who has not read them: it tosses a coin, asks for anything at hand, says any of the names at
hand. A solver follows the question through the facts and asks for the next one. A proposer works
backwards: from the answer to a fact that ends in it, from that fact's subject to the next one,
until the chain is long enough to be asked for.

In passages that people wrote a proposer asks back the sentence that holds the answer, with `what`
in its place, and a solver looks for that sentence.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from coevo.envs.core.task import Replies
from coevo.envs.search.graph import Fact
from coevo.envs.search.passages import SPAN, cloze, extract, filled
from coevo.envs.search.retrieval import mentions, tokenise

_FACT = re.compile(r"(?P<subject>[^.:\[\]]+): (?P<relation>[^\s.\[\]]+) (?P<object>[^.\[\]]+)\.")
SEEN_NAMES, MOST_NAMES, MOST_QUESTIONS = 8, 6, 12
"""Most names and questions among which an expert guesses."""
MOST_WORDS = 6
"""Words of a query for a person's question."""
_FUNCTION_WORDS = frozenset(
    tokenise(
        "a an and are as at be been by can did do does for from had has have how if in into is it "
        "its many much name of on or s than that the their there these they this to was were what "
        "when where which who whom whose why will with would"
    )
)


class Followed(NamedTuple):
    """How far facts answer a question."""

    following: tuple[str, ...]
    """Relations still to be followed; none where the question is answered."""
    entity: str
    """How far the facts lead: where to go on, or the answer."""


def read_facts(texts: Iterable[str]) -> list[Fact]:
    """Return the facts that documents state.

    >>> read_facts(["Favo: boss Giku.", "Buno: friend Giku Favo."])[1]
    Fact(subject='Buno', relation='friend', object='Giku Favo')
    """
    return [Fact(*(part.strip() for part in m.groups())) for t in texts for m in _FACT.finditer(t)]


def followed(start: str, relations: Sequence[str], facts: Sequence[Fact]) -> Followed:
    """Follow relations from an entity through facts, of equal ones the first.

    >>> followed("Poko", ["boss", "home"], [Fact("Poko", "boss", "Kula")])
    Followed(following=('home',), entity='Kula')
    """
    said = {(f.subject, f.relation): f.object for f in reversed(facts)}
    at, entity = 0, start
    while at < len(relations) and (entity, relations[at]) in said:
        entity = said[entity, relations[at]]
        at += 1
    return Followed(tuple(relations[at:]), entity)


# ---- Router, searcher and answerer --------------------------------------------------------------


def route(enough: bool | None, skill: float) -> Replies:
    """Return whether enough is known; None where that cannot be decided."""
    known = 0.5 if enough is None else float(enough)
    yes = skill * known + (1 - skill) * 0.5
    return Replies(("[yes]", "[no]"), np.array([yes, 1 - yes]))


def ask(start: str, relations: Sequence[str], facts: Sequence[Fact], skill: float) -> Replies:
    """Return queries for the next fact of a question."""
    following, entity = followed(start, relations, facts)
    best = f"[search: {(following or tuple(relations))[0]} {entity}]"
    names = names_of(start, facts)
    guesses = [f"[search: {r} {n}]" for r in dict.fromkeys(relations) for n in names]
    return mixed([best], guesses, skill)


def conclude(start: str, relations: Sequence[str], facts: Sequence[Fact], skill: float) -> Replies:
    """Return answers to a question."""
    names = names_of(start, facts)
    best = f"[answer: {followed(start, relations, facts).entity}]"
    return mixed([best], [f"[answer: {n}]" for n in names[1:] or names], skill)


def keywords(question: str) -> list[str]:
    """Return the longest words of a question that say something, in their order.

    >>> keywords("In what country is Normandy located?")
    ['country', 'normandy', 'located']
    """
    words = [w for w in dict.fromkeys(tokenise(question)) if w not in _FUNCTION_WORDS]
    longest = sorted(words, key=len, reverse=True)[:MOST_WORDS]
    return sorted(longest, key=words.index) or tokenise(question) or ["it"]


def search_prose(question: str, searches: int, skill: float) -> Replies:
    """Return queries for a person's question: all of its words first, then one after the other.

    Args:
        question: in full.
        searches: how many there were before.
        skill: see `mixed`.
    """
    words = keywords(question)
    queries = [" ".join(words), *sorted(words, key=len, reverse=True)]
    best = queries[searches % len(queries)]
    return mixed([f"[search: {best}]"], [f"[search: {w}]" for w in words], skill)


def stated(answers: Sequence[str], texts: Sequence[str]) -> str | None:
    """Return the first of the right answers that stands in a text; None where none does."""
    return next((a for a in answers if any(mentions(t, a) for t in texts)), None)


def answer_from(question: str, texts: Sequence[str], right: str | None, skill: float) -> Replies:
    """Return answers to a person's question from passages.

    Args:
        question: in full.
        texts: what was found.
        right: the right answer, where a passage states it; without it the best is a guess.
        skill: see `mixed`.
    """
    spans = list(dict.fromkeys(s for text in texts for s in SPAN.findall(text)))[:SEEN_NAMES]
    guess = right or extract(question, texts) or "unknown"
    return mixed([f"[answer: {guess}]"], [f"[answer: {s}]" for s in spans or [guess]], skill)


def names_of(start: str, facts: Sequence[Fact]) -> list[str]:
    """Return the entities at hand, the question's first."""
    said = {(f.subject, f.relation): f.object for f in reversed(facts)}
    met = dict.fromkeys((f.subject, f.relation) for f in facts)
    mentioned = [n for key in met for n in (key[0], *said[key].split())]
    return list(dict.fromkeys([start, *mentioned]))[:SEEN_NAMES]


# ---- Proposer and solver ------------------------------------------------------------------------


def chains(answer: str, hops: int, facts: Sequence[Fact]) -> list[tuple[Fact, ...]]:
    """Return the chains of facts that end in an answer, the fact that ends in it first.

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
    """Return the question for the end of a chain, whose last fact comes first.

    >>> asked([Fact("Favo", "boss", "Giku"), Fact("Rotu", "home", "Favo")])
    'boss of home of Rotu'
    """
    return " of ".join([*(fact.relation for fact in chain), chain[-1].subject])


def propose(
    answer: str, hops: int, facts: Sequence[Fact], may_search: bool, skill: float
) -> Replies:
    """Return questions for an answer, or searches on the way to one."""
    found = chains(answer, hops, facts)
    if len(found[0]) == hops or not may_search:
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
    return mixed(best, guesses, skill)


def propose_prose(
    answer: str, searches: int, sentences: Sequence[str], may_search: bool, skill: float
) -> Replies:
    """Return questions for an answer from sentences that were found, or searches for some.

    Args:
        answer: what is to be asked for.
        searches: how many are still wanted before the question.
        sentences: found so far.
        may_search: whether a search is left.
        skill: see `mixed`.
    """
    asked = [cloze(s, answer) for s in sentences if mentions(s, answer)]
    if may_search and (searches > 0 or not asked):
        query = " ".join(keywords(asked[0])) if asked else answer
        best = [f"[search: {query}]"]
    else:
        best = [f"[question: {q}]" for q in asked[:1]]
    names = list(dict.fromkeys(n for s in sentences for n in SPAN.findall(s)))[:SEEN_NAMES]
    guesses = [f"[question: what is {n}?]" for n in names or [answer]]
    if may_search:
        guesses += [f"[search: {n}]" for n in names or [answer]]
    return mixed(best, guesses, skill)


def solve_prose(question: str, sentences: Sequence[str], may_search: bool, skill: float) -> Replies:
    """Return answers to a question from sentences that were found, or searches for some."""
    if sentences or not may_search:
        return answer_from(question, sentences, filled(question, sentences), skill)
    return search_prose(question, 0, skill)


def solve(question: str, facts: Sequence[Fact], may_search: bool, skill: float) -> Replies:
    """Return answers to a question, or searches on the way to one."""
    *relations, start = question.rstrip("?").split(" of ")
    following, entity = followed(start, relations[::-1], facts)
    names = _names([start], facts)
    answers = [f"[answer: {n}]" for n in names[1:] or names]
    if following and may_search:
        best = [f"[search: {following[0]} {entity}]"]
    else:
        best = answers[-1:] if following else [f"[answer: {entity}]"]
    asking = [f"[search: {r} {n}]" for r in dict.fromkeys(relations) for n in names]
    guesses = [*(asking[: 2 * MOST_NAMES] if may_search else ()), *answers]
    return mixed(best, guesses, skill)


def _names(first: Sequence[str], facts: Sequence[Fact]) -> list[str]:
    every = [*first, *(n for f in facts for n in (f.subject, f.object) if " " not in n)]
    return list(dict.fromkeys(every))[:MOST_NAMES]


def mixed(best: Sequence[str], guesses: Sequence[str], skill: float) -> Replies:
    """Return the best replies with probability `skill`, else any of the guesses."""
    texts = tuple(dict.fromkeys([*best, *guesses]))
    well = [best.count(t) / len(best) for t in texts] if best else [0.0] * len(texts)
    blind = [guesses.count(t) / len(guesses) for t in texts]
    share = skill if best else 0.0
    return Replies(texts, share * np.array(well) + (1 - share) * np.array(blind))
