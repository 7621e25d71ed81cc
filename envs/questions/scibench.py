"""SciBench: problems of ten textbooks whose answers are numbers with a unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.questions.answers import as_number
from coevo.envs.questions.files import FileSource, text_of
from coevo.envs.questions.question import Question
from coevo.envs.questions.tables import json_list

RELATIVE, ABSOLUTE = 0.05, 1e-6
"""How far an answer may be from the right one: of its size, or, from 0, at all."""


@config
class Scibench(FileSource):
    """One book of SciBench, a JSON list, or the folder with all of them.

    An answer is right within 5 %, as its authors grade it. The question names the unit.
    """

    name: Literal["scibench"] = "scibench"

    def _files(self) -> list[Path]:
        path = Path(self.path)
        return sorted(path.glob("*.json")) if path.is_dir() else [path]

    def _entries(self, file: Path) -> Iterable[tuple[int, object]]:
        return json_list(file)

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take `problem_text`, `unit` and `answer_number`."""
        asked, answer = text_of(line, "problem_text").strip(), text_of(line, "answer_number")
        if value_of(answer) is None:
            raise DataError(f"'answer_number' must be a number, found {answer!r:.80}")
        unit = str(line.get("unit") or "").strip()
        if unit:
            asked = f"{asked} (Give the number alone; the unit is {unit}.)"
        book = str(line.get("source") or "book").strip()
        return Question(asked, answer.strip(), "number", f"{book}-{number}", self.name)

    def grade(self, question: Question, answer: str | None) -> float:
        """Return 1 within the tolerance."""
        given, gold = value_of(answer or ""), value_of(question.answer)
        if given is None or gold is None:
            return 0.0
        return float(math.isclose(given, gold, rel_tol=0.0, abs_tol=_allowed(gold)))


def _allowed(gold: float) -> float:
    return RELATIVE * abs(gold) if gold else ABSOLUTE


def value_of(text: str) -> float | None:
    """Return the number that a text is; None if it is none.

    >>> value_of("89,034.79"), value_of("1.5e-3"), value_of("about 3")
    (89034.79, 0.0015, None)
    """
    exact = as_number(text)
    if exact is not None:
        return float(exact) if exact.numerator.bit_length() < 1000 else None
    try:
        found = float(text.strip().replace("\u2212", "-"))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
