"""The gate between proposer and solvers: is this a question that deserves to be solved?

Filters run in the order of `proposals.REASONS` and the first that fails gives the reason.
Everything up to `near_duplicate_archive` looks at the words (on plain text also for hidden answers
and for what no honest question is written in), then come the exact checks of worlds
with a triple store (parse back: one answer, the right one, in so many hops), then the reader, who
must find the answer in what the proposer found, among noise from elsewhere. A reader that breaks
rejects.

Source: Search Self-Play (arXiv 2510.18821), released code, whose order this is; the exact checks
close two of its holes (hops unchecked, several answers), and its reader lets pass what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from coevo.envs.questions.answers import exact_match
from coevo.envs.search.corpus import Document
from coevo.envs.search.disguise import mentions
from coevo.envs.search.grammar import Path
from coevo.envs.search.proposals import EXACT, VALID, GateSpec, Proposal, Verdict
from coevo.envs.search.retrieval import tokenise
from coevo.envs.search.world import World

Reader = Callable[[str, Sequence[Document]], str | None]
"""Answers a question from documents alone; None where they do not tell."""


class Gate:
    """Judges proposals in one world.

    Args:
        world: where the questions are about.
        spec: what is asked for.
        reader: checks that the evidence holds the answer; None takes the world's own.
        k: documents per query in bundles of noise.
    """

    def __init__(
        self, world: World, spec: GateSpec | None = None, reader: Reader | None = None, k: int = 3
    ) -> None:
        self.world, self.spec, self.k = world, spec or GateSpec(), k
        self.reader: Reader = world.read if reader is None else reader

    def judge(self, proposal: Proposal, rng: np.random.Generator) -> Verdict:
        """Run the filters in order; stop at the first that fails."""
        path = self.world.parse(proposal.question) if proposal.question else None
        failed = self._words(proposal, path) or self._exact(proposal, path)
        if failed is not None and (failed[0] not in EXACT or not self._reads):
            return Verdict(failed[0], path, detail=failed[1])
        if not self._reads:
            return Verdict(VALID, path)
        return self._read(proposal, path, rng, failed)

    # ---- Words -----------------------------------------------------------------------------

    def _words(self, p: Proposal, path: Path | None) -> tuple[str, str] | None:
        """Look at question, queries and archive: (reason, detail), or None where all is well."""
        if not p.question:
            return "no_tag", "there is no question"
        spec, text = self.spec, p.question
        words, queries = len(text.split()), [" ".join(q.casefold().split()) for q in p.queries]
        least = spec.min_searches if spec.min_searches is not None else min(2, p.hops)
        size = f"{words} words, {len(text)} characters"
        tests: dict[str, Callable[[], str]] = {  # each says what is wrong, or nothing
            "too_short": lambda: (
                size if words < spec.min_words or len(text) < spec.min_chars else ""
            ),
            "too_long": lambda: (
                size if words > spec.max_words or len(text) > spec.max_chars else ""
            ),
            "answer_leak": lambda: self._leak(text, p.answer),
            "odd_text": lambda: "" if self.world.symbolic else self.world.hints.odd(text),
            "bridge_leak": lambda: self._named(text, p, path),
            "no_evidence": lambda: "" if p.evidence else "nothing was found",
            "too_few_searches": lambda: (
                f"{len(queries)} of {least} searches" if len(queries) < least else ""
            ),
            "duplicate_search": lambda: (
                "a query came twice" if len(set(queries)) < len(queries) else ""
            ),
            "answer_searched": lambda: (
                "a query holds the answer"
                if spec.forbid_answer_search and any(mentions(q, p.answer) for q in p.queries)
                else ""
            ),
            "near_duplicate_archive": lambda: self._duplicate(text, p.stored),
        }
        asked = (name for name in tests if name in spec.filters)
        return next(((name, why) for name in asked if (why := tests[name]())), None)

    def _leak(self, text: str, answer: str) -> str:
        """Say how a question tells its answer; on plain text, hidden answers are looked for too."""
        if answer.casefold() in text.casefold() or mentions(text, answer):
            return "the question holds the answer"
        return "" if self.world.symbolic else self.world.hints.hint(text, answer)

    def _named(self, text: str, p: Proposal, path: Path | None) -> str:
        """Name what lies between, if the question does."""
        between = self._bridges(path) if path else self._searched(p)
        leaked = [name for name in between if mentions(text, name)]
        return f"the question names {', '.join(leaked)}" if leaked else ""

    def _bridges(self, path: Path) -> tuple[str, ...]:
        """Name the entities between start and end of a path."""
        prefixes = [Path(path.start, path.relations[:i]) for i in range(1, path.hops)]
        return tuple(sorted({e for p in prefixes for e in self.world.answers(p)} - {path.start}))

    def _searched(self, p: Proposal) -> tuple[str, ...]:
        """Name what was searched for: what lies between, where a question cannot be parsed."""
        return tuple(q for q in p.queries if q != p.answer) if self.world.symbolic else ()

    def _duplicate(self, text: str, stored: Sequence[str]) -> str:
        least = self.spec.near_duplicate
        if least is None:
            return ""
        close = next((s for s in stored if overlap(text, s) >= least), None)
        return "" if close is None else f"much like {close!r}"

    # ---- Exact -----------------------------------------------------------------------------

    def _exact(self, p: Proposal, path: Path | None) -> tuple[str, str] | None:
        """Compare with the triple store, where there is one."""
        if not self.world.symbolic:
            return None
        if path is None:
            return (
                ("not_parseable", "not in the world's grammar")
                if self._asks("not_parseable")
                else None
            )
        ends = self.world.answers(path)
        tests = {
            "not_unique": (len(ends) != 1, f"{len(ends)} answers"),
            "wrong_answer": (not exact_match(p.answer, ends), "another answer than it should have"),
            "wrong_hops": (self._hops(path) != p.hops, f"needs {self._hops(path)} hops"),
        }
        failed = next((name for name in tests if self._asks(name) and tests[name][0]), None)
        return None if failed is None else (failed, tests[failed][1])

    def _hops(self, path: Path) -> int:
        """Count the hops that are needed: a path that comes back to an entity needs fewer."""
        ends = [
            frozenset(self.world.answers(Path(path.start, path.relations[: i + 1])))
            for i in range(path.hops)
        ]
        seen = [frozenset({path.start}), *ends]
        at = 0
        hops = 0
        while at < path.hops:
            at = max(i for i, e in enumerate(seen) if e == seen[at]) + 1
            hops += at <= path.hops
        return hops

    def _asks(self, reason: str) -> bool:
        return reason in self.spec.filters

    # ---- Reader ----------------------------------------------------------------------------

    @property
    def _reads(self) -> bool:
        return self._asks("reader_failed") or self._asks("reader_error")

    def _read(
        self,
        p: Proposal,
        path: Path | None,
        rng: np.random.Generator,
        failed: tuple[str, str] | None,
    ) -> Verdict:
        """Let the reader answer from the evidence among noise."""
        question = p.question or ""
        bundles = [p.evidence, *self._noise(p, path, rng)]
        order = rng.permutation(len(bundles))
        shuffled = tuple(bundles[i] for i in order)
        documents = [self.world.by_id[id] for bundle in shuffled for id in bundle]
        try:
            said = self.reader(question, documents)
        except Exception as error:  # whatever a model or a server raises: it is no verdict
            why = failed or ("reader_error", f"{type(error).__name__}: {error}")
            return Verdict(why[0], path, None, why[1], None, shuffled)
        if failed is not None:
            accepts = bool(exact_match(said, [p.answer]))
            return Verdict(failed[0], path, said, failed[1], accepts, shuffled)
        if not exact_match(said, [p.answer]) and self._asks("reader_failed"):
            return Verdict("reader_failed", path, said, f"the reader says {said!r}", None, shuffled)
        return Verdict(VALID, path, said, "", None, shuffled)

    def _noise(
        self, p: Proposal, path: Path | None, rng: np.random.Generator
    ) -> list[tuple[str, ...]]:
        """Return bundles that other searchers would have found, without the question's support."""
        barred = set(p.evidence)
        if not self.spec.allow_support:
            barred |= set(self.world.support(path)) if path else set()
        find = self.world.retriever(self.k)
        bundles = []
        for _ in range(self.spec.noise):
            other = self.world.sample_question(rng, p.hops)
            queries = self.world.plan(other.path) if other.path else [other.text]
            ids = dict.fromkeys(hit.doc_id for hits in find.search(queries) for hit in hits)
            bundle = tuple(i for i in ids if i not in barred and not self._tells(i, p, path))
            if bundle:
                bundles.append(bundle)
        return bundles

    def _tells(self, id: str, p: Proposal, path: Path | None) -> bool:
        """Return whether a document holds the answer, where no path says what supports it."""
        if path is not None or self.spec.allow_support:
            return False
        return mentions(self.world.by_id[id].contents, p.answer)


def overlap(one: str, other: str) -> float:
    """Return the share of words in common: |A and B| / |A or B|.

    >>> overlap("the mayor of Dalu", "mayor of Dalu?")
    0.75
    """
    a, b = set(tokenise(one)), set(tokenise(other))
    return len(a & b) / len(a | b) if a | b else 1.0
