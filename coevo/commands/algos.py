"""`coevo algos`: the table of algorithms, and the settings of one beside its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from coevo.commands.arguments import Algos
from coevo.commands.formula import readable
from coevo.commands.screen import Screen, cell, print_json
from coevo.envs.core.config import changed, plain
from coevo.trainers.advantage import AdvantageConfig
from coevo.trainers.algorithm import STATUS, Algorithm, CollectConfig
from coevo.trainers.algorithms import ABOUT, ALGORITHMS, algorithm
from coevo.trainers.cycle import in_words
from coevo.trainers.loss import LossConfig
from coevo.trainers.steps import POLICY_GRADIENT

SOURCE = 24


def run(args: Algos) -> int:
    if args.name is None:
        return _list(as_json=args.json)
    config = algorithm(args.name)
    if args.json:
        print_json(describe(config))
    else:
        _show(config)
    return 0


def describe(config: Algorithm) -> dict[str, Any]:
    tree = plain(config)
    names = [name for name in ABOUT if name not in ("published", "variants")]
    if config.cycle == POLICY_GRADIENT:
        del tree["cycle"]  # its steps have nothing to set but the other settings
    return {
        **{name: tree[name] for name in names},
        "cycle": in_words(config.cycle),
        "remarks": list(config.remarks),
        "in_short": " | ".join(in_short(config)),
        "settings": dict(settings({k: v for k, v in tree.items() if k not in ABOUT})),
        "published": {k: value._asdict() for k, value in config.published.items()},
        "variants": tree["variants"],
    }


def settings(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the dotted name and the value of every setting, in the spelling of `--set`."""
    for key, value in tree.items():
        if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            value = {part["name"]: part for part in value}
        if isinstance(value, Mapping) and value:
            yield from settings(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value or "none" if isinstance(value, list | Mapping) else value


# ---- In short ----------------------------------------------------------------------------------

EVERYWHERE = ("collect", "build_batch", "fit_rewards")
"""Steps that the list does not name."""


def in_short(config: Algorithm) -> tuple[str, ...]:
    """Return an algorithm's advantage, loss and mean, and what else is not the usual; or its steps.

    Advantage: credit / baseline / normalisation, then transforms. Loss: the ratio where it is not
    that of a token, then the surrogate with its clip bounds. Steps: without those of every cycle.
    """
    if config.cycle != POLICY_GRADIENT:
        steps = (s for s in in_words(config.cycle).split(" > ") if s not in EVERYWHERE)
        return (" > ".join(steps), *filter(None, [", ".join(_more(config))]))
    loss = config.loss
    parts = (_advantage(config), _surrogate(config), loss.aggregate.name, ", ".join(_more(config)))
    return tuple(part for part in parts if part)


def _advantage(config: Algorithm) -> str:
    advantage = config.advantage
    baseline, normalise = _grouped(advantage.baseline), _grouped(advantage.normalise)
    weights = "" if advantage.weights == "row" else f" per {advantage.weights}"
    after = "".join(f" + {t.name}" for t in advantage.transform)
    return f"{advantage.credit.name} / {baseline} / {normalise}{weights}{after}"


def _grouped(component: Any) -> str:
    """Name a component, with its key where it is not the usual one; "-" stands for none."""
    if component.name.startswith("no_"):
        return "-"
    by = changed(component).get("by")
    return component.name if by is None else f"{component.name}({by})"


def _surrogate(config: Algorithm) -> str:
    known = plain(config.loss.surrogate)
    bounds = dict.fromkeys(f"{known[k]:g}" for k in ("eps_lo", "eps_hi") if k in known)
    own = [str(known[k]) for k in ("form", "side", "weight") if known.get(k, "none") != "none"]
    level = config.loss.ratio_level
    named: str = config.loss.surrogate.name
    named = named if level == LossConfig().ratio_level else f"{level.name}:{named}"
    named += f"({', '.join(own)})" if own else ""
    return " ".join([named, ",".join(bounds)]) if bounds else named


def _more(config: Algorithm) -> Iterator[str]:
    """Name what else makes the algorithm what it is; the reward for form is everywhere."""
    advantage, loss, collect = config.advantage, config.loss, config.collect
    usual = CollectConfig()
    if advantage.compose != AdvantageConfig().compose:
        yield advantage.compose.name
    yield from (r.name for r in config.rewards if r.name != "format")
    for name in ("allocate", "select", "replay"):
        if getattr(collect, name) != getattr(usual, name):
            yield getattr(collect, name).name
    yield from (c.name for c in loss.token_masks)
    yield from (c.name for c in loss.regularise if c.compares != "magnet")
    if config.magnet is not None:
        yield config.magnet.name
    if loss.is_correction is not None:
        yield loss.is_correction.name
    if advantage.kl_in_reward:
        yield "KL in reward"
    if config.needs_greedy:
        yield "greedy episode"
    if config.critic is not None:
        yield "critic"


def source(config: Algorithm) -> str:
    """Shorten a paper to its number at arXiv, or to author and year."""
    author, _, last = config.paper.partition(", ")
    last = last.rpartition(", ")[2]
    if last.startswith("arXiv "):
        return last.removeprefix("arXiv ")
    return author if len(author) <= SOURCE else f"{author[: SOURCE - 1]}…"


# ---- Printing ----------------------------------------------------------------------------------


NARROW = 42
"""Characters of the widest column in a terminal of a hundred."""


def _list(*, as_json: bool) -> int:
    configs = ALGORITHMS.values()
    if as_json:
        print_json([describe(a) for a in configs])
        return 0
    screen = Screen()
    columns = (
        "algorithm",
        "credit / baseline / normalisation, loss | mean | more",
        "status",
        "arXiv",
    )
    rows = [(a.name, _lines(a), a.status, source(a)) for a in configs]
    screen.table(f"{len(rows)} algorithms", columns, rows)
    having = Counter(config.status for config in configs)
    for word, meaning in STATUS.items():
        screen.say(f"{word} ({having[word]}): {meaning}")
    return 0


def _lines(config: Algorithm) -> str:
    advantage, *loss = in_short(config)
    last, variants = " | ".join(loss), f"variants: {', '.join(config.variants)}"
    if not config.variants:
        return f"{advantage}\n{last}"
    between = " | " if len(last) + len(variants) < NARROW else "\n"
    return f"{advantage}\n{last}{between}{variants}"


def _show(config: Algorithm) -> None:
    screen, shown = Screen(), describe(config)
    for line in (f"{config.name}: {config.summary}", config.paper, *readable(config.formula)):
        screen.say(line)
    screen.say(f"cycle: {shown['cycle']}")
    screen.say(f"status: {config.status} ({STATUS[config.status]})")
    if config.shows:
        screen.say(f"shown: {config.shows}")
    for name in config.reproductions:
        screen.say(f"shown by: coevo reproduce {name}")
    screen.say(f"coevo train {config.name} {config.usage}")
    for remark in config.remarks:
        screen.say(f"note: {remark}")
    screen.say()
    columns = ("setting (for --set)", "default", "published", "where", "why ours differs")
    screen.table("settings", columns, _rows(shown["settings"], shown["published"]))
    for name, changes in config.variants.items():
        changed = " ".join(f"{key}={cell(value)}" for key, value in changes.items())
        screen.say(f"--variant {name}: {changed or 'as it is'}")


def _rows(
    ours: Mapping[str, Any], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[object, ...]]:
    left = dict(published)
    for key, value in ours.items():
        for whole in [k for k in left if key.startswith(f"{k}.")]:
            yield (whole, None, *_source(left.pop(whole)))
        yield (key, cell(value), *_source(left.pop(key, None)))
    for key, theirs in left.items():
        yield (key, None, *_source(theirs))


def _source(published: Mapping[str, Any] | None) -> tuple[object, ...]:
    if published is None:
        return ("", "", "")
    return cell(published["value"]), published["source"], published["why"]
