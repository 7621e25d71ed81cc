"""The table of question sources, and the one function that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coevo.envs.core.errors import ConfigError, arguments_of, check_arguments, unknown
from coevo.envs.questions.arithmetic import Digits, Sums
from coevo.envs.questions.files import Gsm8k, JsonLines, Math500
from coevo.envs.questions.part import Part
from coevo.envs.questions.question import QuestionSource
from coevo.envs.questions.reasoning import ReasoningGym

SOURCES: dict[str, tuple[type[QuestionSource], str]] = {
    "arithmetic": (Digits, "task"),
    "digits": (Digits, "task"),
    "gsm8k": (Gsm8k, "path"),
    "jsonl": (JsonLines, "path"),
    "math500": (Math500, "path"),
    "reasoning-gym": (ReasoningGym, "task"),
    "sums": (Sums, "high"),
}
"""Name -> class, and the argument that may follow the name after a colon."""
DEFAULT = "arithmetic"


def questions(spec: str | Mapping[str, Any] | QuestionSource = DEFAULT) -> QuestionSource:
    """Make a source of questions.

    Args:
        spec: a name of `SOURCES`, with its main argument after a colon (`digits:sum`,
            `gsm8k:PATH`, `reasoning-gym:TASK`); the path of a `.jsonl` file; a mapping with
            `name` and further arguments; or a source. In a mapping, `part` may be `train` or
            `test`: a fixed fifth of the questions is held out.

    Raises:
        UnknownNameError: no such source; the nearest names are listed.
        ConfigError: an argument that the source does not take or cannot use.
        DataError: a file that cannot be read; the line is named.

    >>> questions("digits:sum").item(4783).question
    'last digit of 47+83?'
    >>> questions({"name": "digits", "part": "test"}).spec
    {'name': 'digits', 'part': 'test'}
    """
    if isinstance(spec, QuestionSource):
        return spec
    arguments = _named(spec) if isinstance(spec, str) else dict(spec)
    name, part = arguments.pop("name", None), arguments.pop("part", None)
    if not isinstance(name, str):
        raise ConfigError(f"questions={spec!r} needs a 'name': {', '.join(sorted(SOURCES))}")
    if name not in SOURCES:
        raise unknown("question source", name, SOURCES)
    source = _made(name, arguments)
    return source if part is None else Part(source, part)


def _made(name: str, arguments: Mapping[str, Any]) -> QuestionSource:
    maker, main = SOURCES[name]
    if maker is not ReasoningGym:  # whose tasks have arguments of their own
        check_arguments(f"question source {name!r}", arguments, [*arguments_of(maker), "part"])
    if main not in arguments and main in ("path", "task") and name not in ("arithmetic", "digits"):
        raise ConfigError(f"question source {name!r} needs its {main}: '{name}:{main.upper()}'")
    return maker(**arguments)


def _named(spec: str) -> dict[str, Any]:
    """Take `name:argument` apart."""
    name, _, rest = spec.partition(":")
    if name not in SOURCES and spec.endswith(".jsonl"):
        name, rest = "jsonl", spec
    if name not in SOURCES or not rest:
        return {"name": name}
    argument = SOURCES[name][1]
    return {"name": name, argument: int(rest) if rest.isdecimal() else rest}
