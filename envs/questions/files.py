"""Questions from files: JSON lines of one's own, and GSM8K, MATH-500 and AIME."""

from __future__ import annotations

import functools
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping
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
class FileSource(SplitSource):
    """Questions read from a file of JSON lines; subclasses say what a line holds."""

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

    def _files(self) -> list[Path]:
        """Return the files to read, in order."""
        path = Path(self.path)
        return [path / self._published if path.is_dir() else path]

    def _entries(self, file: Path) -> Iterable[tuple[int, object]]:
        """Return what a file holds of every question, with numbers for people."""
        return lines_of(file, largest=LARGEST, most=MOST)

    @functools.cached_property
    def _read(self) -> tuple[tuple[Question, ...], tuple[str, ...]]:
        found: dict[str, Question] = {}
        skipped: list[str] = []
        for file in self._files():
            for number, entry in self._entries(file):
                try:
                    self._add(self.question(_object(entry), number), found)
                except DataError as error:
                    if self.on_error == "raise":
                        raise DataError(f"{file}, line {number}: {error}") from None
                    skipped.append(f"line {number}: {error}")
        if not found:
            raise DataError(f"{self.path} holds no question; {len(skipped)} lines are broken")
        if any(q.kind in MATHEMATICS for q in found.values()):
            check_installed()
        return tuple(found.values()), tuple(skipped)

    def _add(self, question: Question, found: dict[str, Question]) -> None:
        """Keep a question whose gold answer is graded right."""
        if question.id in found:
            raise DataError(f"the id {question.id!r} was there before")
        if self.grade(question, question.answer) != 1:
            raise DataError(f"the gold answer {question.answer!r:.80} is not graded as right")
        found[question.id] = question


@config
class Jsonl(FileSource):
    """One object per line: `question`, `answer`, and, if given, `kind`, `id` and `paraphrases`."""

    name: Literal["jsonl"] = "jsonl"
    kind: str = "text"
    """Kind of lines that name none."""

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the fields as they are; an answer may be a number."""
        kind = text_of(line, "kind") if "kind" in line else self.kind
        asked, answer = text_of(line, "question"), text_of(line, "answer")
        again = line.get("paraphrases", [])
        if not isinstance(again, list) or not all(isinstance(x, str) and x.strip() for x in again):
            raise DataError(f"'paraphrases' must be a list of texts, given {again!r:.80}")
        others = tuple((encodable(text), "") for text in again)
        name = id_of(line, number)
        return Question(asked, answer, kind, name, self.name, paraphrases=others)


@config
class Gsm8k(FileSource):
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
        _, mark, answer = text_of(line, "answer").rpartition("####")
        if not mark or not answer.strip():
            raise DataError("'answer' does not end with '#### N'")
        return Question(
            text_of(line, "question"), answer.strip(), "mathematics", str(number), self.name
        )


@config
class Math500(FileSource):
    """MATH-500: `problem`, `answer` in LaTeX, `unique_id`; in a folder, `test.jsonl`."""

    name: Literal["math500"] = "math500"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take problem and answer as they are."""
        asked, answer = text_of(line, "problem"), text_of(line, "answer")
        name = id_of(line, number, "unique_id")
        return Question(asked, answer, "mathematics", name, self.name)


@config
class Aime(FileSource):
    """AIME and AMC, from a file of one's own: `problem` or `question`, `answer` from 0 to 999."""

    name: Literal["aime"] = "aime"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the answer as a number; competitions write it with leading zeros."""
        answer = text_of(line, "answer").strip()
        if not answer.isascii() or not answer.isdigit() or int(answer) > 999:
            raise DataError(f"'answer' must be a whole number from 0 to 999, found {answer!r:.80}")
        asked = text_of(line, "problem" if "problem" in line else "question")
        return Question(asked, str(int(answer)), "number", id_of(line, number), self.name)


def _object(entry: object) -> Mapping[str, Any]:
    try:
        data = json.loads(entry) if isinstance(entry, bytes) else entry
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise DataError(f"an object is expected, found {type(data).__name__}")
    return data


def id_of(line: Mapping[str, Any], number: int, field: str = "id") -> str:
    """Return the name that a line gives its question, else its number."""
    return text_of(line, field) if field in line else str(number)


def text_of(line: Mapping[str, Any], field: str) -> str:
    """Return a field that must hold words or a number."""
    found = line.get(field)
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise DataError(f"{field!r} must be text, found {found!r:.80}")
    if not str(found).strip():
        raise DataError(f"{field!r} is empty")
    if encodable(str(found)) != str(found):
        raise DataError(f"{field!r} holds half a surrogate pair")
    return str(found)
