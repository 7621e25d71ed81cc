"""Write the pages of environments, algorithms, reward modules and commands from the registries."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from pathlib import Path
from typing import Any

from catalogue import algorithm_groups, algorithm_pages
from figures import forest
from layout import escaped, fields_of, first_line, raw, table
from scores import score_pages
from worlds import environment_pages, families, strip

from coevo.commands.arguments import COMMANDS, POSITIONAL, flag
from coevo.commands.parse import field_docstrings
from coevo.envs.core.config import components
from coevo.envs.core.errors import INSTALL, CoevoError
from coevo.envs.rewards import REWARDS, RewardModule
from coevo.trainers.advantage import AdvantageConfig
from coevo.trainers.algorithm import Algorithm, CollectConfig
from coevo.trainers.loss import LossConfig


def write_pages(docs: Path) -> None:
    """Write all generated pages below `docs`; files that would not change are left alone."""
    for folder, pages in (
        ("environments", environment_pages()),
        ("_parts", {"strip": strip(), "result": raw(forest())}),
        ("algorithms", algorithm_pages()),
        ("rewards", reward_pages()),
        (".", command_pages() | component_pages() | score_pages()),
    ):
        (docs / folder).mkdir(exist_ok=True)
        for name, text in pages.items():
            path = docs / folder / f"{name}.md"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def sidebar_groups() -> dict[str, list[str]]:
    """Return the pages that the sidebar shows in groups."""
    return families() | algorithm_groups()


# ---- Components ------------------------------------------------------------------------------


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


UNBOUNDED = 1e12
"""Size from which on a bound stands for none."""


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
    found = [
        (sign, getattr(rule, key))
        for rule in ruled
        for key, sign in signs.items()
        if hasattr(rule, key)
    ]
    bounds = [f"{sign} {bound:g}" for sign, bound in found if abs(bound) < UNBOUNDED]
    return f" ({', '.join(bounds)})" if bounds else ""


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
