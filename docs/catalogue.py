"""The pages of algorithms, and their index by group."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from figures import compared, curves
from layout import escaped, first_line, folded, groups, raw, sentence, table

from coevo.benchmarks.reproductions import claim as claim_of
from coevo.commands.algos import describe, source
from coevo.envs.core.config import plain
from coevo.trainers.algorithm import STATUS, Algorithm
from coevo.trainers.algorithms import ALGORITHMS, GROUPS

CLAIMS = Path(__file__).parents[1] / "benchmarks" / "results" / "claims.jsonl"
"""Name, seeds, holds and figures of `coevo reproduce NAME --json`, one claim a line."""

EARLIER = CLAIMS.with_name("2026-11-22-reproductions.md")
"""A report with tables whose first column names the claim, or is empty below such a row."""


def algorithm_groups() -> dict[str, list[str]]:
    """Return the names of the algorithms of every group, as the catalogue orders them."""
    return {group: names.split() for group, names in GROUPS.items()}


def algorithm_pages() -> dict[str, str]:
    """Return a page per algorithm and their index."""
    parts = [
        "# Algorithms",
        "An algorithm is one file of configuration: what is collected, how rewards become "
        "advantages, the loss, and what else moves. `coevo algos NAME` prints the same beside the "
        "values of its source, and `--set` changes any setting by its dotted name. "
        "[How to write one](../tutorials/algorithm.md).",
        "A status says how far an algorithm was compared with its source:",
        table(("status", "meaning"), ((f"`{s}`", sentence(t)) for s, t in STATUS.items())),
    ]
    grouped = algorithm_groups()
    for group, names in grouped.items():
        rows = [
            (f"[`{a.name}`]({a.name}.md)", a.summary, source(a), a.status)
            for a in map(ALGORITHMS.__getitem__, names)
        ]
        parts += [f"## {group}", table(("name", "what it does", "source", "status"), rows)]
    pages = {name: algorithm_page(record) for name, record in ALGORITHMS.items()}
    return pages | {"index": "\n\n".join([*parts, groups(grouped)])}


def algorithm_page(algo: Algorithm) -> str:
    """Return the page of one algorithm: formula, results, components, published values."""
    module = importlib.import_module(f"coevo.trainers.algorithms.{algo.name}")
    shown = describe(algo)
    formula = "\n\n".join(f"$$\n{line}\n$$" for line in algo.formula.split(r" \\ "))
    settings = [(f"`{k}`", f"`{v}`") for k, v in shown["settings"].items()]
    parts = [
        f"# {algo.name}",
        sentence(algo.summary),
        formula,
        f"**Source:** {escaped(algo.paper)}  \n**Status:** `{algo.status}`: {STATUS[algo.status]}",
        f"```text\ncoevo train {algo.name} {algo.usage} --budget 4m\n```",
        escaped(inspect.getdoc(module) or "").partition("\n")[2],
        *results(algo),
        "## Components",
        f"One update: `{shown['cycle']}`.",
        table(("setting", "component", "what it computes"), parts_of(algo)),
        *(escaped(sentence(remark)) for remark in shown["remarks"]),
        *published(algo, shown),
        *variants(algo),
        "## All settings",
        folded(f"{len(settings)} settings", table(("setting", "value"), settings)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def results(algo: Algorithm) -> list[str]:
    """Return the figures of what was run with an algorithm: a curve, tables of claims."""
    shown = [raw(curves(algo.name))] if algo.name in compared() else []
    shown += [f"What is shown: {escaped(algo.shows)}."] if algo.shows else []
    for name in algo.reproductions:
        claim = claim_of(name)
        shown.append(escaped(claim.property))
        command = f"`coevo reproduce {name}`, on `{claim.on}`"
        if name in stored():
            run = stored()[name]
            rows = [
                (escaped(row["label"]), measured(row), reference(row), bounds(row))
                for row in run["figures"]
            ]
            seeds = len(run["seeds"])
            heads = (f"figure, {seeds} seed{'s' * (seeds > 1)}", "ours", "reference", "accepted")
            shown += [f"{command}:", table(heads, rows)]
        elif earlier := earlier_run(name):
            shown += [f"{command}:", table(("figure", "ours"), earlier)]
            shown.append(f"Measured for `benchmarks/results/{EARLIER.name}`.")
        else:
            shown.append(f"{command}; its figures are not stored here.")
    return ["## Results", *shown] if shown else []


def stored() -> dict[str, Any]:
    """Return the stored runs of claims by name."""
    lines = CLAIMS.read_text(encoding="utf-8").splitlines() if CLAIMS.exists() else []
    return {run["name"]: run for run in map(json.loads, lines)}


def earlier_run(name: str) -> list[tuple[str, str]]:
    """Return the figures of a claim in the tables of an earlier report."""
    found, here = [], ""
    for line in EARLIER.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            here = ""
        elif cells[0] or not here:
            here = cells[0]
        if here == name:
            at = 2 if cells[1].isdigit() or not cells[1] else 1  # a column of seeds comes first
            found.append((escaped(cells[at]), escaped(cells[at + 1])))
    return [(figure, ours) for figure, ours in found if ours]


def measured(row: Mapping[str, Any]) -> str:
    """Return the mean of a figure over seeds, and its deviation where there are several.

    >>> measured({"mean": 0.5, "measured": [0.4, 0.6]})
    '0.5 ± 0.141'
    """
    values = row["measured"]
    if row["mean"] is None or len(values) < 2:
        return "–" if row["mean"] is None else f"{row['mean']:.3g}"
    spread = (sum((v - row["mean"]) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    return f"{row['mean']:.3g}" + (f" ± {spread:.3g}" if spread > 1e-9 else "")


def reference(row: Mapping[str, Any]) -> str:
    """Return the reference of a figure."""
    return "–" if row["reference"] is None else f"{row['reference']:.3g}"


def bounds(row: Mapping[str, Any]) -> str:
    """Return the accepted range of a figure.

    >>> bounds({"low": 0.5, "high": None}), bounds({"low": 0, "high": 1})
    ('at least 0.5', '0 to 1')
    """
    low, high = row["low"], row["high"]
    if low is not None and high is not None:
        return f"{low:.3g} to {high:.3g}"
    if low is not None:
        return f"at least {low:.3g}"
    return "–" if high is None else f"at most {high:.3g}"


def parts_of(algo: Algorithm) -> Iterable[tuple[str, str, str]]:
    """Return every component of an algorithm: where it stands, its name, its first line."""
    for step in algo.cycle:
        yield "`cycle`", f"`{step}`", escaped(first_line(type(step)))
        for loss in getattr(step, "losses", ()):
            yield "`cycle.update.losses`", f"`{loss.name}`", escaped(first_line(type(loss)))
    for where in ("collect", "advantage", "loss"):
        config = getattr(algo, where)
        for f in dataclasses.fields(config):
            value = getattr(config, f.name)
            for component in value if isinstance(value, tuple) else (value,):
                if hasattr(component, "name"):
                    line = escaped(first_line(type(component)))
                    yield f"`{where}.{f.name}`", f"`{component.name}`", line
    for name in ("population", "magnet"):
        component = getattr(algo, name)
        if component is not None:
            yield f"`{name}`", f"`{component.name}`", escaped(first_line(type(component)))


def published(algo: Algorithm, shown: Mapping[str, Any]) -> list[str]:
    """Return the table of published values beside ours, each with the reason for a difference."""
    if not algo.published:
        return []
    tree = plain(algo)
    rows = [
        (f"`{key}`", f"`{brief(at(tree, key))}`", f"`{p['value']}`", reason(p))
        for key, p in shown["published"].items()
    ]
    head = ("setting", "ours", "published", "why ours differs, and where it was published")
    return ["## Published values", table(head, rows)]


def reason(value: Mapping[str, Any]) -> str:
    """Return why ours differs from a published value, and the source of that value."""
    return f"{value['why']} ({value['source']})" if value["why"] else str(value["source"])


def variants(algo: Algorithm) -> list[str]:
    """Return the table of an algorithm's variants."""
    rows = [
        (f"`{name}`", "<br>".join(f"`{k}={brief(plain(v))}`" for k, v in changes.items()))
        for name, changes in algo.variants.items()
    ]
    return ["## Variants", table(("`--variant`", "changes"), rows)] if rows else []


def at(tree: Any, key: str) -> Any:
    """Return what stands at a dotted place of a tree, or None where there is nothing."""
    for part in key.split("."):
        if isinstance(tree, (list, tuple)):
            tree = next((item for item in tree if item.get("name") == part), None)
        else:
            tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def brief(value: Any) -> str:
    """Return a component as its name with its fields.

    >>> brief([{"name": "kl", "coef": 0.2}]), brief({"name": "outcome"}), brief(None)
    ('[kl(coef=0.2)]', 'outcome', 'none')
    """
    if isinstance(value, Mapping) and "name" in value:
        fields = ", ".join(f"{k}={brief(v)}" for k, v in value.items() if k != "name")
        return f"{value['name']}({fields})" if fields else str(value["name"])
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(brief, value))}]"
    return "none" if value is None else str(value)
