"""What a searcher with little room remembers of what it found: the sentences that matter.

Of the last search the sentences that share most words with its query; of every earlier one the
sentence that led on, which shares most words with the query after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coevo.envs.search.retrieval import Hit, tokenise

_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Search:
    """One query and what it found."""

    query: str
    hits: tuple[Hit, ...]


def best_sentences(query: str, hits: Sequence[Hit], most: int) -> list[str]:
    """Return the sentences of the hits that share most words with the query.

    Of equals those come first that begin with something else: what a searcher knows already
    says less. Then the order of the hits and of their text.

    >>> texts = {"Kimo": "Kimo: home Suna.", "Dalu": "Dalu: mayor Kimo."}
    >>> hits = [Hit(title, 1.0, title, text) for title, text in texts.items()]
    >>> best_sentences("Kimo", hits, 2)
    ['Dalu: mayor Kimo.', 'Kimo: home Suna.']
    """
    wanted = set(tokenise(query))
    found: dict[str, tuple[int, int]] = {}
    for sentence in (s.strip() for hit in hits for s in _END.split(hit.text)):
        words = tokenise(sentence)
        shared = [i for i, word in enumerate(words) if word in wanted]
        if shared:
            found.setdefault(sentence, (len({words[i] for i in shared}), int(shared[0] > 0)))
    top = max((count for count, _ in found.values()), default=0)
    ranked = [s for s, (count, _) in found.items() if count == top]
    return sorted(ranked, key=lambda s: -found[s][1])[:most]


def best_window(query: str, text: str, longest: int) -> str:
    """Return the sentences in a row that share most words with a query, in `longest` characters.

    Of equals the first ones, and as many of them as there is room for; a longer sentence is cut.

    >>> best_window("Who led the Norse?", "Rain fell. Rollo led the Norse. They sailed.", 24)
    'Rollo led the Norse.'
    """
    wanted, sentences = set(tokenise(query)), _END.split(text.strip())
    words = [wanted & set(tokenise(s)) for s in sentences]
    best, window = (-1, 0), (0, 1)
    for start in range(len(sentences)):
        stop, size = start + 1, len(sentences[start])
        while stop < len(sentences) and size + 1 + len(sentences[stop]) <= longest:
            size += 1 + len(sentences[stop])
            stop += 1
        rank = (len(set().union(*words[start:stop])), -start)
        if rank > best:
            best, window = rank, (start, stop)
    return " ".join(sentences[slice(*window)])[:longest]


def windows(query: str, hits: Sequence[Hit], longest: int) -> list[Hit]:
    """Return hits with what is worth reading of their texts; see `best_window`."""
    return [hit._replace(text=best_window(query, hit.text, longest)) for hit in hits]


def remembered(searches: Sequence[Search], most: int) -> list[str]:
    """Return what is worth remembering of several searches, oldest first.

    >>> first = Search("Kimo", (Hit("2", 1.0, "Dalu", "Dalu: mayor Kimo. Dalu: river Ola."),))
    >>> second = Search("Dalu", (Hit("3", 1.0, "Nord", "Nord: capital Dalu."),))
    >>> remembered([first, second], 2)
    ['Dalu: mayor Kimo.', 'Nord: capital Dalu.']
    """
    kept: list[str] = []
    for i, search in enumerate(searches):
        last = i == len(searches) - 1
        lines = best_sentences(search.query, search.hits, most if last else 8)
        if not last and lines:
            lines = _leading_on(lines, searches[i + 1].query)
        kept += [line for line in lines if line not in kept]
    return kept


def _leading_on(lines: Sequence[str], query: str) -> list[str]:
    """Return the line that shares most words with the next query, the better ranked of equals."""
    wanted = set(tokenise(query))
    shared = [len(wanted & set(tokenise(line))) for line in lines]
    return [lines[shared.index(max(shared))]]
