"""What the options of all commands have in common: types, names in the help, spelling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

POSITIONAL = ("algo", "name", "file", "folder")
"""Fields that are given without their name."""


class Shown(NamedTuple):
    """How an argument stands in the help."""

    metavar: str
    """What its value is called."""
    default: str = ""
    """What is done where it is not given."""
    low: float = 0
    """Smallest number that is taken."""


Pairs = Annotated[tuple[str, ...], Shown("KEY=VALUE")]
"""`--option a=1 b=2 --option c=3`."""
EnvId = Annotated[str, Shown("ID")]
Temperature = Annotated[float | None, Shown("T", "1")]
MaxTokens = Annotated[int | None, Shown("N", "16 for terse prompts, 128 for full ones", low=1)]
Switch = Annotated[bool, Shown("")]
Device = Annotated[Literal["auto", "cpu", "cuda"] | None, Shown("auto|cpu|cuda", "auto")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all commands have in common."""

    runs: ClassVar[str]
    """Module with `run(args) -> exit status`."""
    example: ClassVar[str]
    """Last line of the help."""


def flag(name: str) -> str:
    """Spell a field as an option.

    >>> flag("max_new_tokens")
    '--max-new-tokens'
    """
    return f"--{name.replace('_', '-')}"


def given(args: Command) -> Iterator[tuple[str, Any]]:
    """Return name and value of every argument that is not at its default."""
    for field in fields(args):
        value = getattr(args, field.name)
        if value != field.default:
            yield field.name, value
