"""Finding documents: one protocol, and BM25 over a corpus (bm25s, extra `search`).

Queries are written by models, so anything may stand in them: they are cleaned, cut and counted,
and none of them raises. What the library leaves open is settled here: short tokens and stop words
are kept (an entity may be called "It"), equal scores are ordered by id, `k` may exceed the corpus,
and a document that shares no word with the query is not a hit.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from coevo.envs.core.errors import ConfigError, DataError, missing_extra
from coevo.envs.search.corpus import Document

LONGEST_QUERY = 1000
"""Characters of a query that are read; the rest is cut off."""
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*", re.UNICODE)


class Hit(NamedTuple):
    """One document that was found."""

    doc_id: str
    score: float
    title: str
    text: str

    @property
    def id(self) -> str:
        """Return the document's id, under the name that documents have for it."""
        return self.doc_id


class Retriever(Protocol):
    """A search engine over documents."""

    counts: Counter[str]
    """What happened to queries so far: `queries`, `cut`, `cleaned`, `empty`."""

    def search(self, queries: Sequence[str], k: int | None = None) -> list[list[Hit]]:
        """Return up to k hits per query, best first, equal scores by id; None is its own k."""
        ...


def tokenise(text: str) -> list[str]:
    """Split into case-folded words; one-letter words, digits and stop words stay, accents go.

    >>> tokenise("It's in São-Tomé, I said")
    ["it's", 'in', 'sao', 'tome', 'i', 'said']
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return _TOKEN.findall("".join(c for c in folded if not unicodedata.combining(c)))


def mentions(text: str, name: str) -> bool:
    """Return whether a name stands in a text, word for word.

    >>> mentions("The Mayor of Suna.", "suna"), mentions("Sunas", "Suna")
    (True, False)
    """
    return f" {' '.join(tokenise(name))} " in f" {' '.join(tokenise(text))} "


def clean_query(query: str, limit: int = LONGEST_QUERY) -> tuple[str, tuple[str, ...]]:
    """Make a query harmless: cut to `limit`, control characters to blanks.

    Returns:
        The query, and what was done to it: any of `cut`, `cleaned`, `empty`.

    >>> clean_query("a" * 9 + chr(0), limit=4)
    ('aaaa', ('cut',))
    """
    done = []
    if len(query) > limit:
        query = query[:limit]
        done.append("cut")
    tidy = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Cf") else c for c in query)
    if tidy != query:
        done.append("cleaned")
    tidy = " ".join(tidy.split())
    if not tidy:
        done.append("empty")
    return tidy, tuple(done)


class Bm25Retriever:
    """BM25 (Lucene's form: k1 1.5, b 0.75) over titles and texts.

    Args:
        documents: the corpus; ids must be unique.
        k: hits per query where `search` is given none.
        title_weight: how many times the words of a title count.
    """

    def __init__(self, documents: Sequence[Document], k: int = 3, title_weight: int = 1) -> None:
        if not documents:
            raise DataError("a retriever needs one document or more, given an empty corpus")
        if k < 1 or title_weight < 1:
            raise ConfigError(f"k={k} and title_weight={title_weight} must be 1 or more")
        twice = [id for id, n in Counter(d.id for d in documents).items() if n > 1]
        if twice:
            raise DataError(f"document id {twice[0]!r} comes twice; ids must be unique")
        self.k = k
        self.counts: Counter[str] = Counter()
        # In order of id, so that a stable sort by score breaks ties as promised.
        self._documents = sorted(documents, key=lambda d: d.id)
        words = [tokenise(f"{d.title} " * title_weight + d.text) for d in self._documents]
        self._vocabulary = {w: i for i, w in enumerate(sorted({w for ws in words for w in ws}))}
        self._index = _index(words, self._vocabulary) if self._vocabulary else None

    def search(self, queries: Sequence[str], k: int | None = None) -> list[list[Hit]]:
        """Return up to k hits per query, best first; nothing that a query can hold raises."""
        wanted = self.k if k is None else k
        if wanted < 1:
            raise ConfigError(f"k={wanted} must be 1 or more")
        return [self._find(query, wanted) for query in queries]

    def _find(self, query: str, k: int) -> list[Hit]:
        query, done = clean_query(query)
        self.counts.update(["queries", *done])
        ids = [self._vocabulary[w] for w in tokenise(query) if w in self._vocabulary]
        if not ids or self._index is None:
            return []
        scores_D = np.asarray(self._index.get_scores_from_ids(ids), dtype=np.float64)
        best = np.argsort(-scores_D, kind="stable")[:k]
        found = [(self._documents[i], float(scores_D[i])) for i in best if scores_D[i] > 0]
        return [Hit(d.id, score, d.title, d.text) for d, score in found]

    def with_k(self, k: int) -> Bm25Retriever:
        """Return another view of the same index with its own k and its own counts."""
        if k < 1:
            raise ConfigError(f"k={k} must be 1 or more")
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__ | {"counts": Counter(), "k": k}
        return twin

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Bm25Retriever:
        """Share the index, which never changes, and copy the counts."""
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__ | {"counts": Counter(self.counts)}
        return twin


def _index(words: Sequence[Sequence[str]], vocabulary: Mapping[str, int]) -> Any:
    try:
        bm25s = importlib.import_module("bm25s")
    except ImportError:
        raise missing_extra("bm25s", "search") from None
    ids = [[vocabulary[w] for w in ws] for ws in words]
    index = bm25s.BM25(backend="numpy")
    index.index((ids, dict(vocabulary)), show_progress=False)
    return index
