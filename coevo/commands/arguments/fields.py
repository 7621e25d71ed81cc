"""What the options of all commands have in common: types, names in the help, spelling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from tyro.conf import UseAppendAction, arg

POSITIONAL = ("algo", "name", "file", "folder")
"""Fields that are given without their name."""


def shown(metavar: str, default: str = "") -> Any:
    """Name a value in the help; say what is done where it is not given."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {default})" if default else "")


Pairs = Annotated[UseAppendAction[tuple[tuple[str, ...], ...]], shown("KEY=VALUE")]
"""`--option a=1 b=2 --option c=3`."""
EnvId = Annotated[str, shown("ID")]
Temperature = Annotated[float | None, shown("T", "1")]
MaxTokens = Annotated[int | None, shown("N", "16 for terse prompts, 128 for full ones")]
Switch = Annotated[bool, arg(help_behavior_hint="")]
Device = Annotated[str | None, shown("auto|cpu|cuda", "auto")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all commands have in common."""

    runs: ClassVar[str]
    """Module with `run(args) -> exit status`."""
    example: ClassVar[str]
    """Last line of the help."""


def pairs(given: tuple[tuple[str, ...], ...]) -> list[str]:
    """Join the values of a repeated option.

    >>> pairs((("a=1", "b=2"), ("c=3",)))
    ['a=1', 'b=2', 'c=3']
    """
    return [pair for part in given for pair in part]


def flag(name: str) -> str:
    """Spell a field as an option.

    >>> flag("max_new_tokens")
    '--max-new-tokens'
    """
    return f"--{name.replace('_', '-')}"


def given(args: Command) -> Iterator[tuple[str, Any]]:
    """Give name and value of every argument that is not at its default."""
    for field in fields(args):
        value = getattr(args, field.name)
        if value != field.default:
            yield field.name, value
