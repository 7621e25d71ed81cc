"""Open questions from published files: HotpotQA, 2WikiMultihopQA, MuSiQue, Natural Questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.questions.files import FileSource, text_of
from coevo.envs.questions.question import Question
from coevo.envs.questions.tables import json_list


@config
class MultiHop(FileSource):
    """Questions with the paragraphs that answer them, told apart by what a line holds.

    HotpotQA and 2Wiki are JSON lists with `context`, MuSiQue is JSON lines with `paragraphs`, and
    Natural Questions (open) is JSON lines whose `answer` is a list. An answer is right if it is
    equal to one of those accepted, case, punctuation and articles aside. Prompts have no
    paragraphs; they are the question's `documents`.
    """

    name: Literal["multi_hop"] = "multi_hop"

    def _entries(self, file: Path) -> Iterable[tuple[int, object]]:
        return json_list(file) if file.suffix == ".json" else super()._entries(file)

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take the first answer as the gold one."""
        given = line.get("answer")
        answers = given if isinstance(given, list) else [given]
        aliases = line.get("answer_aliases", [])
        if not answers or not isinstance(aliases, list):
            raise DataError("'answer' and 'answer_aliases' must hold texts")
        gold, *others = [text_of({"answer": a}, "answer") for a in [*answers, *aliases]]
        field = next((name for name in ("_id", "id") if name in line), "")
        return Question(
            text_of(line, "question"),
            gold,
            "open",
            text_of(line, field) if field else str(number),
            self.name,
            accepted=tuple(others),
            documents=_documents(line),
        )


def _documents(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paragraphs of a line, each after its title.

    >>> _documents({"context": [["Rome", ["A city.", " Old."]]]})
    ('Rome: A city. Old.',)
    """
    try:
        pairs = [(title, "".join(said)) for title, said in line.get("context", [])]
        pairs += [(p["title"], p["paragraph_text"]) for p in line.get("paragraphs", [])]
    except (TypeError, ValueError, KeyError):
        raise DataError("'context' or 'paragraphs' is not as published") from None
    return tuple(f"{title}: {text}" for title, text in pairs)
