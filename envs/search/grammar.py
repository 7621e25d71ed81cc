"""The language of questions about relations: what can be rendered can be parsed back, exactly.

    full    Who is the mayor of the capital of Dalu?
    terse   mayor of capital of Dalu

A question is a chain of relations from an entity; the relation named first is followed last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import normalise

_OPENING = re.compile(r"^(?:who|what|which)\s+(?:(?:is|are|was|were)\s+)?")
_ARTICLE = re.compile(r"^the\s+")


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of relations that starts at an entity; its end is the answer."""

    start: str
    """Name of the entity."""
    relations: tuple[str, ...]
    """Names of the relations in the order in which they are followed; one or more."""

    @property
    def hops(self) -> int:
        """Count the facts that are needed."""
        return len(self.relations)

    def __str__(self) -> str:
        """Spell the path in one canonical way, as a key."""
        return " > ".join((self.start, *self.relations))


@dataclass(frozen=True, slots=True)
class Relation:
    """One kind of fact: a subject has an object, or several."""

    name: str
    subject: str
    """Type of the subject: `town`."""
    object: str
    """Type of the object: `person`."""
    phrases: tuple[str, ...]
    """How it is named in questions and queries, the usual one first: `mayor`."""
    sentences: tuple[str, ...] = ("{s}: {r} {o}.",)
    """How a document states it; {s}, {o}, {r} are subject, object and the usual phrase."""
    functional: bool = True
    """Whether a subject has one object at most; sets only serve to ask what has no one answer."""


class Grammar:
    """Questions about given relations and entities, both ways.

    Args:
        relations: all different in name and phrase.
        entities: name -> type.
    """

    def __init__(self, relations: Iterable[Relation], entities: Mapping[str, str]) -> None:
        self.relations = {r.name: r for r in relations}
        self._names = {normalise(name): name for name in entities}
        if len(self._names) < len(entities):
            raise ConfigError("two entities have names that differ in case or blanks alone")
        phrases = [(normalise(p), r.name) for r in self.relations.values() for p in r.phrases]
        self._phrases = dict(phrases)
        if len(self._phrases) < len(phrases):
            raise ConfigError("two relations share a phrase")

    def question(self, path: Path, terse: bool = False, choice: Sequence[int] = ()) -> str:
        """Ask for the end of a path.

        Args:
            path: of relations that this grammar knows.
            terse: without the words that a person needs.
            choice: which phrase of each relation, modulo their number; the usual one where none.
        """
        numbers = [*choice, *[0] * path.hops][: path.hops]
        chain = [self.relations[name] for name in path.relations]
        words = [r.phrases[n % len(r.phrases)] for r, n in zip(chain, numbers, strict=True)]
        if terse:
            return " of ".join([*reversed(words), path.start])
        who = "Who" if chain[-1].object == "person" else "What"
        verb = "is" if chain[-1].functional else "are"
        return f"{who} {verb} the {' of the '.join(reversed(words))} of {path.start}?"

    def parse(self, text: str) -> Path | None:
        """Read a question back.

        Case, blanks, articles, the opening words, `of` and the question mark may be missing or
        there; everything else must be exact. None where the text can be read in no way or in two.
        """
        text = _OPENING.sub("", normalise(text).rstrip("?. "))
        readings = set(self._readings(text)) if len(text) <= 1000 else set()
        return readings.pop() if len(readings) == 1 else None

    def _readings(self, text: str) -> Iterable[Path]:
        """Return every way to read `phrase [of] ... entity`; depth is bounded by the text."""
        todo: list[tuple[str, tuple[str, ...]]] = [(text, ())]
        while todo:
            whole, named = todo.pop()
            rest = _ARTICLE.sub("", whole)
            for name in {whole, rest} if named else ():
                if name in self._names:
                    yield Path(self._names[name], named[::-1])
            for phrase, relation in self._phrases.items():
                if rest.startswith(phrase + " "):
                    after = rest[len(phrase) + 1 :]
                    todo.append((after.removeprefix("of "), (*named, relation)))
