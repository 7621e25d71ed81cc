"""What a world to search in offers: documents, and questions about them.

Worlds never change: they may be shared between environments, forks and threads of a rollout.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.questions.question import WHOLE
from coevo.envs.search.corpus import Document
from coevo.envs.search.grammar import Path
from coevo.envs.search.hints import Hints
from coevo.envs.search.retrieval import Bm25Retriever, Hit, Retriever

Found = Document | Hit
"""What can be read: a document of the world, or a hit of its retriever."""


@dataclass(frozen=True, slots=True)
class WorldQuestion:
    """One question with all that is known about it."""

    text: str
    """In full words."""
    terse: str
    """As short as it can be said; equal to `text` where a person wrote it."""
    answers: tuple[str, ...]
    """Accepted answers, the preferred one first."""
    support: tuple[str, ...]
    """Ids of the documents that are needed, in the order of the hops."""
    path: Path | None = None
    """Its path; None where a person wrote it."""

    @property
    def in_full(self) -> str:
        """Return what is asked as a full prompt shows it; what a person wrote is quoted."""
        return f"Question: {self.text}" if self.path else f"Question:\n{quote(self.text, WHOLE)}"

    @property
    def in_short(self) -> str:
        """Return what is asked as a terse prompt shows it, on one line."""
        return f"{self.terse.rstrip('?')}?" if self.path else quote_line(self.terse, WHOLE)

    @property
    def hops(self) -> int:
        """Count the facts that are needed; 1 for questions that a person wrote."""
        return self.path.hops if self.path else 1


class World(ABC):
    """Documents to search in, and questions about them.

    What needs a triple store (`path`s) is there where `symbolic` is true; elsewhere `parse` gives
    None and `sample_path` raises ConfigError, while `sample_question` and `read` work everywhere.
    """

    name: str
    """For records: `fictional`, `facts`, the name of a corpus."""
    documents: tuple[Document, ...]
    symbolic: bool = False
    """Whether questions can be parsed, answered and counted in hops exactly."""
    title_weight: int = 1
    """How many times the retriever counts the words of a title."""

    @abstractmethod
    def draw_answer(self, rng: np.random.Generator, hops: int = 1) -> str:
        """Draw an answer that some question of so many hops has, each one equally likely."""

    @abstractmethod
    def sample_question(self, rng: np.random.Generator, hops: int = 1) -> WorldQuestion:
        """Draw a question with exactly one answer; a corpus of people's questions ignores hops."""

    @abstractmethod
    def read(self, question: str | Path, documents: Sequence[Found]) -> str | None:
        """Answer from the given documents alone; None where they do not tell.

        Deterministic, and no better than a reader: of several members of a set it takes the one
        that the documents name first, and a contradiction goes to the document that comes first.
        """

    def sample_path(self, rng: np.random.Generator, hops: int, answer: str | None = None) -> Path:
        """Draw a path of so many hops with exactly one answer and no entity twice.

        Args:
            rng: randomness.
            hops: facts that are needed, 1 or more.
            answer: where it has to end; drawn where none is given.

        Raises:
            ConfigError: there is no such path, or the world has no triple store.
        """
        raise self._no_paths()

    def parse(self, text: str) -> Path | None:
        """Read a question back into its path; None where it is not in the world's grammar."""
        return None

    def question(self, path: Path, terse: bool = False) -> str:
        """Ask for the end of a path, in full words or as short as it can be said."""
        raise self._no_paths()

    def answers(self, path: Path) -> set[str]:
        """Follow a path to all its ends: one for functional relations, more where sets occur."""
        raise self._no_paths()

    def trace(self, path: Path) -> tuple[str, ...]:
        """Return the entities along a path with one answer: start, bridges, answer."""
        raise self._no_paths()

    def support(self, path: Path) -> tuple[str, ...]:
        """Return the ids of the documents that state the facts of a path, in order."""
        raise self._no_paths()

    def plan(self, path: Path) -> list[str]:
        """Return the queries that find the documents of a path one after the other."""
        raise self._no_paths()

    def _no_paths(self) -> ConfigError:
        return ConfigError(f"the world {self.name!r} has no triple store, so no paths")

    def retriever(self, k: int = 3) -> Retriever:
        """Return its search engine, k hits per query; the index is built once."""
        made: dict[int, Retriever] = self.__dict__.setdefault("_retrievers", {})
        if k not in made:
            first = next(iter(made.values()), None)
            made[k] = self.make_retriever(k) if first is None else first.with_k(k)
        return made[k]

    def make_retriever(self, k: int) -> Retriever:
        """Build BM25 over the documents; worlds with another search engine override it."""
        return Bm25Retriever(self.documents, k, self.title_weight)

    @functools.cached_property
    def by_id(self) -> Mapping[str, Document]:
        return {d.id: d for d in self.documents}

    @functools.cached_property
    def hints(self) -> Hints:
        """What looks for hints in questions about the documents."""
        return Hints(d.contents for d in self.documents)

    def supported_hops(self, question: WorldQuestion, found: Sequence[str]) -> int:
        """Count the leading hops of a question whose documents are among the ids in `found`."""
        known = set(found)
        missing = (i for i, id in enumerate(question.support) if id not in known)
        return next(missing, len(question.support))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Share it: a world never changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave indices out, which are quickly built again."""
        return {
            k: v for k, v in self.__dict__.items() if k not in ("_retrievers", "by_id", "hints")
        }
