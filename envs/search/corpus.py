"""Documents and questions that a user brings: BEIR folders, passages as JSON lines, SQuAD-like.

Formats     a folder with `corpus.jsonl` of {_id, title, text} and, with questions, either
            `queries.jsonl` and `qrels/<split>.tsv` (BEIR) or `questions.jsonl` of
            {question, answers, doc}; or one file of {id, contents}, where the first line of
            `contents` is the title, with or without quotes (the dump of Search-R1)
Errors      everything is read before anything starts; a broken line, an id that comes twice and
            an empty corpus are DataErrors that name the file and the line
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.envs.core.errors import DataError
from coevo.envs.core.lines import lines_of


@dataclass(frozen=True, slots=True)
class Document:
    """One passage that can be found."""

    id: str
    """Unique in its corpus."""
    title: str
    text: str
    noise: bool = False
    """Whether it is there to mislead: stale or contradicting on purpose."""

    @property
    def contents(self) -> str:
        """Return title and text as one string, the title on a line of its own."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question that came with a corpus."""

    text: str
    answers: tuple[str, ...]
    """Accepted answers, the first one preferred; empty where only the document is known."""
    documents: tuple[str, ...]
    """Ids of the documents that answer it; empty where they are unknown."""


def load_documents(path: str | Path) -> tuple[Document, ...]:
    """Read a corpus: a folder with `corpus.jsonl`, or a file of JSON lines.

    Raises:
        DataError: it cannot be opened, a line is broken, an id comes twice, nothing is in it.
    """
    path = Path(path)
    file = path / "corpus.jsonl" if path.is_dir() else path
    documents: list[Document] = []
    lines: dict[str, int] = {}
    for number, entry in json_lines(file):
        document = _document(entry, f"{file}, line {number}")
        if document.id in lines:
            raise DataError(
                f"{file}, line {number}: id {document.id!r} was used in line "
                f"{lines[document.id]}; ids must be unique"
            )
        lines[document.id] = number
        documents.append(document)
    if not documents:
        raise DataError(f"{file}: the corpus is empty; one JSON object per line is expected")
    return tuple(documents)


def load_questions(path: str | Path, split: str = "test") -> tuple[AskedQuestion, ...]:
    """Read the questions of a corpus folder, from `questions.jsonl` or BEIR's queries and qrels.

    Returns:
        All questions in the order of the file; none where the folder has none.
    """
    path = Path(path)
    if (path / "questions.jsonl").is_file():
        file = path / "questions.jsonl"
        return tuple(_question(entry, f"{file}, line {n}") for n, entry in json_lines(file))
    if (path / "queries.jsonl").is_file():
        return _beir_questions(path, split)
    return ()


def json_lines(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Read JSON objects with the number of their line; blank lines are skipped.

    Raises:
        DataError: the file cannot be read, or a line is not a JSON object in UTF-8.
    """
    for number, line in lines_of(file):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file}, line {number}: not a JSON line: {error}") from None
        if not isinstance(entry, dict):
            kind = type(entry).__name__
            raise DataError(f"{file}, line {number}: a JSON object is expected, found {kind}")
        yield number, entry


def _document(entry: Mapping[str, Any], where: str) -> Document:
    id = _text(entry, ("_id", "id"), where)
    if "contents" in entry:
        head, _, text = _text(entry, ("contents",), where).partition("\n")
        title = head.strip().strip('"')
        document = Document(id, title, text.strip()) if text.strip() else Document(id, "", title)
    else:
        title = _text(entry, ("title",), where) if entry.get("title") else ""
        document = Document(id, title, _text(entry, ("text",), where))
    if not document.contents.strip():
        raise DataError(f"{where}: document {id!r} has neither title nor text")
    return document


def _question(entry: Mapping[str, Any], where: str) -> AskedQuestion:
    given = entry.get("answers", entry.get("golden_answers", entry.get("answer")))
    answers = [given] if isinstance(given, str) else given
    if not isinstance(answers, list) or not answers or not all(_is_text(a) for a in answers):
        raise DataError(f"{where}: `answers` must be a list of texts, one or more, found {given!r}")
    document = entry.get("doc")
    if document is not None and not isinstance(document, str):
        raise DataError(f"{where}: `doc` must be the id of a document, found {document!r}")
    documents = () if document is None else (document,)
    return AskedQuestion(_text(entry, ("question",), where), tuple(answers), documents)


def _beir_questions(path: Path, split: str) -> tuple[AskedQuestion, ...]:
    found: dict[str, list[str]] = {}
    table = path / "qrels" / f"{split}.tsv"
    try:
        rows = table.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {table}: {error}") from None
    for number, row in enumerate(csv.reader(rows[1:], delimiter="\t"), start=2):
        if len(row) != 3 or not row[2].lstrip("-").isdigit():
            raise DataError(f"{table}, line {number}: query-id, corpus-id, score expected: {row}")
        if int(row[2]) > 0:
            found.setdefault(row[0], []).append(row[1])
    file = path / "queries.jsonl"
    asked = []
    for number, entry in json_lines(file):
        where = f"{file}, line {number}"
        id = _text(entry, ("_id", "id"), where)
        if id in found:
            answers = _question({**entry, "question": "-"}, where).answers if _known(entry) else ()
            asked.append(AskedQuestion(_text(entry, ("text",), where), answers, tuple(found[id])))
    return tuple(asked)


def _known(entry: Mapping[str, Any]) -> bool:
    return bool({"answers", "golden_answers", "answer"} & entry.keys())


def _text(entry: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    for name in names:
        if name in entry:
            value = entry[name]
            if isinstance(value, int) and not isinstance(value, bool):
                value = str(value)
            if not isinstance(value, str) or (not value.strip() and name != "text"):
                raise DataError(f"{where}: `{name}` must be a text that is not empty: {value!r}")
            return value
    raise DataError(f"{where}: no `{names[0]}`; its fields are {', '.join(entry) or 'none'}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
