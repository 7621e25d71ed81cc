"""Whether the questions of a world can be answered without searching, step by step, for them.

What is looked for: the answer or a bridge in the question; the answer among what the question
itself finds, without a search per hop; a guess that is better than chance; a reader that answers
although the last document is taken away; entities that two worlds share; names that are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from coevo.envs.core.errors import DataError
from coevo.envs.search.graph import GraphWorld
from coevo.envs.search.names import KNOWN
from coevo.envs.search.retrieval import mentions
from coevo.envs.search.worlds import Question


@dataclass(frozen=True, kw_only=True)
class Leaks:
    """Shares of questions that leak, 0..1; all but `support_found` should be small."""

    answer_in_question: float
    bridge_in_question: float
    answer_found_at_once: float
    """The answer stands in the best k documents for the question itself."""
    guessed: float
    """The most frequent object of the last relation, over all of the world, is the answer."""
    chance: float
    """What `guessed` is where all objects of a relation are equally frequent."""
    read_without_last: float
    """The reader still gives the answer when the document of the last fact is taken away."""
    support_found: float
    """Every query of the oracle's plan finds its document among the best k; should be 1."""
    known_names: float
    """Share of entities one of whose words people know (of the bundled list)."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a world may leak; the defaults are for questions of two hops and more."""

    answer_in_question: float = 0.0
    bridge_in_question: float = 0.0
    answer_found_at_once: float = 0.2
    over_chance: float = 3.0
    """Standard deviations by which `guessed` may exceed `chance`."""
    read_without_last: float = 0.0
    support_missed: float = 0.05
    known_names: float = 0.0


def leaks(
    world: GraphWorld, rng: np.random.Generator, hops: int = 2, questions: int = 200, k: int = 3
) -> Leaks:
    """Measure what the questions of a world give away.

    Args:
        world: with a triple store.
        rng: draws the questions.
        hops: of the questions; what one hop needs is found at once, by its nature.
        questions: how many are drawn.
        k: documents per search.
    """
    asked = [world.sample_question(rng, hops) for _ in range(questions)]
    shares = np.mean([_leaks_of(world, q, k) for q in asked], axis=0)
    known = [bool(KNOWN & set(name.casefold().split())) for name in world.entities]
    guesses = _guesses(world)
    right = [guesses[q.path.relations[-1]] == q.answers[0] for q in asked if q.path]
    chances = [1 / _objects(world, q.path.relations[-1]) for q in asked if q.path]
    return Leaks(
        answer_in_question=float(shares[0]),
        bridge_in_question=float(shares[1]),
        answer_found_at_once=float(shares[2]),
        read_without_last=float(shares[3]),
        support_found=float(shares[4]),
        guessed=float(np.mean(right)),
        chance=float(np.mean(chances)),
        known_names=float(np.mean(known)),
    )


def check_leaks(found: Leaks, questions: int = 200, limits: Limits | None = None) -> None:
    """Raise DataError for the first leak over its limit.

    Args:
        found: what `leaks` measured.
        questions: over how many questions.
        limits: what may leak.
    """
    allowed = asdict(limits or Limits())
    deviation = (found.chance * (1 - found.chance) / questions) ** 0.5
    over = allowed.pop("over_chance") * deviation
    measured = {**asdict(found), "support_missed": 1 - found.support_found}
    allowed["guessed"] = found.chance + over
    for name, most in allowed.items():
        if measured[name] > most + 1e-9:
            raise DataError(
                f"the world leaks: {name} is {measured[name]:.3f} of {questions} questions, "
                f"{most:.3f} at most is allowed"
            )


def shared_entities(first: GraphWorld, second: GraphWorld) -> set[str]:
    """Give the entities that two worlds have in common, case aside."""
    theirs = {name.casefold() for name in second.entities}
    return {name for name in first.entities if name.casefold() in theirs}


def _leaks_of(world: GraphWorld, question: Question, k: int) -> Sequence[bool]:
    path = question.path
    if path is None:
        raise DataError(f"question {question.text!r} has no path")
    trace = world.trace(path)
    answer, bridges = trace[-1], trace[1:-1]
    find = world.retriever(k)
    at_once = find.search([question.text])[0]
    found = find.search(world.plan(path))
    support = [world.by_id[id] for id in question.support]
    planned = zip(question.support, found, strict=False)
    return (
        mentions(question.text, answer),
        any(mentions(question.text, bridge) for bridge in bridges),
        any(mentions(f"{hit.title} {hit.text}", answer) for hit in at_once),
        world.read(question.text, support[:-1]) == answer,
        all(id in [hit.id for hit in hits] for id, hits in planned),
    )


def _guesses(world: GraphWorld) -> dict[str, str]:
    """Give the most frequent object of every relation, the first by name of equals."""
    counts: dict[str, Counter[str]] = {}
    for fact in world.facts:
        counts.setdefault(fact.relation, Counter())[fact.object] += 1
    return {r: min(c, key=lambda o: (-c[o], o)) for r, c in counts.items()}


def _objects(world: GraphWorld, relation: str) -> int:
    return len({f.object for f in world.facts if f.relation == relation})
