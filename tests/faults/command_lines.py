"""Command lines and configurations that are wrong, made from what commands and components declare.

Every one is a right command with one thing wrong in it, so each must be refused.
"""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from coevo.commands.arguments import COMMANDS, POSITIONAL, flag
from coevo.commands.arguments.fields import Shown
from coevo.envs.core.config import components
from coevo.envs.core.registry import ENVS
from coevo.trainers.algorithms import ALGORITHMS

KUHN = "coevo/kuhn_poker-v0"
RIGHT = {
    "envs": ["envs"],
    "algos": ["algos", "mars"],
    "train": ["train", "mars", "--env", KUHN, "--model", "table", "--steps", "1", "--no-eval"],
    "compare": ["compare", "--algos", "mars", "--env", KUHN, "--seeds", "1"],
    "report": ["report", "run"],
    "evaluate": ["evaluate", "--agent", "random", "--env", KUHN, "--games", "2"],
    "exploitability": ["exploitability", "--agent", "random", "--env", KUHN],
    "tournament": ["tournament", "--agents", "random,oracle", "--env", KUHN, "--games", "2"],
    "play": ["play", "--env", KUHN, "--agent", "random"],
    "replay": ["replay", "run"],
    "watch": ["watch", "run", "--once"],
    "reproduce": ["reproduce", "tis_cosine"],
    "starter build": ["starter", "build", "--out", "built", "--minutes", "1"],
    "starter check": ["starter", "check"],
}
"""Command -> words that are right, but for files that are not there."""
NUMBERS = ["", "x", "nan", "inf", "-inf", "-1", "-0.5", "1e99", "9" * 30, "0x10", "1,5", "½", "--"]
NAMES = ["", " ", ",", "nope", "../../x", "m\nars", "mars;ls", "\x1b[31m", "\ud800", "a" * 5000]
PATHS = ["", "nowhere", "a file/x", "/proc/self/mem", "run/../..", "/dev/null/x", "x" * 300]
VALUES = [
    "nope",
    "[]",
    "{}",
    "-1e13",
    ".nan",
    ".inf",
    "{name: nope}",
    "[[1]]",
    "1e999",
    "{a: [",
    "''",
]
PATHLIKE = ("out", "config", "resume", "folder", "file", "generations")


class Wrong(NamedTuple):
    """A command line with something wrong."""

    words: list[str]
    what: str


def all_wrong(rng: np.random.Generator, most: int) -> list[Wrong]:
    """Return some wrong command lines, evenly over the ways to be wrong."""
    kinds = [list(kind()) for kind in (options, names, settings, environment, trees)]
    found: list[Wrong] = []
    for number, kind in enumerate(kinds):
        share = (most - len(found)) // (len(kinds) - number)
        found += [kind[i] for i in rng.permutation(len(kind))[:share]]
    return found


def options() -> Iterator[Wrong]:
    """Yield options that do not exist, lack their value, or have one that does not fit."""
    for name, right in RIGHT.items():
        for word in ("--nope", "--", "-x", "--set-", "extra word", "--\x00"):
            yield Wrong([*right, word], "option")
        kind = COMMANDS[name]
        hints = typing.get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            if field.name in POSITIONAL:
                continue
            inner, shown = typing.get_args(hints[field.name])
            option = flag(field.name)
            if inner is bool:
                yield Wrong([*right, f"{option}=yes"], "switch with a value")
                continue
            yield Wrong([*right, option], "option without a value")
            for value in _unfit(field.name, inner, shown):
                yield Wrong([*right, option, value], f"{option} {value!r}")


def _unfit(name: str, hint: Any, shown: Shown) -> Iterator[str]:
    kinds = [k for k in (typing.get_args(hint) or (hint,)) if k is not types.NoneType]
    if kinds[0] in (int, float):
        yield from (v for v in NUMBERS if v != "-0.5" or shown.low >= 0)
        yield f"{shown.low - 1:g}" if shown.low > -1e12 else "-1e13"
    elif name == "budget":
        yield from ("", "soon", "-5m", "0s", "1e99h", "nan", "5 minutes", "m")
    elif name in ("budget_tokens", "budget_turns", "exploiter"):
        yield from ("", "many", "-1", "0", "nan", "inf", "nope=3", "=")
    elif name in ("set", "env_option"):
        yield from ("nope", "=", "=1", "a.b.c.d=1", "nope=1", "a={", "\u200b=1")
    elif name not in PATHLIKE:
        yield from NAMES


