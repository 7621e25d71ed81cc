"""Errors that coevo raises for a person to read.

Every message says what was given, what was expected and the nearest valid choice.
The command line prints the message alone and exits with `exit_code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CoevoError(Exception):
    """Base of every error that coevo raises on purpose."""

    exit_code: int = 2
    """Exit status of the command line when this error reaches it."""


class ConfigError(CoevoError, ValueError):
    """A setting is unknown, out of range, or contradicts another setting."""


class DataError(CoevoError, ValueError):
    """A file or a value from outside does not hold what it should."""


class MissingExtraError(CoevoError, ImportError):
    """A package of an optional extra is not installed."""


class UnknownNameError(CoevoError, KeyError):
    """A name is not in the table it was looked up in."""

    def __str__(self) -> str:
        """Give the message without the quotes that KeyError adds."""
        return str(self.args[0]) if self.args else ""


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Give the known names that are closest to a mistyped one, best first.

    >>> nearest("kuhn", ["coevo/kuhn_poker-v0", "coevo/goofspiel-v0"])
    ['coevo/kuhn_poker-v0']
    """
    known = list(known)
    containing = [k for k in known if name and name.lower() in k.lower()]
    close = difflib.get_close_matches(name, known, n=most, cutoff=0.5)
    return list(dict.fromkeys([*containing, *close]))[:most]


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that is in no table, with the nearest valid names.

    >>> str(unknown("algorithm", "marz", ["mars", "grpo"]))
    "unknown algorithm 'marz'; did you mean 'mars'? Known: grpo, mars"
    """
    known = sorted(known)
    close = nearest(name, known)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    return UnknownNameError(f"unknown {kind} {name!r}{hint} Known: {', '.join(known) or 'none'}")


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Build the error for an optional package that is not installed.

    >>> str(missing_extra("torch", "train"))
    "this needs the package 'torch', which is not installed: pip install 'coevo[train]'"
    """
    return MissingExtraError(
        f"this needs the package {package!r}, which is not installed: pip install 'coevo[{extra}]'"
    )
