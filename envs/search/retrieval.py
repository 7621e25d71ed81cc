"""Finding documents: one protocol, and BM25 over a corpus (bm25s, extra `search`).

`retrievers.py` has others: vectors, several fused, a server.

Queries are written by models, so anything may stand in them: they are cleaned, cut and counted,
and none of them raises. What the library leaves open is settled here: short tokens and stop words
are kept (an entity may be called "It"), equal scores are ordered by id, `k` may exceed the corpus,
and a document that shares no word with the query is no hit of BM25.
"""

from __future__ import annotations

import importlib
import re
import sys
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

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

    def with_k(self, k: int) -> Self:
        """Return the same search engine with its own k and its own counts."""
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


class LocalRetriever(ABC):
    """What retrievers share: clean queries, counts, views with another `k`.

    Args:
        k: hits per query where `search` is given none.
    """

    def __init__(self, k: int) -> None:
        self.k = _checked(k)
        self.counts: Counter[str] = Counter()

    def search(self, queries: Sequence[str], k: int | None = None) -> list[list[Hit]]:
        """Return up to k hits per query, best first; nothing that a query can hold raises."""
        wanted = self.k if k is None else _checked(k)
        tidy = [clean_query(query) for query in queries]
        for _, done in tidy:
            self.counts.update(["queries", *done])
        asked = list(dict.fromkeys(query for query, _ in tidy if query))
        found = dict(zip(asked, self.find(asked, wanted) if asked else (), strict=True))
        return [list(found.get(query, ())) for query, _ in tidy]

    @abstractmethod
    def find(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the hits of clean queries, all different and none empty."""

    def with_k(self, k: int) -> Self:
        """Return another view of the same index with its own k and its own counts."""
        return self._twin({"counts": Counter(), "k": _checked(k)})

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        """Share the index, which never changes, and copy the counts."""
        return self._twin({"counts": Counter(self.counts)})

    def _twin(self, changed: Mapping[str, Any]) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__ |= {**self.__dict__, **changed}
        return twin


class Bm25Retriever(LocalRetriever):
    """BM25 (Lucene's form: k1 1.5, b 0.75) over titles and texts.

    Args:
        documents: the corpus; ids must be unique.
        k: hits per query where `search` is given none.
        title_weight: how many times the words of a title count.
    """

    def __init__(self, documents: Sequence[Document], k: int = 3, title_weight: int = 1) -> None:
        super().__init__(k)
        if title_weight < 1:
            raise ConfigError(f"title_weight={title_weight} must be 1 or more")
        self._documents = in_order(documents)
        words = [tokenise(f"{d.title} " * title_weight + d.text) for d in self._documents]
        self._vocabulary = {w: i for i, w in enumerate(sorted({w for ws in words for w in ws}))}
        self._index = _index(words, self._vocabulary) if self._vocabulary else None

    def find(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [self._find(query, k) for query in queries]

    def _find(self, query: str, k: int) -> list[Hit]:
        ids = [self._vocabulary[w] for w in tokenise(query) if w in self._vocabulary]
        if not ids or self._index is None:
            return []
        scores_D = np.asarray(self._index.get_scores_from_ids(ids), dtype=np.float64)
        return best(self._documents, scores_D, k, above=0.0)


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Return the documents in the order of their ids, so that stable sorts break ties by id.

    Raises:
        DataError: there are none, or an id comes twice.
    """
    if not documents:
        raise DataError("a retriever needs one document or more, given an empty corpus")
    twice = [id for id, n in Counter(d.id for d in documents).items() if n > 1]
    if twice:
        raise DataError(f"document id {twice[0]!r} comes twice; ids must be unique")
    return sorted(documents, key=lambda d: d.id)


def best(
    documents: Sequence[Document], scores_D: np.ndarray, k: int, above: float = -np.inf
) -> list[Hit]:
    """Return the k best documents with scores above `above`, equal scores in the order given."""
    few = np.arange(len(scores_D))
    if k < len(scores_D):  # sorting all of a large corpus would cost more than the search
        few = np.flatnonzero(scores_D >= np.partition(scores_D, -k)[-k])
    ranked = few[np.argsort(-scores_D[few], kind="stable")][:k]
    found = [(documents[i], float(scores_D[i])) for i in ranked if scores_D[i] > above]
    return [Hit(d.id, score, d.title, d.text) for d, score in found]


def _checked(k: int) -> int:
    if k < 1:
        raise ConfigError(f"k={k} must be 1 or more")
    return k


def _index(words: Sequence[Sequence[str]], vocabulary: Mapping[str, int]) -> Any:
    bm25s = _bm25s()
    ids = [[vocabulary[w] for w in ws] for ws in words]
    index = bm25s.BM25(backend="numpy")
    index.index((ids, dict(vocabulary)), show_progress=False)
    return index


def _bm25s() -> Any:
    """Import the package without JAX, which it tries: JAX takes most of a GPU when it begins."""
    hidden = "jax" not in sys.modules
    if hidden:
        sys.modules["jax"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("bm25s")
    except ImportError:
        raise missing_extra("bm25s", "search") from None
    finally:
        if hidden:
            del sys.modules["jax"]
