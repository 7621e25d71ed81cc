"""Worlds of real text: passages that a user brings, with people's questions where there are any.

There is no triple store, so nothing is decided exactly: questions of the corpus are answered by
their gold answers where a given document holds one, and a sentence with `what` in the place of some
words by those words. For any other question the reader takes a name or a number out of the sentence
that shares most words with it. That is a weak reader, and it is always the same; a language model
may take its place where one is at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import normalise
from coevo.envs.search.corpus import AskedQuestion, Document, load_documents, load_questions
from coevo.envs.search.grammar import Path
from coevo.envs.search.names import Split
from coevo.envs.search.retrieval import Retriever, mentions, tokenise
from coevo.envs.search.retrievers import Bm25, RetrieverConfig
from coevo.envs.search.world import Found, World, WorldQuestion

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
SPAN = re.compile(r"[A-ZÀ-Þ][\w'-]*(?:\s+(?:of\s+|the\s+|and\s+)?[A-ZÀ-Þ][\w'-]*)*|\d[\d,.]*\d|\d")
"""A name or a number."""
WHAT, MOST_GAPS = "what", 2
"""Stands in a sentence for what is asked for, and how often it may."""


@config
class Corpus:
    """Passages of one's own: see `corpus` for the files."""

    name: Literal["corpus"] = "corpus"
    path: str
    """A folder with corpus.jsonl, or a file of JSON lines."""
    split: Split = "all"
    """`train` and `test` ask about two halves of the titles that never meet; `all` about all."""
    qrels: str = "test"
    """Name of BEIR's table of relevant documents."""
    retriever: RetrieverConfig = Bm25()
    """Search engine over it: bm25, dense, fused or remote; see retrievers.py."""

    def stamp(self, seed: int) -> int:
        """Return a number that changes with the files, so that edited ones are read again."""
        path = FilePath(self.path)
        if not path.exists():
            raise ConfigError(
                f"no corpus {self.path!r}: it must be a folder with corpus.jsonl, or a file of "
                "JSON lines"
            )
        files = [path, path / "corpus.jsonl", path / "questions.jsonl"]
        return hash(tuple(f.stat().st_mtime_ns for f in files if f.exists()))

    def make(self, stamp: int) -> PassagesWorld:
        """Load the corpus; the halves of a split ask about documents of different titles."""
        documents = load_documents(self.path)
        folder = FilePath(self.path).is_dir()
        questions = load_questions(self.path, self.qrels) if folder else ()
        if self.split != "all":
            wanted = int(self.split == "test")
            titles = {t: i % 2 for i, t in enumerate(dict.fromkeys(d.title for d in documents))}
            order = {d.id: titles[d.title] for d in documents}
            questions = tuple(
                q for q in questions if q.documents and order.get(q.documents[0]) == wanted
            )
        return PassagesWorld(FilePath(self.path).name, documents, questions, self.retriever)


class PassagesWorld(World):
    """Passages and questions that people asked about them."""

    def __init__(
        self,
        name: str,
        documents: Sequence[Document],
        questions: Sequence[AskedQuestion],
        retriever: RetrieverConfig = Bm25(),  # noqa: B008  # frozen
    ) -> None:
        self.name = name
        self.documents = tuple(documents)
        self._engine = retriever
        self._asked = tuple(q for q in questions if q.answers)
        self._gold = {normalise(q.text): q.answers for q in self._asked}

    @property
    def questions(self) -> tuple[WorldQuestion, ...]:
        """Return all questions that have an answer."""
        return tuple(_question(q) for q in self._asked)

    def make_retriever(self, k: int) -> Retriever:
        return self._engine.make(self.documents, k)

    def draw_answer(self, rng: np.random.Generator, hops: int = 1) -> str:
        return self.sample_question(rng, hops).answers[0]

    def sample_question(self, rng: np.random.Generator, hops: int = 1) -> WorldQuestion:
        if not self._asked:
            raise ConfigError(
                f"the corpus {self.name!r} has no questions with answers; put questions.jsonl of "
                "{question, answers, doc} beside corpus.jsonl"
            )
        return _question(self._asked[int(rng.integers(len(self._asked)))])

    def read(self, question: str | Path, documents: Sequence[Found]) -> str | None:
        if isinstance(question, Path):
            return None
        gold = self._gold.get(normalise(question))
        if gold is not None:
            text = " ".join(d.text for d in documents)
            return next((a for a in gold if mentions(text, a)), None)
        texts = [d.text for d in documents]
        return filled(question, sentences_of(texts)) or extract(question, texts)


def cloze(sentence: str, answer: str) -> str:
    """Return a sentence as a question for the words that are an answer.

    >>> cloze("Rollo led the Norse raiders.", "norse")
    'Rollo led the what raiders?'
    """
    blank = re.sub(rf"(?<!\w){re.escape(answer)}(?!\w)", WHAT, sentence, flags=re.IGNORECASE)
    return f"{blank.rstrip(' .!?')}?"


def filled(question: str, sentences: Iterable[str]) -> str | None:
    """Return the words that a question by `cloze` asks for; None where no sentence is its own.

    >>> filled("Rollo led the what raiders?", ["Rain fell.", "Rollo led the Norse raiders."])
    'Norse'
    """
    parts = re.split(rf"\b{WHAT}\b", " ".join(question.split()).rstrip("? "))
    if not 1 < len(parts) <= MOST_GAPS + 1:
        return None
    form = re.compile("(.+?)".join(map(re.escape, parts)) + r"[.!?]?")
    met = (form.fullmatch(" ".join(s.split())) for s in sentences)
    return next((m[1] for m in met if m and len({*m.groups()}) == 1), None)


def extract(question: str, texts: Sequence[str]) -> str | None:
    """Return the first name or number of the sentence that shares most words with a question.

    >>> extract("Who led the Norse raiders?", ["Rain fell. The Norse raiders followed Rollo."])
    'Rollo'
    """
    asked = set(tokenise(question))
    sentences = sentences_of(texts)
    best: tuple[int, int] | None = None
    answer = None
    for i, sentence in enumerate(sentences):
        spans = [s for s in SPAN.findall(sentence) if not asked & set(tokenise(s))]
        rank = (len(asked & set(tokenise(sentence))), -i)
        if spans and rank[0] and (best is None or rank > best):
            best, answer = rank, spans[0]
    return answer


def sentences_of(texts: Sequence[str]) -> list[str]:
    """Return the sentences of several texts, in their order."""
    return [s for text in texts for s in _SENTENCE.split(text)]


def _question(asked: AskedQuestion) -> WorldQuestion:
    return WorldQuestion(asked.text, asked.text, asked.answers, asked.documents[:1])
