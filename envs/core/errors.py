"""Errors that coevo raises for a person to read.

Every message says what was given, what was expected and the nearest valid choice.
The command line prints the message alone and exits with `exit_code`.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

INSTALL = "pip install -c constraints.txt -e '.[{}]'"
"""Command that installs an extra, in a clone of the repository."""


class CoevoError(Exception):
    """Base of every error that coevo raises on purpose."""

    exit_code: int = 2
    """Exit status of the command line when this error reaches it."""


class ConfigError(CoevoError, ValueError):
    """A setting is unknown, out of range, or contradicts another setting."""


class DataError(CoevoError, ValueError):
    """A file or a value from outside does not hold what it should."""


class UndefinedError(CoevoError, ArithmeticError):
    """A number that must be finite is not, so nothing that follows from it would mean anything."""

    exit_code = 1


class MissingExtraError(CoevoError, ImportError):
    """A package of an optional extra is not installed."""


class UnknownNameError(ConfigError, KeyError):
    """A name is not in the table it was looked up in."""

    def __str__(self) -> str:
        """Return the message without the quotes that KeyError adds."""
        return str(self.args[0]) if self.args else ""


@contextlib.contextmanager
def legible(path: Path) -> Iterator[None]:
    """Turn whatever a reader trips over into one line that names what it read.

    Raises:
        DataError: what is read is not what we write.
    """
    try:
        yield
    except (CoevoError, MemoryError, BrokenPipeError):
        raise
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a value of any other kind fails in a way of its own
        said = " ".join(str(error).split())[:200]
        raise DataError(f"{path} is damaged ({type(error).__name__}: {said})") from error


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known names that are closest to a mistyped one, best first.

    >>> nearest("kuhn", ["coevo/kuhn_poker-v0", "coevo/goofspiel-v0"])
    ['coevo/kuhn_poker-v0']
    """
    folded = {k.lower(): k for k in known}
    name = str(name).lower()
    containing = [k for k in folded if name and name in k]
    close = difflib.get_close_matches(name, folded, n=most, cutoff=0.5)
    return [folded[k] for k in dict.fromkeys([*containing, *close])][:most]


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that is in no table, with the nearest valid names.

    >>> str(unknown("algorithm", "marz", ["mars", "grpo"]))
    "unknown algorithm 'marz'; did you mean 'mars'? Known: grpo, mars"
    """
    known = sorted(known)
    close = nearest(name, known)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    shown = repr(name) if len(repr(name)) <= 200 else f"{repr(name)[:200]}..."
    return UnknownNameError(f"unknown {kind} {shown}{hint} Known: {', '.join(known) or 'none'}")


def check_arguments(taker: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ConfigError for the first given argument that is not known, the near ones first.

    >>> check_arguments("coevo/kuhn_poker-v0", ["max_cycle"], ["illegal", "max_cycles"])
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: coevo/kuhn_poker-v0 takes no argument 'max_cycle'; \
did you mean 'max_cycles'? It takes: max_cycles, illegal
    """
    known = list(known)
    for name in given:
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
            listed = ", ".join(dict.fromkeys([*close, *known])) or "none"
            raise ConfigError(f"{taker} takes no argument {name!r}{hint} It takes: {listed}")


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Build the error for an optional package that is not installed.

    >>> str(missing_extra("torch", "train"))
    "this needs the package 'torch', which is not installed: \
pip install -c constraints.txt -e '.[train]'"
    """
    return MissingExtraError(
        f"this needs the package {package!r}, which is not installed: {INSTALL.format(extra)}"
    )
