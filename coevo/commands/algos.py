"""`coevo algos`: the table of algorithms, and the record of one beside its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from coevo.commands.arguments import Algos
from coevo.commands.screen import Screen, cell, print_json
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.record import parse_option, to_plain

TEXTS = ("name", "summary", "paper", "formula", "published", "variants")
"""Fields of a record that are shown outside the table of slots."""


def run(args: Algos) -> int:
    """List all algorithms or show one."""
    if args.name is None:
        return _list(as_json=args.json)
    record = algorithm(args.name)
    if args.json:
        print_json(describe(record))
    else:
        _show(record)
    return 0


def describe(record: Algorithm) -> dict[str, Any]:
    """Give everything about an algorithm as plain JSON values."""
    plain = to_plain(record)
    return {
        **{name: plain[name] for name in ("name", "summary", "paper", "formula")},
        "slots": dict(slots({k: v for k, v in plain.items() if k not in TEXTS})),
        "published": {key: asdict(value) for key, value in record.published.items()},
        "variants": plain["variants"],
    }


def slots(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give the dotted name and the value of every slot, in the spelling of `--set`.

    >>> dict(slots({"optim": {"lr": 0.1}, "rewards": ["format(legal=0.05)"]}))
    {'optim.lr': 0.1, 'rewards': 'format(legal=0.05)'}
    """
    for key, value in plain.items():
        if isinstance(value, Mapping) and value:
            yield from slots(value, f"{prefix}{key}.")
        elif isinstance(value, list | Mapping):
            yield prefix + key, "; ".join(map(str, value)) or "none"
        else:
            yield prefix + key, value


def _list(*, as_json: bool) -> int:
    if as_json:
        print_json([describe(a) for a in ALGORITHMS.values()])
        return 0
    rows = [
        (a.name, a.summary, ", ".join(a.variants) or None, a.paper) for a in ALGORITHMS.values()
    ]
    Screen().table(
        f"{len(rows)} algorithms", ("algorithm", "what it is", "variants", "source"), rows
    )
    return 0


def _show(record: Algorithm) -> None:
    screen, shown = Screen(), describe(record)
    for line in (f"{record.name}: {record.summary}", record.paper, record.formula, ""):
        screen.say(line)
    columns = ("slot (for --set)", "default", "published", "where", "why ours differs")
    screen.table("slots", columns, _rows(shown["slots"], shown["published"]))
    for name, changes in record.variants.items():
        changed = " ".join(f"{key}={cell(value)}" for key, value in changes.items())
        screen.say(f"--variant {name}: {changed}")


def _rows(
    ours: Mapping[str, Any], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[object, ...]]:
    """Put every slot beside what was published for it; parts of an option follow their slot."""
    left = dict(published)
    for key, value in ours.items():
        theirs = left.pop(key, None)
        yield (key, cell(value), *_source(theirs))
        for inner in [name for name in left if name.startswith(f"{key}.")]:
            yield (inner, _part(value, inner[len(key) + 1 :]), *_source(left.pop(inner)))
    for key, theirs in left.items():
        yield (key, None, *_source(theirs))


def _source(published: Mapping[str, Any] | None) -> tuple[object, ...]:
    if published is None:
        return ("", "", "")
    return cell(published["value"]), published["source"], published["why"]


def _part(value: Any, path: str) -> object:
    """Find one parameter in `option(key=value)`, or in a list of options."""
    options = [parse_option(text) for text in str(value).split("; ")]
    first, _, rest = path.partition(".")
    for option in options:
        if option.name == first and rest in option.params:
            return option.params[rest]
    return options[0].params.get(path) if options else None
