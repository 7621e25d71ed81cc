"""Questions from files: JSON lines of one's own, and GSM8K and MATH-500 as they are published."""

from __future__ import annotations

import functools
import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.core.lines import lines_of
from coevo.envs.core.quoting import encodable
from coevo.envs.questions.grading import MATHEMATICS
from coevo.envs.questions.mathematics import check_installed
from coevo.envs.questions.question import Question, SplitSource

LARGEST = 2**29
"""Bytes of a file of questions, which are all held in memory."""
MOST = 1_000_000
"""Lines of it; a million short ones take about 850 MB."""


@config
class _Lines(SplitSource):
    """Questions read from one file of JSON lines; subclasses say what a line holds."""

    path: str
    """The file, or the folder that holds it under its published name."""
    on_error: Literal["raise", "skip"] = "raise"
    """What to do about a broken line: `raise`, or `skip` it and record it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        len(self)  # a file that cannot be read fails before anything starts

    @abstractmethod
    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Return the question of one line; raise DataError where something is missing."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was wrong with each line that was left out."""
        return self._read[1]

    @property
    def _count(self) -> int:
        return len(self._read[0])

    def _at(self, place: int) -> Question:
        """Return a question, in the order of the file."""
        return self._read[0][place]

    @property
    def _published(self) -> str:
        return "test.jsonl"

    @functools.cached_property
    def _read(self) -> tuple[tuple[Question, ...], tuple[str, ...]]:
        path = Path(self.path)
        file = path / self._published if path.is_dir() else path
        found: dict[str, Question] = {}
        skipped: list[str] = []
        for number, line in lines_of(file, largest=LARGEST, most=MOST):
            try:
                question = self.question(_object(line), number)
                if question.id in found:
                    raise DataError(f"the id {question.id!r} was there before")
                found[question.id] = question
            except DataError as error:
                if self.on_error == "raise":
                    raise DataError(f"{file}, line {number}: {error}") from None
                skipped.append(f"line {number}: {error}")
        if not found:
            raise DataError(f"{file} holds no question; {len(skipped)} lines are broken")
        if any(q.kind in MATHEMATICS for q in found.values()):
            check_installed()
        return tuple(found.values()), tuple(skipped)


@config
class Jsonl(_Lines):
    """One object per line: `question`, `answer`, and, if given, `kind` and `id`."""

    name: Literal["jsonl"] = "jsonl"
    kind: str = "text"
    """Kind of lines that name none."""

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the fields as they are; an answer may be a number."""
        kind = _text(line, "kind") if "kind" in line else self.kind
        name = _text(line, "id") if "id" in line else str(number)
        return Question(_text(line, "question"), _text(line, "answer"), kind, name, self.name)


@config
class Gsm8k(_Lines):
    """Grade-school mathematics: `question`, and `answer` that ends with `#### N`.

    The path is `test.jsonl`, `train.jsonl`, or the folder with both.
    """

    name: Literal["gsm8k"] = "gsm8k"
    split: Literal["train", "test"] = "test"
    """The published split, taken from a folder: no fifth is held out of it."""

    @property
    def _published(self) -> str:
        return f"{self.split}.jsonl"

    @property
    def _held_out(self) -> bool:
        return False

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take what follows the last `####` as the answer."""
        _, mark, answer = _text(line, "answer").rpartition("####")
        if not mark or not answer.strip():
            raise DataError("'answer' does not end with '#### N'")
        return Question(
            _text(line, "question"), answer.strip(), "mathematics", str(number), self.name
        )


@config
class Math500(_Lines):
    """MATH-500: `problem`, `answer` in LaTeX, `unique_id`; in a folder, `test.jsonl`."""

    name: Literal["math500"] = "math500"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take problem and answer as they are."""
        name = _text(line, "unique_id") if "unique_id" in line else str(number)
        return Question(
            _text(line, "problem"), _text(line, "answer"), "mathematics", name, self.name
        )


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise DataError(f"an object is expected, found {type(data).__name__}")
    return data


def _text(line: Mapping[str, Any], field: str) -> str:
    """Return a field that must hold words or a number."""
    found = line.get(field)
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise DataError(f"{field!r} must be text, found {found!r:.80}")
    if not str(found).strip():
        raise DataError(f"{field!r} is empty")
    if encodable(str(found)) != str(found):
        raise DataError(f"{field!r} holds half a surrogate pair")
    return str(found)
