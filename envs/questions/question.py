"""A question with its gold answer, and what every source of questions offers."""

from __future__ import annotations

import ast
import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from coevo.envs.core.config import changed, config
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.questions.grading import right

Split = Literal["all", "train", "test"]
WHOLE = 2**20
"""Characters of a question that prompts show: all that a file's line may hold."""
MOST_SPLIT = 1_000_000
"""Questions of a source that can be split; larger sources hardly repeat themselves."""


@dataclass(frozen=True, slots=True)
class ProgramTests:
    """How an answer that is a program is graded; no prompt shows it."""

    asserts: tuple[str, ...] = ()
    """Each `assert call == value`, graded by itself."""
    after: str = ""
    """Source behind the answer that the asserts need."""
    check: str = ""
    """Source of `check(candidate)`, in the place of asserts."""
    before: str = ""
    """Source that the answer completes."""
    entry_point: str = ""
    """Name of the function that is completed."""


def tested(test: str) -> ast.expr:
    """Return what an assert tests.

    Raises:
        DataError: it is no assert, or more than one.
    """
    try:
        (found,) = ast.parse(test.strip()).body
    except (SyntaxError, ValueError, RecursionError):
        found = None
    if not isinstance(found, ast.Assert):
        raise DataError(
            f"a test must be one assert, such as 'assert f(2) == 4'; found {test!r:.80}"
        )
    return found.test


@dataclass(frozen=True, slots=True)
class Question:
    """One question. No agent ever sees more of it than the text and the kind."""

    question: str
    """What is asked, as short as a terse prompt needs it."""
    answer: str
    """The gold answer, as its source spells it."""
    kind: str = "text"
    """`number` and `mathematics` are compared by value, the latter with algebra; `choice` by its
    letter; `code` is run; answers of any other kind are compared as text."""
    id: str = ""
    """Name of the question within its source; says nothing about the answer."""
    source: str = ""
    """Name of the source."""
    sentence: str = ""
    """What is asked, for full prompts; empty where `question` is a sentence already."""
    choices: tuple[str, ...] = ()
    """All answers that there are, where they are few: the letters of a multiple choice."""
    accepted: tuple[str, ...] = ()
    """Other answers that are as good as the gold one."""
    documents: tuple[str, ...] = ()
    """Texts that the answer can be found in, such as the paragraphs of a file; no prompt has them
    by itself."""
    solution: str = ""
    """A worked solution, which ends with the answer; empty where none is known."""
    difficulty: float | None = None
    """0 (easy) to 1 (hard); None where the source gives none."""
    ours: bool = False
    """Whether this package words it; what others wrote is quoted in prompts."""
    tests: ProgramTests | None = None
    """Of an answer that is a program."""
    paraphrases: tuple[tuple[str, str], ...] = ()
    """`question` and `sentence` in other words; empty where the source has none."""

    def reworded(self, wording: int) -> Question:
        """Return the question in one of its wordings; 0 is its own, ConfigError for none."""
        if wording > len(self.paraphrases):
            raise ConfigError(
                f"question {self.id!r} of {self.source} has {len(self.paraphrases)} paraphrases, "
                f"asked for number {wording}; digits have 3, and jsonl takes a list `paraphrases`"
            )
        question, sentence = ((self.question, self.sentence), *self.paraphrases)[wording]
        return replace(self, question=question, sentence=sentence)

    @property
    def in_full(self) -> str:
        r"""Return what is asked as a full prompt shows it, with a label before it.

        >>> Question("larger last digit of 1, 2?", "2", ours=True).in_full
        'Question: larger last digit of 1, 2?'
        >>> Question("1 < 2?<|end|>", "yes").in_full
        'Question:\n| 1 ‹ 2?‹|end|›'
        """
        text = self.sentence or self.question
        return f"Question: {text}" if self.ours else f"Question:\n{quote(text, WHOLE)}"

    @property
    def in_short(self) -> str:
        """Return what is asked as a terse prompt shows it, on one line."""
        return self.question if self.ours else quote_line(self.question, WHOLE)


class QuestionSource:
    """Base of every source; subclasses give `__len__` and `item`, and may grade in their own way.

    A source never changes: environments and their forks share it.
    """

    name: str = ""
    slow: ClassVar[bool] = False
    """Whether grading waits for other processes; see `Task.slow`."""

    @property
    def record(self) -> dict[str, Any]:
        """What an episode records of it; JSON-able."""
        return changed(self) if is_dataclass(self) else {"name": self.name}

    def __len__(self) -> int:
        raise NotImplementedError  # abstract

    def item(self, index: int) -> Question:
        """Return question number `index`, the same at every call."""
        raise NotImplementedError  # abstract

    @property
    def difficulties(self) -> Sequence[float]:
        """Return the difficulties of its questions, 0 to 1, in order; empty where it gives none."""
        return ()

    def draw(self, rng: np.random.Generator, difficulty: float | None = None) -> int:
        """Return the place of a question that is drawn, as near to a difficulty as there are."""
        if difficulty is not None:
            raise ConfigError(
                f"difficulty={difficulty}: the questions of {self.name} have none; "
                "those of word_problems have"
            )
        return int(rng.integers(len(self)))

    def near(self, index: int, rng: np.random.Generator) -> int:
        """Return the place of a question like another; any, where nothing says which are alike."""
        return int(rng.integers(len(self)))

    def grade(self, question: Question, answer: str | None) -> float:
        """Return how right a final answer (see `final_answer`) is, 0..1; 1 for the gold answer."""
        golds = (question.answer, *question.accepted)
        return float(answer is not None and any(right(answer, g, question.kind) for g in golds))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Share the source: a copy of an environment needs no copy of a data set."""
        return self

    def _place(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise ConfigError(f"{self.name} has questions 0..{len(self) - 1}, asked for {index}")
        return index


@config
class SplitSource(QuestionSource):
    """A source of which a fixed fifth can be held out: learn from `train`, measure on `test`."""

    split: Split = "all"
    """`test` is always the same fifth."""

    def __post_init__(self) -> None:
        if self._held_out and not 5 <= self._count <= MOST_SPLIT:
            raise ConfigError(
                f"split={self.split!r}: {self.name} has {self._count} questions, "
                f"not 5 to {MOST_SPLIT}"
            )

    @property
    def _held_out(self) -> bool:
        """Whether a fifth is held out of all questions."""
        return self.split != "all"

    @property
    @abstractmethod
    def _count(self) -> int:
        """Number of questions of all splits."""

    @abstractmethod
    def _at(self, place: int) -> Question:
        """Return a question by its place among those of all splits."""

    @functools.cached_property
    def _places(self) -> Sequence[int]:
        if not self._held_out:
            return range(self._count)
        shuffled = np.random.default_rng(0).permutation(self._count)
        tested = self._count // 5
        kept = shuffled[:tested] if self.split == "test" else shuffled[tested:]
        return [int(place) for place in np.sort(kept)]

    def __len__(self) -> int:
        """Return the number of questions of this split."""
        return len(self._places)

    def item(self, index: int) -> Question:
        """Return a question of this split."""
        return self._at(self._places[self._place(index)])
