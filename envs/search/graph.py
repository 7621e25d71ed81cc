"""Worlds with a triple store: everything about them can be decided exactly.

Facts are (subject, relation, object). Most relations are functional, so that every forward chain
has exactly one answer; relations whose objects are sets exist to ask questions without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.envs.search.corpus import Document
from coevo.envs.search.grammar import Grammar, Path, Relation
from coevo.envs.search.retrieval import mentions
from coevo.envs.search.world import Found, World, WorldQuestion

TRIES = 100
"""Paths that are drawn until one does not give itself away."""


class Fact(NamedTuple):
    """A fact: subject, relation, object."""

    subject: str
    relation: str
    object: str


class GraphWorld(World):
    """Documents that state facts, and the facts.

    Args:
        name: for records.
        entities: name -> type.
        relations: of the facts; asked for in questions.
        facts: all that are true.
        documents: what can be found.
        stated: document id -> the facts that it states, true or (in noise) stale.
        title_weight: how many times the retriever counts the words of a title.
        phrasing: which phrase of each relation questions use, at most this number; 0 the usual.
        aliases: entity -> other answers that are accepted for it.
    """

    symbolic = True

    def __init__(
        self,
        name: str,
        entities: Mapping[str, str],
        relations: Sequence[Relation],
        facts: Sequence[Fact],
        documents: Sequence[Document],
        stated: Mapping[str, Sequence[Fact]],
        title_weight: int = 1,
        phrasing: int = 0,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name = name
        self.entities = dict(entities)
        self.relations = {r.name: r for r in relations}
        self.facts = tuple(facts)
        self.documents = tuple(documents)
        self.stated = {id: tuple(said) for id, said in stated.items()}
        self.title_weight = title_weight
        self.grammar = Grammar(relations, entities)
        self.aliases = {name: tuple(others) for name, others in (aliases or {}).items()}
        self._phrasing = phrasing
        self._known_ends: dict[int, tuple[str, ...]] = {}
        self._forward: dict[tuple[str, str], list[str]] = {}
        self._inverse: dict[str, list[Fact]] = {}
        for fact in self.facts:
            self._forward.setdefault((fact.subject, fact.relation), []).append(fact.object)
            if self.relations[fact.relation].functional:
                self._inverse.setdefault(fact.object, []).append(fact)
        noise = {d.id for d in self.documents if d.noise}
        self._source = {
            (fact.subject, fact.relation): id
            for id, said in self.stated.items()
            for fact in said
            if id not in noise
        }

    # ---- Questions -------------------------------------------------------------------------

    def question(self, path: Path, terse: bool = False) -> str:
        letters = sum(map(ord, str(path)))
        choice = [(letters + i) % (self._phrasing + 1) for i in range(path.hops)]
        return self.grammar.question(path, terse, choice)

    def parse(self, text: str) -> Path | None:
        return self.grammar.parse(text)

    def draw_answer(self, rng: np.random.Generator, hops: int = 1) -> str:
        ends = self._ends(hops)
        if not ends:
            raise ConfigError(f"the world {self.name!r} has no question of hops={hops}")
        return ends[int(rng.integers(len(ends)))]

    def sample_path(self, rng: np.random.Generator, hops: int, answer: str | None = None) -> Path:
        """Walk inverse edges from the answer, without repeats, and give the walk reversed.

        Paths whose question names their answer or a bridge (Mexico City, Mexico) are drawn again.
        """
        for _ in range(TRIES):
            end = self.draw_answer(rng, hops) if answer is None else answer
            walk = self._walk_back(rng, (end,), hops)
            if walk is None:
                break
            relations = tuple(fact.relation for fact in reversed(walk))
            path = Path(walk[-1].subject, relations)
            asked = self.question(path)
            if not any(mentions(asked, fact.object) for fact in walk):
                return path
        raise ConfigError(f"no question of hops={hops} has the answer {end!r} here")

    def sample_question(self, rng: np.random.Generator, hops: int = 1) -> WorldQuestion:
        return self.ask(self.sample_path(rng, hops))

    def ask(self, path: Path) -> WorldQuestion:
        """Return the question of a path, with its answers and the documents that it needs."""
        names = sorted(self.answers(path))
        others = [alias for name in names for alias in self.aliases.get(name, ())]
        asked, terse = self.question(path), self.question(path, terse=True)
        return WorldQuestion(asked, terse, (*names, *others), self.support(path), path)

    def _walk_back(
        self, rng: np.random.Generator, seen: tuple[str, ...], hops: int
    ) -> list[Fact] | None:
        if not hops:
            return []
        edges = [f for f in self._inverse.get(seen[-1], ()) if f.subject not in seen]
        for i in rng.permutation(len(edges)):
            rest = self._walk_back(rng, (*seen, edges[i].subject), hops - 1)
            if rest is not None:
                return [edges[i], *rest]
        return None

    def _ends(self, hops: int) -> tuple[str, ...]:
        """Return all entities in which a path of so many hops ends."""
        if hops < 1:
            raise ConfigError(f"hops={hops} must be 1 or more")
        if hops not in self._known_ends:
            rng = np.random.default_rng(0)
            ends = (e for e in self.entities if self._walk_back(rng, (e,), hops) is not None)
            self._known_ends[hops] = tuple(ends)
        return self._known_ends[hops]

    # ---- Oracles ---------------------------------------------------------------------------

    def answers(self, path: Path) -> set[str]:
        ends = {path.start}
        for relation in path.relations:
            ends = {o for s in ends for o in self._forward.get((s, relation), ())}
        return ends

    def trace(self, path: Path) -> tuple[str, ...]:
        along = [path.start]
        for i in range(path.hops):
            ends = self.answers(Path(path.start, path.relations[: i + 1]))
            if len(ends) != 1:
                raise ConfigError(f"{path} has {len(ends)} ends after {i + 1} hops, not one")
            along += ends
        return tuple(along)

    def support(self, path: Path) -> tuple[str, ...]:
        sources: list[str] = []
        ends = {path.start}
        for relation in path.relations:
            keys = [(s, relation) for s in sorted(ends) if (s, relation) in self._source]
            sources += [self._source[key] for key in keys]
            ends = {o for key in keys for o in self._forward[key]}
        return tuple(dict.fromkeys(sources))

    def plan(self, path: Path) -> list[str]:
        along = self.trace(path)
        steps = zip(along, path.relations, strict=False)
        return [self.grammar.question(Path(s, (r,)), terse=True) for s, r in steps]

    def read(self, question: str | Path, documents: Sequence[Found]) -> str | None:
        path = self.parse(question) if isinstance(question, str) else question
        if path is None:
            return None
        said = said_in(self.stated.get(d.id, ()) for d in documents)
        here: str | None = path.start
        for relation in path.relations:
            here = said.get((here, relation)) if here is not None else None
        return here

    def to_json(self) -> str:
        """Spell the whole world: equal worlds give equal texts."""
        documents = [[d.id, d.title, d.text, d.noise] for d in self.documents]
        return json.dumps([self.name, self.entities, self.facts, documents], ensure_ascii=False)


def said_in(statements: Iterable[Iterable[Fact]]) -> dict[tuple[str, str], str]:
    """Return the first object that is stated for each subject and relation."""
    said: dict[tuple[str, str], str] = {}
    for facts in statements:
        for fact in facts:
            said.setdefault((fact.subject, fact.relation), fact.object)
    return said
