"""Invented worlds by seed: no model can know them, so answers have to be found.

compact     36 entities with names of two syllables, six relations, one document per fact of about
            ten tokens; made for million-parameter models, and the default of the environments
otherwise   people, cities, organisations, books, regions and rivers, twelve functional relations,
            one document per entity of several sentences, with paraphrases and filler

Every relation hands its objects out evenly, so that the most frequent object of a relation is
hardly a better guess than any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.corpus import Document
from coevo.envs.search.grammar import Relation
from coevo.envs.search.graph import Fact, GraphWorld
from coevo.envs.search.names import Split, long_names, short_names
from coevo.envs.search.relations import (
    COMPACT,
    COMPACT_SHARES,
    FILLER,
    MEMBERS,
    WIDE,
    WIDE_SHARES,
)


@config
class Fictional:
    """An invented world."""

    name: Literal["fictional"] = "fictional"
    compact: bool = True
    """The small world with short names; False gives the wide one."""
    entities: Annotated[int, whole(0)] = 0
    """About how many entities, 6 or more (compact: 1500 at most); 0 takes 36, or 240 when wide."""
    split: Split = "all"
    """`train` and `test` take names from two halves that never meet; `all` from both."""
    sets: bool = True
    """Whether there is a relation with several objects (friends, members)."""
    passages: Literal["auto", "entity", "fact"] = "auto"
    """`entity` writes one document per entity, `fact` one per fact; `auto` takes `fact` for the
    compact world and `entity` for the wide one."""
    paraphrase: Annotated[int, whole(0, 2)] = 0
    """Wide: 0 states and asks everything in one way, 1 and 2 in two and three ways."""
    filler: Annotated[int, whole(0)] = 0
    """Wide: sentences per document that state nothing."""
    shared: Annotated[int, whole(1)] = 1
    """Wide: names in which one word of a name may occur; 3 makes names ambiguous."""
    stale: Annotated[float, real(0, 1)] = 0.0
    """Share of the documents that have a stale twin which contradicts one of their facts."""

    def __post_init__(self) -> None:
        if 0 < self.entities < 6:
            raise ConfigError(f"entities={self.entities} must be 6 or more, or 0 for the default")
        if self.compact and (self.paraphrase or self.filler or self.shared != 1):
            raise ConfigError("paraphrase, filler and shared need compact=False")

    def stamp(self, seed: int) -> int:
        """Return what distinguishes worlds of these settings: the seed."""
        return seed

    def make(self, stamp: int) -> GraphWorld:
        """Return the world of a seed."""
        return _fictional(self, stamp)


def _fictional(spec: Fictional, seed: int) -> GraphWorld:
    """Invent a world: names, facts, documents; the same settings and seed give the same world."""
    rng = np.random.default_rng(seed)
    shares = COMPACT_SHARES if spec.compact else WIDE_SHARES
    relations = [r for r in _relations(spec) if spec.sets or r.functional]
    counts = _counts(spec.entities or (36 if spec.compact else 240), shares)
    total = sum(counts.values())
    named = short_names(rng, total, spec.split) if spec.compact else []
    named = named or long_names(rng, total, spec.split, spec.shared)
    types = [kind for kind, count in counts.items() for _ in range(count)]
    entities = dict(zip(named, types, strict=True))
    facts = [fact for relation in relations for fact in _deal(rng, relation, entities)]
    documents, stated = _documents(rng, spec, relations, entities, facts)
    return GraphWorld(
        spec.name,
        entities,
        relations,
        facts,
        documents,
        stated,
        title_weight=4 if spec.compact else 1,
        phrasing=spec.paraphrase,
    )


def _relations(spec: Fictional) -> Sequence[Relation]:
    return COMPACT if spec.compact else (*WIDE, MEMBERS)


def _counts(total: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Split a number of entities by the shares of their types, one of each at least."""
    whole = sum(shares.values())
    return {kind: max(1, round(total * share / whole)) for kind, share in shares.items()}


