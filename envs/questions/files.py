"""Questions from files: JSON lines of one's own, and GSM8K and MATH-500 as they are published."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.questions.grading import MATHEMATICS
from coevo.envs.questions.mathematics import check_installed
from coevo.envs.questions.question import Question, QuestionSource

OnError = Literal["raise", "skip"]
Make = Callable[[Mapping[str, Any], int], Question]
"""From the object on a line, and its line number, to the question."""


class FileSource(QuestionSource):
    """Questions read from one file of JSON lines; subclasses say what a line holds.

    Args:
        path: the file, or the folder that holds it under its published name.
        on_error: what to do about a broken line: `raise`, or `skip` it and count it.
    """

    published: str = ""
    """File name in a folder."""

    def __init__(self, *, path: str | Path, on_error: OnError = "raise") -> None:
        if on_error not in get_args(OnError):
            raise ConfigError(
                f"on_error={on_error!r} must be one of {', '.join(get_args(OnError))}"
            )
        self.path = Path(path)
        if self.path.is_dir() and self.published:
            self.path = self.path / self.published
        self.skipped: tuple[str, ...] = ()
        """What was wrong with each line that was left out."""
        self.settings = {"path": str(path)} | ({"on_error": "skip"} if on_error == "skip" else {})
        self._read(on_error)

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Make the question of one line; raise DataError where something is missing."""
        raise NotImplementedError  # abstract

    def __len__(self) -> int:
        """Count the questions that were read."""
        return len(self._questions)

    def item(self, index: int) -> Question:
        """Give a question, in the order of the file."""
        return self._questions[self._place(index)]

    def _read(self, on_error: OnError) -> None:
        try:
            lines = self.path.read_bytes().split(b"\n")
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from None
        found: dict[str, Question] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                question = self.question(_object(line), number)
                if question.id in found:
                    raise DataError(f"the id {question.id!r} was there before")
                found[question.id] = question
            except DataError as error:
                if on_error == "raise":
                    raise DataError(f"{self.path}, line {number}: {error}") from None
                self.skipped += (f"line {number}: {error}",)
        if not found:
            raise DataError(f"{self.path} holds no question; {len(self.skipped)} lines are broken")
        if any(q.kind in MATHEMATICS for q in found.values()):
            check_installed()
        self._questions = tuple(found.values())


class JsonLines(FileSource):
    """One object per line: `question`, `answer`, and, if given, `kind` and `id`.

    Args:
        path: the file.
        on_error: `raise` or `skip`.
        kind: of lines that name none.
    """

    name = "jsonl"

    def __init__(
        self, *, path: str | Path, on_error: OnError = "raise", kind: str = "text"
    ) -> None:
        self.kind = kind
        super().__init__(path=path, on_error=on_error)
        if kind != "text":
            self.settings = {**self.settings, "kind": kind}

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the fields as they are; an answer may be a number."""
        kind = _text(line, "kind") if "kind" in line else self.kind
        name = _text(line, "id") if "id" in line else str(number)
        return Question(_text(line, "question"), _text(line, "answer"), kind, name, self.name)


class Gsm8k(FileSource):
    """Grade-school mathematics: `question`, and `answer` that ends with `#### N`.

    Args:
        path: `test.jsonl`, `train.jsonl`, or the folder with both.
        split: file to take from a folder.
        on_error: `raise` or `skip`.
    """

    name = "gsm8k"

    def __init__(
        self,
        *,
        path: str | Path,
        split: Literal["test", "train"] = "test",
        on_error: OnError = "raise",
    ) -> None:
        if split not in ("test", "train"):
            raise ConfigError(f"split={split!r} must be test or train")
        self.published = f"{split}.jsonl"
        super().__init__(path=path, on_error=on_error)
        if split != "test":
            self.settings = {**self.settings, "split": split}

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take what follows the last `####` as the answer."""
        _, mark, answer = _text(line, "answer").rpartition("####")
        if not mark or not answer.strip():
            raise DataError("'answer' does not end with '#### N'")
        return Question(
            _text(line, "question"), answer.strip(), "mathematics", str(number), self.name
        )


class Math500(FileSource):
    """MATH-500: `problem`, `answer` in LaTeX, `unique_id`.

    Args:
        path: `test.jsonl`, or the folder that holds it.
        on_error: `raise` or `skip`.
    """

    name = "math500"
    published = "test.jsonl"

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
    """Take a field that must hold words or a number."""
    found = line.get(field)
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise DataError(f"{field!r} must be text, found {found!r:.80}")
    if not str(found).strip():
        raise DataError(f"{field!r} is empty")
    return str(found)
