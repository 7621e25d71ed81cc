"""Markdown of what docstrings and fields of a configuration say."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coevo.commands.parse import field_docstrings
from coevo.envs.core.config import plain


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; line breaks and bars in cells are made harmless."""
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for row in rows:
        cells = [str(c).replace("|", "\\|").replace("\n", " ") for c in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def groups(pages: Mapping[str, Iterable[str]]) -> str:
    """Return hidden tables of contents, one per group of pages of the same folder."""
    return "\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {group}\n\n" + "\n".join(names) + "\n```\n"
        for group, names in pages.items()
    )


def folded(title: str, text: str) -> str:
    """Return Markdown that a reader opens by a click."""
    start, end = raw(f"<details><summary>{title}</summary>"), raw("</details>")
    return f"{start}\n\n{text}\n\n{end}"


def raw(html: str) -> str:
    """Return HTML as a MyST block."""
    return f"```{{raw}} html\n{html}\n```"


def sentence(text: str) -> str:
    """Return a text as a sentence.

    >>> sentence("bid cards for prizes")
    'Bid cards for prizes.'
    """
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def columns(text: str) -> Iterator[tuple[str, str]]:
    r"""Return the rows of a text in two aligned columns; a line without a name continues a row.

    >>> list(columns("Agents  two\nReward  one for a win,\n        else none"))
    [('Agents', 'two'), ('Reward', 'one for a win, else none')]
    """
    if re.match(r"\w+ {2,}", text):
        for row in re.split(r"\n(?=\w+ {2,})", text):
            name, said = re.split(r" {2,}", row, maxsplit=1)
            yield name, prose(said)


def prose(text: str) -> str:
    """Return a paragraph of a docstring as one line of Markdown."""
    return escaped(" ".join(line.strip() for line in text.split("\n")))


def escaped(text: str) -> str:
    r"""Return prose of a docstring as Markdown takes it: no character outside of code is markup.

    >>> escaped("a_b is `a_b` > 0")
    'a\\_b is `a_b` \\> 0'
    """
    return re.sub(r"(`[^`]*`)|([*_<>$\\])", lambda m: m[1] or f"\\{m[2]}", text)


def fields_of(kind: Any) -> list[tuple[str, str, str]]:
    """Return name, default and docstring of every field of a configuration class."""
    texts = field_docstrings(kind)
    found = []
    for f in dataclasses.fields(kind):
        if f.name == "name":
            continue
        default = f.default
        if f.default_factory is not dataclasses.MISSING:
            default = f.default_factory()
        shown = "required" if default is dataclasses.MISSING else repr(plain(default))
        found.append((f.name, shown, texts.get(f.name, "")))
    return found


def first_line(thing: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n")[0]
