"""From the words of a command line to a typed record, or to one line about what is wrong."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import fields

import tyro

from coevo import __version__
from coevo.commands.arguments import COMMANDS, POSITIONAL, Command, flag
from coevo.envs.core.errors import ConfigError, unknown

_FRAME = re.compile(r"[╭╮╰╯│•]")
_RULE = re.compile(r"─{4,}")
_NUMBERS = {"int": "a whole number", "float": "a number"}


def parse(argv: Sequence[str]) -> Command | None:
    """Read a command line; None where only help was asked for, which is then on stdout.

    Raises:
        ConfigError: a value is missing or does not fit.
        UnknownNameError: no such command or option; the nearest ones are listed.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return None
    if argv[0] == "--version":
        sys.stdout.write(f"coevo {__version__}\n")
        return None
    name, rest = _command(argv)
    if name is None:
        return None
    _check_options(name, rest)
    return _read(name, rest)


def overview() -> str:
    """Write what `coevo --help` shows."""
    width = max(map(len, COMMANDS))
    lines = [
        f"  {name:<{width}}  {(kind.__doc__ or '').splitlines()[0]}"
        for name, kind in COMMANDS.items()
    ]
    return "\n".join(
        [
            "usage: coevo COMMAND [OPTIONS]",
            "",
            "Multi-agent language tasks, and the co-evolution algorithms that train on them.",
            "",
            "commands:",
            *lines,
            "",
            "`coevo COMMAND --help` shows the options of a command.",
            "",
            "example:",
            "  coevo train mars --env coevo/kuhn_poker-v0 --budget 4m",
            "",
        ]
    )


def _command(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """Split off the name of the command, which may be two words."""
    first = argv[0]
    inner = [name.split()[1] for name in COMMANDS if name.startswith(f"{first} ")]
    if not inner:
        if first not in COMMANDS:
            raise unknown("command", first, dict.fromkeys(name.split()[0] for name in COMMANDS))
        return first, list(argv[1:])
    if len(argv) < 2 or argv[1] in ("-h", "--help"):
        sys.stdout.write(f"usage: coevo {first} {{{','.join(inner)}}} [OPTIONS]\n\n")
        for name in inner:
            sys.stdout.write(f"  {name}  {COMMANDS[f'{first} {name}'].__doc__}\n")
        sys.stdout.write(f"\nexample:\n  {COMMANDS[f'{first} {inner[0]}'].example}\n")
        return None, []
    if argv[1] not in inner:
        raise unknown(f"command of coevo {first}", argv[1], inner)
    return f"{first} {argv[1]}", list(argv[2:])


def _check_options(name: str, rest: Sequence[str]) -> None:
    names = (field.name for field in fields(COMMANDS[name]))
    known = ["--help", *(flag(n) for n in names if n not in POSITIONAL)]
    for word in rest:
        option = word.partition("=")[0].replace("_", "-")
        if word.startswith("--") and option not in known:
            raise unknown(f"option of coevo {name}", option, known)


def _read(name: str, rest: list[str]) -> Command | None:
    kind, said = COMMANDS[name], io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                kind, prog=f"coevo {name}", args=rest, config=(tyro.conf.FlagCreatePairsOff,)
            )
    except SystemExit as stop:
        if stop.code:
            raise ConfigError(f"coevo {name}: {_one_line(kind, rest, said.getvalue())}") from None
        sys.stdout.write(f"\nexample:\n  {kind.example}\n")
        return None


def _one_line(kind: type[Command], rest: Sequence[str], said: str) -> str:
    """Say in one line what tyro says in a frame."""
    failed = re.search(r"Error parsing (--[\w-]+)", said)
    if failed:
        option = failed.group(1)
        types = {flag(field.name): str(field.type) for field in fields(kind)}
        wanted = [text for word, text in _NUMBERS.items() if word in types.get(option, "")]
        value = _value_after(option, rest)
        if wanted or value:
            return f"{option} {value} is not {wanted[0] if wanted else 'a value that fits'}"
    missing = re.findall(r"^[│ ]+(--[\w-]+ \S+|[A-Z]+)\s*│?$", said, re.MULTILINE)
    if "Required options" in said and missing:
        return f"needs {' and '.join(missing)}; see `coevo {_name(kind)} --help`"
    body = _FRAME.sub(" ", _RULE.split(said.partition("\n")[2])[0])
    return f"{' '.join(body.split())} See `coevo {_name(kind)} --help`"


def _name(kind: type[Command]) -> str:
    return next(name for name, known in COMMANDS.items() if known is kind)


def _value_after(option: str, rest: Sequence[str]) -> str:
    """Give the value of an option; the last one counts."""
    value = ""
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        if word == option:
            value = following
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
    return value