def _deal(rng: np.random.Generator, relation: Relation, entities: Mapping[str, str]) -> list[Fact]:
    """Hand objects out evenly: none is dealt again before all were, and none gets itself."""
    subjects = [e for e, kind in entities.items() if kind == relation.subject]
    pool = [e for e, kind in entities.items() if kind == relation.object]
    each = 1 if relation.functional else 2
    deck: list[str] = []
    facts = []
    for subject in subjects:
        given: list[str] = []
        while len(given) < min(each, len([o for o in pool if o != subject])):
            if not any(o != subject and o not in given for o in deck):
                deck += [pool[i] for i in rng.permutation(len(pool))]
            at = next(i for i, o in enumerate(deck) if o != subject and o not in given)
            given.append(deck.pop(at))
        facts += [Fact(subject, relation.name, o) for o in given]
    return facts


def _documents(
    rng: np.random.Generator,
    spec: Fictional,
    relations: Sequence[Relation],
    entities: Mapping[str, str],
    facts: Sequence[Fact],
) -> tuple[list[Document], dict[str, list[Fact]]]:
    """Write one document per entity that has facts, or per fact, and stale twins of some."""
    by_subject: dict[str, list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault(fact.subject, []).append(fact)
    apart = spec.passages == "fact" or (spec.passages == "auto" and spec.compact)
    groups: dict[tuple[str, str], list[Fact]] = {}
    for entity in entities:
        for fact in by_subject.get(entity, ()):
            groups.setdefault((entity, fact.relation if apart else ""), []).append(fact)
    wording = {r.name: r for r in relations}
    documents, stated = [], {}
    width = len(str(len(groups)))
    order = rng.permutation(len(groups))
    for ((subject, _), own), number in zip(groups.items(), order, strict=True):
        id = f"d{number:0{width}d}"
        documents.append(Document(id, subject, _text(rng, spec, own, wording)))
        stated[id] = own
        if rng.random() < spec.stale:
            old = _outdated(rng, own, wording, entities)
            text = _text(rng, spec, old, wording)
            documents.append(Document(f"{id}-old", subject, text, noise=True))
            stated[f"{id}-old"] = old
    return sorted(documents, key=lambda d: d.id), stated


def _outdated(
    rng: np.random.Generator,
    own: Sequence[Fact],
    wording: Mapping[str, Relation],
    entities: Mapping[str, str],
) -> list[Fact]:
    """Change the object of one fact."""
    at = int(rng.integers(len(own)))
    kind = wording[own[at].relation].object
    taken = {own[at].object, own[at].subject}
    others = [e for e, k in entities.items() if k == kind and e not in taken]
    changed = own[at]._replace(object=others[int(rng.integers(len(others)))]) if others else own[at]
    return [changed if i == at else fact for i, fact in enumerate(own)]


def _text(
    rng: np.random.Generator,
    spec: Fictional,
    facts: Sequence[Fact],
    wording: Mapping[str, Relation],
) -> str:
    if spec.compact:
        return compact_text(facts, wording)
    sentences = []
    for fact in facts:
        forms = wording[fact.relation].sentences[: spec.paraphrase + 1]
        form = forms[int(rng.integers(len(forms)))]
        sentences.append(form.format(s=fact.subject, o=fact.object))
    sentences += [FILLER[int(rng.integers(len(FILLER)))] for _ in range(spec.filler)]
    return " ".join(sentences[i] for i in _shuffled(rng, len(sentences), spec.filler))


def _shuffled(rng: np.random.Generator, count: int, filler: int) -> Sequence[int]:
    return [int(i) for i in rng.permutation(count)] if filler else range(count)


def compact_text(facts: Sequence[Fact], wording: Mapping[str, Relation]) -> str:
    """State facts as sentences that name their subject, like `Suna: mayor Kimo`."""
    said: dict[tuple[str, str], list[str]] = {}
    for fact in facts:
        key = (fact.subject, wording[fact.relation].phrases[0])
        said.setdefault(key, []).append(fact.object)
    return " ".join(f"{s}: {phrase} {' '.join(o)}." for (s, phrase), o in said.items())