def names() -> Iterator[Wrong]:
    """Yield names that nobody has, near to those that somebody has."""
    for known in ALGORITHMS:
        for typed in (known[:-1], known + "x", known.upper(), f"{known}:nope"):
            if typed not in ALGORITHMS:
                yield Wrong(["train", typed, *RIGHT["train"][2:]], "algorithm")
                yield Wrong(["compare", "--algos", typed, *RIGHT["compare"][3:]], "algorithm")
        yield Wrong(["train", known, "--variant", "nope", *RIGHT["train"][2:]], "variant")
    for known in ENVS:
        for typed in (known[:-1], known.replace("coevo/", ""), known + "9", known.upper()):
            yield Wrong(["evaluate", "--agent", "random", "--env", typed], "environment")
            yield Wrong(["train", "mars", "--env", typed, "--steps", "1"], "environment")
    for path in PATHS:
        for words in (
            ["train", "--resume", path],
            ["train", "--config", path],
            ["report", path],
            ["watch", path, "--once"],
            ["replay", path],
            ["evaluate", "--agent", f"hf:./{path}", "--env", KUHN],
            ["evaluate", "--generations", path],
            ["compare", "--out", path],
            ["tournament", "--out", path],
        ):
            yield Wrong(words, f"path {path[:20]!r}")
    for agent in (
        "expert:2",
        "expert:nan",
        "expert:",
        "hf:",
        "sb3:",
        "openai:",
        "randon",
        "expert:x",
    ):
        yield Wrong(["evaluate", "--agent", agent, "--env", KUHN], f"agent {agent}")
        yield Wrong(["play", "--agent", agent, "--env", KUHN], f"agent {agent}")


def settings() -> Iterator[Wrong]:
    """Yield values that no field of an algorithm takes."""
    for name, algorithm in ALGORITHMS.items():
        for place, hint in _leaves(type(algorithm), algorithm):
            for value in _outside(hint):
                pair = f"{place}={value}"
                yield Wrong([*_train(name), "--set", pair], pair)
            yield Wrong([*_train(name), "--set", f"{place}x=1"], f"{place}x")


def _train(name: str) -> list[str]:
    return ["train", name, *RIGHT["train"][2:], "--out", "new"]


def _leaves(kind: Any, value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        own, place = getattr(value, field.name), f"{at}{field.name}"
        if dataclasses.is_dataclass(own):
            yield place, hints[field.name]
            yield from _leaves(type(own), own, f"{place}.")
        else:
            yield place, hints[field.name]


def _outside(hint: Any) -> Iterator[str]:
    """Yield what is outside of an annotated type."""
    low, high, numeric = _range(hint)
    if components(hint):
        yield from ("nope", "{name: nope}", "3", "{nam: gae}")
    elif numeric:
        yield from (".nan", "text", "[1]", "{a: 1}", "1e13", "-1e13")
        if low is not None:
            yield f"{low - 1:g}"
        if high is not None:
            yield f"{high + 1:g}"
    elif _plain(hint) is bool:
        yield from ("perhaps", "2", "[]", "{}")


def _range(hint: Any) -> tuple[float | None, float | None, bool]:
    low = high = None
    for part in getattr(hint, "__metadata__", ()):
        for rule in (part, *getattr(part, "metadata", ())):
            low = next(
                (getattr(rule, k) for k in ("ge", "gt") if getattr(rule, k, None) is not None), low
            )
            high = next(
                (getattr(rule, k) for k in ("le", "lt") if getattr(rule, k, None) is not None), high
            )
    inner = [_range(part) for part in typing.get_args(hint) if not isinstance(part, str)]
    numeric = _plain(hint) in (int, float)
    for one in inner:
        low, high = (low if one[0] is None else one[0]), (high if one[1] is None else one[1])
        numeric |= one[2] and typing.get_origin(hint) not in (tuple, list, dict)
    return low, high, numeric and _plain(hint) in (int, float)


def _plain(hint: Any) -> Any:
    if hasattr(hint, "__metadata__"):
        return _plain(hint.__origin__)
    inner = [k for k in typing.get_args(hint) if k is not types.NoneType]
    return _plain(inner[0]) if isinstance(hint, types.UnionType) and len(inner) == 1 else hint


def environment() -> Iterator[Wrong]:
    """Yield arguments that no environment takes."""
    from coevo.envs import make

    for known in ENVS:
        try:
            arguments = sorted({*make(known).options, "illegal", "max_cycles"})
        except Exception:  # what needs an extra is tried elsewhere
            continue
        for argument in (*arguments, "nope"):
            for value in VALUES:
                if argument == "prompt_style" or value not in ("''", "[]", "{}"):
                    words = ["evaluate", "--agent", "random", "--env", known, "--games", "2"]
                    yield Wrong([*words, "--env-option", f"{argument}={value}"], argument)


def trees() -> Iterator[Wrong]:
    """Yield configurations with a field that is missing, unknown or of a wrong type."""
    for number in range(400):
        yield Wrong(["train", "--config", f"wrong{number}.yaml", "--no-eval"], f"tree {number}")
