"""Questions with listed answers: JSON lines of one's own, and MMLU and GPQA as published."""

from __future__ import annotations

import string
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.questions.files import FileSource, id_of, text_of
from coevo.envs.questions.question import Question
from coevo.envs.questions.tables import csv_rows

LETTERS = string.ascii_uppercase


def multiple_choice(
    asked: str, options: Sequence[str], right: int, name: str, source: str
) -> Question:
    """Return a question whose answer is a letter.

    >>> multiple_choice("Half of 4?", ["1", "2"], 1, "q", "mine").question
    'Half of 4? (A) 1 (B) 2'
    """
    lettered = list(zip(LETTERS, options, strict=False))
    short = " ".join([asked, *(f"({letter}) {option}" for letter, option in lettered)])
    full = "\n".join([asked, *(f"{letter}. {option}" for letter, option in lettered)])
    letters = tuple(letter for letter, _ in lettered)
    return Question(short, LETTERS[right], "choice", name, source, full, letters)


@config
class Choice(FileSource):
    """JSON lines: `question`, `choices` (2 to 26 texts) and `answer`, a letter or its text."""

    name: Literal["choice"] = "choice"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the answer by its letter, its place from 0 on, or its text."""
        given = line.get("choices")
        if not isinstance(given, list) or not 2 <= len(given) <= len(LETTERS):
            raise DataError(f"'choices' must be a list of 2 to 26 texts, found {given!r:.80}")
        options = [text_of({"choices": one}, "choices") for one in given]
        right = _place(line, options)
        asked = text_of(line, "question")
        return multiple_choice(asked, options, right, id_of(line, number), self.name)


@config
class Mmlu(FileSource):
    """One subject of MMLU as published: a table of question, four answers and the right letter."""

    name: Literal["mmlu"] = "mmlu"

    def _entries(self, file: Path) -> Iterable[tuple[int, object]]:
        return csv_rows(file, ("question", "A", "B", "C", "D", "answer"))

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the six columns as they are."""
        options = [text_of(line, letter) for letter in "ABCD"]
        right = _place(line, options)
        return multiple_choice(text_of(line, "question"), options, right, str(number), self.name)


@config
class Gpqa(FileSource):
    """GPQA as published: a table with `Question`, `Correct Answer`, `Incorrect Answer 1` to `3`.

    Every question has an order of its answers of its own, the same in every run.
    """

    name: Literal["gpqa"] = "gpqa"

    def _entries(self, file: Path) -> Iterable[tuple[int, object]]:
        return csv_rows(file)

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Shuffle the answers by a seed that is made of the question."""
        asked = text_of(line, "Question").strip()
        wrong = [text_of(line, f"Incorrect Answer {n}").strip() for n in (1, 2, 3)]
        options = [text_of(line, "Correct Answer").strip(), *wrong]
        order = np.random.default_rng(zlib.crc32(asked.encode())).permutation(4)
        right = int(np.flatnonzero(order == 0)[0])
        name = id_of(line, number, "Record ID")
        return multiple_choice(asked, [options[i] for i in order], right, name, self.name)


def _place(line: Mapping[str, Any], options: Sequence[str]) -> int:
    """Return the place of the right answer."""
    given = line.get("answer")
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(options):
        return given
    said = text_of(line, "answer").strip()
    letters = LETTERS[: len(options)]
    if len(said) == 1 and said.upper() in letters:
        return letters.index(said.upper())
    if options.count(said) == 1:
        return options.index(said)
    raise DataError(
        f"'answer' must be a letter from A to {letters[-1]}, a place from 0 to "
        f"{len(options) - 1} or one of the choices, found {given!r:.80}"
    )
