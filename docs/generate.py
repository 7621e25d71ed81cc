"""Write the pages of environments, algorithms, reward modules and commands from the registries."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from layout import escaped, fields_of, first_line, groups, sentence, table
from worlds import environment_pages, families

from coevo.commands.algos import describe, source
from coevo.commands.arguments import COMMANDS, POSITIONAL, flag
from coevo.commands.parse import field_docstrings
from coevo.envs.core.config import components, plain
from coevo.envs.core.errors import INSTALL, CoevoError
from coevo.envs.rewards import REWARDS, RewardModule
from coevo.trainers import algorithms as catalogue
from coevo.trainers.algorithm import STATUS, Algorithm, CollectConfig
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.estimators import AdvantageConfig, LossConfig


def write_pages(docs: Path) -> None:
    """Write all generated pages below `docs`; files that would not change are left alone."""
    for folder, pages in (
        ("environments", environment_pages()),
        ("algorithms", algorithm_pages()),
        ("rewards", reward_pages()),
        (".", command_pages() | component_pages()),
    ):
        (docs / folder).mkdir(exist_ok=True)
        for name, text in pages.items():
            path = docs / folder / f"{name}.md"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def sidebar_groups() -> dict[str, list[str]]:
    """Return the pages that the sidebar shows in groups."""
    return families() | algorithm_groups()


# ---- Algorithms --------------------------------------------------------------------------------


def algorithm_groups() -> dict[str, list[str]]:
    """Return the names of the algorithms of every group, as the catalogue orders them."""
    found: dict[str, list[str]] = {}
    source = inspect.getsource(catalogue).partition("ALGORITHMS: dict")[2]
    for group, name in re.findall(r"# (.*)|^ +(\w+),$", source, re.M):
        if group:
            found[group] = []
        else:
            found[list(found)[-1]].append(name)
    return found


def algorithm_pages() -> dict[str, str]:
    """Return a page per algorithm and their index."""
    rows = [
        (f"[`{a.name}`]({a.name}.md)", a.summary, source(a), a.status) for a in ALGORITHMS.values()
    ]
    parts = [
        "# Algorithms",
        "An algorithm is one file of configuration: what is collected, how rewards become "
        "advantages, the loss, and what else moves. `coevo algos NAME` prints the same beside the "
        "values of its source, and `--set` changes any setting by its dotted name. "
        "[Writing one](../tutorials/algorithm.md).",
        table(("name", "what it does", "source", "status"), rows),
        "A status says how far an algorithm is held against its source:",
        table(("status", "meaning"), ((f"`{s}`", text) for s, text in STATUS.items())),
    ]
    pages = {name: algorithm_page(record) for name, record in ALGORITHMS.items()}
    return pages | {"index": "\n\n".join([*parts, groups(algorithm_groups())])}


def algorithm_page(record: Algorithm) -> str:
    """Return the page of one algorithm: formula, parts, ours beside published, variants."""
    module = importlib.import_module(f"coevo.trainers.algorithms.{record.name}")
    shown = describe(record)
    status = f"`{record.status}`: {STATUS[record.status]}."
    if record.reproductions:
        status += " Run " + ", ".join(f"`coevo reproduce {r}`" for r in record.reproductions) + "."
    published = [
        (f"`{key}`", f"`{ours(shown['settings'], key)}`", f"`{p['value']}`", p["source"], p["why"])
        for key, p in shown["published"].items()
    ]
    parts = [
        f"# {record.name}",
        sentence(record.summary),
        f"**Source:** {record.paper}. **Status:** {status}",
        f"```text\n{record.formula}\n```",
        f"**Cycle:** `{shown['cycle']}`",
        escaped(inspect.getdoc(module) or ""),
        "## Its parts",
        table(("setting", "component", "what it computes"), parts_of(record)),
        "## Ours beside published" if published else "",
        table(("setting", "ours", "published", "where", "why ours differs"), published)
        if published
        else "",
        "## Variants" if record.variants else "",
        table(
            ("`--variant`", "changes"),
            [(f"`{n}`", f"`{plain(v)}`") for n, v in record.variants.items()],
        )
        if record.variants
        else "",
        "## All settings",
        table(("setting", "value"), [(f"`{k}`", f"`{v}`") for k, v in shown["settings"].items()]),
        "## Usage",
        f"```text\ncoevo train {record.name} --env coevo/kuhn_poker-v0 --budget 4m\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def parts_of(record: Algorithm) -> Iterable[tuple[str, str, str]]:
    """Return every component of an algorithm: where it stands, its name, its first line."""
    for step in record.cycle:
        yield "`cycle`", f"`{step}`", escaped(first_line(type(step)))
        for loss in getattr(step, "losses", ()):
            yield "`cycle.update.losses`", f"`{loss.name}`", escaped(first_line(type(loss)))
    for where, config in (
        ("collect", record.collect),
        ("advantage", record.advantage),
        ("loss", record.loss),
    ):
        for f in dataclasses.fields(config):
            value = getattr(config, f.name)
            for component in value if isinstance(value, tuple) else (value,):
                if hasattr(component, "name"):
                    line = escaped(first_line(type(component)))
                    yield f"`{where}.{f.name}`", f"`{component.name}`", line
    for name in ("population", "magnet"):
        component = getattr(record, name)
        if component is not None:
            yield f"`{name}`", f"`{component.name}`", escaped(first_line(type(component)))


def component_pages() -> dict[str, str]:
    """Return the page of components: every choice of an algorithm, with fields and ranges."""
    parts = [
        "# Components",
        "What an algorithm is made of. `--set advantage.baseline=leave_one_out`"
        " chooses a "
        "component, `--set advantage.baseline.by=group` changes a field of the one that is there. "
        "[Writing one](tutorials/algorithm.md#a-component-that-does-not-exist-yet).",
    ]
    for where, kind in (
        ("collect", CollectConfig),
        ("advantage", AdvantageConfig),
        ("loss", LossConfig),
        ("", Algorithm),
    ):
        for name, hint in typing.get_type_hints(kind, include_extras=True).items():
            if classes := {tag: c for tag, c in components(hint).items() if tag}:
                rows = [(f"`{t}`", takes(c), escaped(first_line(c))) for t, c in classes.items()]
                title = f"{where}.{name}" if where else name
                parts += [f"## {title}", table(("name", "fields", "what it computes"), rows)]
    return {"components": "\n\n".join(parts) + "\n"}


def takes(kind: Any) -> str:
    """Return the fields of a component with their defaults and ranges."""
    hints = typing.get_type_hints(kind, include_extras=True)
    shown = [f"`{n}={d}`{span(hints[n])}" for n, d, _ in fields_of(kind)]
    return ", ".join(shown) or "–"


def span(hint: Any) -> str:
    """Return the values that a field may have, as its type says.

    >>> from coevo.envs.core.config import real
    >>> span(typing.Literal["zero", "keep"]), span(typing.Annotated[float, real(0, below=1)])
    (' (zero, keep)', ' (>= 0, < 1)')
    """
    if typing.get_origin(hint) is typing.Literal:
        return f" ({', '.join(map(str, typing.get_args(hint)))})"
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    ruled = [rule for m in getattr(hint, "__metadata__", ()) for rule in getattr(m, "metadata", ())]
    bounds = [f"{s} {getattr(r, k):g}" for r in ruled for k, s in signs.items() if hasattr(r, k)]
    return f" ({', '.join(bounds)})" if bounds else ""


def ours(settings: Mapping[str, Any], key: str) -> Any:
    """Return our value of a setting; of a component all that differs from nothing."""
    if key in settings:
        return settings[key]
    inner = {k.removeprefix(f"{key}."): v for k, v in settings.items() if k.startswith(f"{key}.")}
    return inner.get("name", inner) if inner else "not used"


# ---- Reward modules and commands ---------------------------------------------------------------


def reward_pages() -> dict[str, str]:
    """Return the page of reward modules: what each rewards, when, and its arguments."""
    rows = [
        (f"[`{name}`](#{name.replace('_', '-')})", first_line(kind), when(kind))
        for name, kind in sorted(REWARDS.items())
    ]
    parts = [
        "# Reward modules",
        "Every environment takes `rewards=[...]`, and every algorithm has a field `rewards`: a "
        "list of objects, of mappings such as `{name: quality, alpha: 0.5}`, or of bare names. "
        "What a module gives is a component of its own beside the rules' `payoff`; the environment "
        "adds it to the reward that PettingZoo and Gymnasium see, and writes it into the episode "
        "at the reply that earned it. [Writing one](../tutorials/reward.md) takes one file.",
        table(("name", "rewards", "scored"), rows),
        *(reward_section(name, kind) for name, kind in sorted(REWARDS.items())),
    ]
    return {"index": "\n\n".join(parts) + "\n"}


def reward_section(name: str, kind: type[RewardModule]) -> str:
    """Return the section of one reward module."""
    rows = [(f"`{n}`", f"`{d}`", text) for n, d, text in fields_of(kind)]
    parts = [f"## {name}", inspect.getdoc(kind) or ""]
    return "\n\n".join([*parts, table(("argument", "default", "meaning"), rows)])


def when(kind: type[RewardModule]) -> str:
    """Return when a module with its default arguments is scored."""
    try:
        return "per turn" if kind().per_turn else "per batch"
    except CoevoError:
        return "as its parts"


def command_pages() -> dict[str, str]:
    """Return the page of the command line: every command with its options and an example."""
    parts = [
        "# Command line",
        "Every command has `--help`; those with a result take `--json`. A wrong name gets the "
        "nearest right ones in one line and exit status 2; Ctrl-C saves and exits with 130.",
        "Settings are changed in two forms: `--set advantage.credit.lam=0.9` changes one field, "
        "`--set advantage.credit='{name: gae, lam: 0.95}'` replaces a component. The same tree is "
        "the `config.yaml` of a run.",
    ]
    for name, kind in COMMANDS.items():
        texts = field_docstrings(kind)
        rows = []
        for f in dataclasses.fields(kind):
            shown = f.name.upper() if f.name in POSITIONAL else f"`{flag(f.name)}`"
            rows.append((shown, escaped(texts.get(f.name, ""))))
        parts += [
            f"## coevo {name}",
            escaped(inspect.getdoc(kind) or ""),
            f"Needs: `{INSTALL.format(kind.extra)}`" if kind.extra else "",
            table(("option", "meaning"), rows) if rows else "",
            f"```text\n{kind.example}\n```",
        ]
    return {"commands": "\n\n".join(part for part in parts if part) + "\n"}
