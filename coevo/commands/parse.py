"""From the words of a command line to a dataclass, or to one line about what is wrong."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from coevo import __version__
from coevo.commands.arguments import COMMANDS, POSITIONAL, Command, Shown, flag
from coevo.envs.core.config import LARGEST
from coevo.envs.core.errors import INSTALL, ConfigError, unknown
from coevo.envs.core.quoting import encodable

OVERVIEW = """usage: coevo COMMAND [OPTIONS]

Multi-agent language tasks, and the co-evolution algorithms that train on them.

commands, and the extra that each needs:
{commands}

An extra is installed in the clone: {install}
`coevo COMMAND --help` shows the options of a command.

example:
  coevo train mars --env coevo/kuhn_poker-v0 --budget 4m
"""
HELP = ("-h", "--help")
NUMBERS = {int: "whole number", float: "number"}


def parse(argv: Sequence[str]) -> Command | None:
    """Read a command line; None where only help was asked for, which is then on stdout.

    ConfigError and UnknownNameError say what is wrong, and the nearest names.
    """
    if not argv or argv[0] in (*HELP, "help"):
        sys.stdout.write(overview())
    elif argv[0] == "--version":
        sys.stdout.write(f"coevo {__version__}\n")
    elif any("\0" in word or encodable(word) != word for word in argv):
        raise ConfigError("an argument holds a character that no name or path may hold")
    elif (name := _command(argv)) is not None:
        return _read(name, list(argv[len(name.split()) :]))
    return None


def overview() -> str:
    lines = [
        f"  {name:<15} {f'[{kind.extra}]' if kind.extra else '':<10} {_summary(kind)}"
        for name, kind in COMMANDS.items()
    ]
    return OVERVIEW.format(commands="\n".join(lines), install=INSTALL.format("EXTRA"))


def _summary(kind: type[Command]) -> str:
    return (kind.__doc__ or "").splitlines()[0]


def _command(argv: Sequence[str]) -> str | None:
    """Return the name of the command, which may be two words; None after the help of a group."""
    first = argv[0]
    inner = [name.split()[1] for name in COMMANDS if name.startswith(f"{first} ")]
    if not inner:
        if first not in COMMANDS:
            raise unknown("command", first, dict.fromkeys(name.split()[0] for name in COMMANDS))
        return first
    if len(argv) > 1 and argv[1] not in HELP:
        if argv[1] not in inner:
            raise unknown(f"command of coevo {first}", argv[1], inner)
        return f"{first} {argv[1]}"
    lines = [f"  {name}  {_summary(COMMANDS[f'{first} {name}'])}\n" for name in inner]
    sys.stdout.write(f"usage: coevo {first} {{{','.join(inner)}}} [OPTIONS]\n\n{''.join(lines)}")
    sys.stdout.write(f"\nexample:\n  {COMMANDS[f'{first} {inner[0]}'].example}\n")
    return None


class _Parser(argparse.ArgumentParser):
    """Raises its complaints in one line, with the nearest option."""

    def error(self, message: str) -> NoReturn:
        said = re.sub(r"^argument (\S+?)(?:/\S+)?: ", r"\1 ", message)
        said = said.replace("the following arguments are required:", "needs")
        said = re.sub(r"invalid choice: (\S+) \(choose from (.*)\)", r"\1 must be one of \2", said)
        raise ConfigError(f"{self.prog}: {said}; see `{self.prog} --help`")


def _read(name: str, rest: list[str]) -> Command | None:
    kind = COMMANDS[name]
    parser = _parser(name, kind)
    if set(HELP) & set(rest):
        parser.print_help()
        return None
    for word in rest:
        if word.startswith("--") and word.endswith("=--"):  # argparse would drop the value
            parser.error(f"{word[:-3]}: '--' is no value")
    values, unread = parser.parse_known_args(rest)
    for word in unread:
        if word.startswith("--"):
            known = ["--help", *(flag(f.name) for f in fields(kind) if f.name not in POSITIONAL)]
            raise unknown(f"option of coevo {name}", word.partition("=")[0], known)
    if unread:
        parser.error(f"takes no {' '.join(unread)}")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in vars(values).items()})


def _parser(name: str, kind: type[Command]) -> _Parser:
    parser = _Parser(
        prog=f"coevo {name}",
        description=inspect.getdoc(kind),
        epilog=f"example:\n  {kind.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    hints, said = get_type_hints(kind, include_extras=True), field_docstrings(kind)
    for field in fields(kind):
        inner, shown = get_args(hints[field.name])
        options, required = _options(inner, shown), field.default is MISSING
        default = f" (default: {shown.default})" if shown.default else ""
        about = said.get(field.name, shown.about)
        options["help"] = (" ".join(about.split()) + default).replace("%", "%%")
        if field.name in POSITIONAL:
            parser.add_argument(field.name, nargs=None if required else "?", **options)
        else:
            parser.add_argument(flag(field.name), dest=field.name, required=required, **options)
    return parser


def _options(hint: Any, shown: Shown) -> dict[str, Any]:
    if hint is bool:
        return {"action": "store_true"}
    if get_origin(hint) is tuple:
        return {"action": "extend", "nargs": "+", "metavar": shown.metavar}
    kind = next(iter(part for part in (get_args(hint) or (hint,)) if part is not type(None)))
    for choices in (hint, kind):
        if get_origin(choices) is Literal:
            return {"choices": get_args(choices), "metavar": shown.metavar}
    number = NUMBERS.get(kind)
    read = partial(_number, number, shown.low) if number else _text
    return {"type": read, "metavar": shown.metavar}


def _text(text: str) -> str:
    """Refuse an empty value, which a shell makes of a variable that is not set."""
    if not text.strip(" ,"):
        raise argparse.ArgumentTypeError(f"{text!r} says nothing; leave the option out")
    return text


def _number(kind: str, low: float, text: str) -> float:
    try:
        value = int(text) if kind == "whole number" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a {kind}") from None
    if not low <= value <= LARGEST:
        limits = f"{low:g} or more" if value < low else f"a number, at most {LARGEST:g}"
        raise argparse.ArgumentTypeError(f"{text} must be {limits}")
    return value


def field_docstrings(kind: Any) -> dict[str, str]:
    """Return the strings below the fields of a class and its bases, by field."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            tree: Any = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError, AttributeError):
            continue
        for line, below in pairwise(tree.body):
            text = getattr(getattr(below, "value", None), "value", None)
            name = getattr(getattr(line, "target", None), "id", None)
            if name is not None and isinstance(text, str):
                found[name] = inspect.cleandoc(text)
    return found
