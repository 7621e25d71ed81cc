"""`coevo algos`: the table of algorithms, and the record of one beside its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from coevo.commands.arguments import Algos
from coevo.commands.screen import Screen, cell, print_json
from coevo.trainers.algorithm import STATUS, Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.estimators import KIND, Option, defaults
from coevo.trainers.record import parse_option, to_plain

TEXTS = ("name", "summary", "paper", "formula", "status", "checks", "published", "variants")
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
    names = ("name", "summary", "paper", "formula", "status", "checks")
    return {
        **{name: plain[name] for name in names},
        "in_short": " | ".join(in_short(record)),
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


# ---- In short ----------------------------------------------------------------------------------


def in_short(record: Algorithm) -> tuple[str, ...]:
    """Give a record's advantage, loss and mean, and what else is not the usual.

    Advantage: credit / centre / scale, then modifiers. Loss: what shares a ratio, then the kind
    with its clip bounds.

    >>> in_short(ALGORITHMS["dapo"])[:3]
    ('outcome / group / group_std', 'token:dual_clip 0.2,0.28', 'token_mean')
    """
    loss = record.loss
    parts = (_advantage(record), _surrogate(record), loss.aggregate.name, ", ".join(_more(record)))
    return tuple(part for part in parts if part)


def _advantage(record: Algorithm) -> str:
    spec = record.advantage
    centre, scale = _grouped(spec.center), _grouped(spec.scale)
    weights = "" if spec.weights == "row" else f" per {spec.weights}"
    after = "".join(f" + {m.name}" for m in spec.modify)
    return f"{spec.credit.name} / {centre} / {scale}{weights}{after}"


def _grouped(option: Option) -> str:
    """Name an option, with its key where it is not the usual one."""
    by = option.params.get("by")
    return option.name if by is None else f"{option.name}({by})"


def _surrogate(record: Algorithm) -> str:
    known = defaults(record.loss.kind, KIND)
    bounds = dict.fromkeys(f"{known[k]:g}" for k in ("eps_lo", "eps_hi") if k in known)
    own = [str(known[k]) for k in ("form", "side", "weight") if known.get(k, "none") != "none"]
    named = f"{record.loss.ratio_level.name}:{record.loss.kind.name}"
    named += f"({', '.join(own)})" if own else ""
    return " ".join([named, ",".join(bounds)]) if bounds else named


def _more(record: Algorithm) -> Iterator[str]:
    """Name everything else that makes the record what it is; the reward for form is everywhere."""
    spec, loss, sampler = record.advantage, record.loss, record.sampler
    if spec.compose.name != "sum":
        yield spec.compose.name
    yield from (r.name for r in record.rewards if r.name != "format")
    options = (sampler.allocate, sampler.select, sampler.replay)
    usual = ("uniform", "all", "none")
    yield from (o.name for o, u in zip(options, usual, strict=True) if o.name != u)
    yield from (o.name for o in (*loss.gates, *loss.regularise) if o.name != "magnet")
    if record.magnet.name != "none":
        yield f"magnet {record.magnet.name}"
    if loss.correct.name != "none":
        yield loss.correct.name
    if spec.kl_in_reward:
        yield "KL in reward"
    if sampler.greedy:
        yield "greedy play"
    if record.critic is not None:
        yield "critic"


def source(record: Algorithm) -> str:
    """Shorten a paper to its number at arXiv, or to author and year.

    >>> source(ALGORITHMS["grpo"]), source(ALGORITHMS["reinforce"])
    ('2402.03300', 'Williams 1992')
    """
    author, *_, last = record.paper.split(", ")
    return last.removeprefix("arXiv ") if last.startswith("arXiv ") else author


# ---- Printing ----------------------------------------------------------------------------------


def _list(*, as_json: bool) -> int:
    records = ALGORITHMS.values()
    if as_json:
        print_json([describe(a) for a in records])
        return 0
    screen = Screen()
    columns = ("algorithm", "credit / centre / scale, loss | mean | more", "status", "arXiv")
    rows = [(a.name, _lines(a), a.status, source(a)) for a in records]
    screen.table(f"{len(rows)} algorithms", columns, rows)
    for word, meaning in STATUS.items():
        screen.say(f"{word}: {meaning}")
    return 0


def _lines(record: Algorithm) -> str:
    advantage, *loss = in_short(record)
    variants = [f"variants: {', '.join(record.variants)}"] if record.variants else []
    return "\n".join([advantage, " | ".join(loss), *variants])


def _show(record: Algorithm) -> None:
    screen, shown = Screen(), describe(record)
    for line in (f"{record.name}: {record.summary}", record.paper, record.formula):
        screen.say(line)
    screen.say(f"status: {record.status} ({STATUS[record.status]})")
    for name in record.checks:
        screen.say(f"shown by: coevo check {name}")
    screen.say()
    columns = ("slot (for --set)", "default", "published", "where", "why ours differs")
    screen.table("slots", columns, _rows(shown["slots"], shown["published"]))
    for name, changes in record.variants.items():
        changed = " ".join(f"{key}={cell(value)}" for key, value in changes.items())
        screen.say(f"--variant {name}: {changed or 'the record itself'}")


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
