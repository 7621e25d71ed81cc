"""What an episode of search self-play keeps track of, and how its settings are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.search.actions import Action
from coevo.envs.search.payoffs import success_share
from coevo.envs.search.proposals import VALID, GateSpec, Verdict, counts
from coevo.envs.search.snippets import Search


@dataclass
class Desk:
    """What one seat has done so far."""

    left: int
    """Replies that it still has."""
    searches: list[Search] = field(default_factory=list)
    action: Action = field(default_factory=lambda: Action("none", ""))
    """Its last."""
    at: int = -1
    """Place of its last turn in the episode."""
    answer_tags: int = 0
    done: bool = False
    paid: float = 0.0


@dataclass(frozen=True)
class Asked:
    """The question that the solvers answer."""

    question: str
    answer: str
    hops: int
    about: int
    """Place of the turn that asked it in this episode; -1 for a question from elsewhere."""
    parent: str | None
    """Seat that is paid for it; None where its author does not sit here."""
    source: str
    """`own`, `stored` or `dummy`."""


GATES: dict[str, GateSpec] = {"full": GateSpec(), "tag": GateSpec(filters=("no_tag",))}
"""Gates by name: every filter, or none but that there is a question at all."""


def gate_spec(given: str | Mapping[str, Any]) -> GateSpec:
    """Read the settings of a gate: `full`, `tag`, or fields of GateSpec.

    >>> gate_spec({"min_words": 10}).min_words
    10
    """
    if isinstance(given, str):
        if given not in GATES:
            raise unknown("gate", given, GATES)
        return GATES[given]
    if not isinstance(given, Mapping):
        raise ConfigError(f"gate={given!r} must be one of {', '.join(GATES)}, or its settings")
    spec: GateSpec = read(GateSpec, dict(given), "gate")
    return spec


def stored_questions(given: object) -> tuple[Mapping[str, Any], ...]:
    """Read the option `stored`: mappings with a question and an answer; anything else is left out.

    >>> stored_questions([{"question": "mayor of Dalu", "answer": "Kimo"}, 3])
    ({'question': 'mayor of Dalu', 'answer': 'Kimo'},)
    """
    items = given if isinstance(given, list | tuple) else ()
    fields = ("question", "answer")
    return tuple(
        item
        for item in items
        if isinstance(item, Mapping) and all(isinstance(item.get(f), str) for f in fields)
    )


def outcome_of(
    desks: Mapping[str, Desk], verdicts: Sequence[Verdict], asked: Asked | None, odd: int
) -> dict[str, float]:
    """Return the metrics of an episode."""
    tables = [counts(v.reason) for v in verdicts]
    found = {k: sum(t[k] for t in tables) / len(tables) for k in counts(VALID)} if tables else {}
    let_pass = [float(v.let_pass) for v in verdicts if v.let_pass is not None]
    if let_pass:
        found["gate/reader_accepts_wrong"] = sum(let_pass) / len(let_pass)
    for role in ("proposer", "solver"):
        used = [len(d.searches) for a, d in desks.items() if a.startswith(role) and d.at >= 0]
        found |= {f"searches/{role}": sum(used) / len(used)} if used else {}
    if asked is not None:
        found[f"asked/{asked.source}"] = 1.0
        if asked.source != "dummy":
            paid = [d.paid for a, d in desks.items() if a.startswith("solver")]
            found["success"] = success_share(paid)
    return found | {"odd_replies": float(odd)}
