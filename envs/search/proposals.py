"""What goes into the gate and what comes out: settings, proposals, verdicts with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.grammar import Path

VALID = "valid"
REASONS = (
    "no_tag",
    "too_short",
    "too_long",
    "answer_leak",
    "odd_text",
    "bridge_leak",
    "no_evidence",
    "too_few_searches",
    "duplicate_search",
    "answer_searched",
    "near_duplicate_archive",
    "not_parseable",
    "not_unique",
    "wrong_answer",
    "wrong_hops",
    "reader_failed",
    "reader_error",
)
"""Why a question is rejected, in the order in which it is looked at."""
EXACT = ("not_unique", "wrong_answer", "wrong_hops")
"""Those that only a triple store can find."""


@config
class GateSpec:
    """Requirements of the gate."""

    filters: tuple[str, ...] = REASONS
    """Reasons that are looked at; `no_tag` always is."""
    min_words: Annotated[int, whole(0)] = 3
    """Words of a question; published 10, which rejects most questions made from templates."""
    max_words: Annotated[int, whole(0)] = 200
    min_chars: Annotated[int, whole(0)] = 10
    max_chars: Annotated[int, whole(0)] = 1000
    min_searches: Annotated[int, whole(0)] | None = None
    """Searches of the proposer; None asks for two, or one where the question needs one hop."""
    forbid_answer_search: bool = False
    """Whether the answer must not be among the words of a query (`answer_searched`)."""
    near_duplicate: Annotated[float, real(above=0, high=1)] | None = None
    """Share of words in common with a stored question from which on it is a duplicate; None
    looks at none."""
    noise: Annotated[int, whole(0, 1000)] = 4
    """Bundles of documents from elsewhere that the reader gets as well."""
    allow_support: bool = False
    """Whether such a bundle may hold documents that support the question."""

    def __post_init__(self) -> None:
        unknown_ones = sorted({*self.filters} - {*REASONS})
        if unknown_ones:
            known = ", ".join(REASONS)
            raise ConfigError(f"gate filters {unknown_ones} are not known; known: {known}")
        for low, high in (("min_words", "max_words"), ("min_chars", "max_chars")):
            if not 0 <= getattr(self, low) <= getattr(self, high):
                given = f"{low}={getattr(self, low)} and {high}={getattr(self, high)}"
                raise ConfigError(f"{given}: the first must be 0 or more and not above the second")


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A question, and the searches behind it."""

    question: str | None
    """Its question; None where it gave none."""
    answer: str
    """The answer that it was given to ask for."""
    hops: int
    """The hops that the question was to need."""
    queries: tuple[str, ...] = ()
    """What it searched for, in order."""
    evidence: tuple[str, ...] = ()
    """Ids of the documents that it found, each once."""
    stored: tuple[str, ...] = ()
    """Questions of the archive."""


@dataclass(frozen=True)
class Verdict:
    """The decision of the gate, and its reason."""

    reason: str
    """`valid`, or one of REASONS."""
    path: Path | None = None
    """What was asked, where it could be parsed."""
    reader: str | None = None
    """What the reader answered; also where an exact check failed, to know what it lets pass."""
    detail: str = ""
    """In words."""
    let_pass: bool | None = None
    """Whether the reader alone would have accepted what an exact check rejects; None where it did
    not read."""
    bundles: tuple[tuple[str, ...], ...] = field(default=())
    """Ids of the documents that the reader saw, in its order."""

    @property
    def valid(self) -> bool:
        """Whether the question goes to the solvers."""
        return self.reason == VALID


def counts(reason: str) -> Mapping[str, float]:
    """Return one number per verdict for the metrics of an episode: 1 for the one that was given."""
    return {f"gate/{name}": float(name == reason) for name in (VALID, *REASONS)}
