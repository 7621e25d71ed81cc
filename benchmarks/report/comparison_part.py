"""What is said about a comparison: who is better, by how much, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.report.content import Content, Gallery
from coevo.benchmarks.report.markup import (
    Html,
    duration,
    facts,
    folded,
    joined,
    listed,
    number,
    section,
    table,
    tag,
)
from coevo.benchmarks.report.pairs_part import improvement_table, pair_table
from coevo.benchmarks.report.panels import Curves
from coevo.benchmarks.report.plays import Source
from coevo.benchmarks.report.run_panels import DIAGNOSTICS, TRAINING_NOTE, Colours, diagnostic
from coevo.benchmarks.report.series import Series, read_series
from coevo.benchmarks.report.sources import Cell, cells, read_if_there, read_json, short
from coevo.benchmarks.report.tables_part import (
    BAND_NOTE,
    INTERVALS_NOTE,
    PROFILE_NOTE,
    aggregate_chart,
    aggregate_table,
    curve_chart,
    profile_chart,
    task_table,
)

Parts = Mapping[str, Mapping[str, Any]]
"""Short name of an environment -> its table in `comparison.json`."""


def content(folder: Path, gallery: Gallery) -> Content:
    """Read a comparison, finished or not, and say what it holds.

    Args:
        folder: of the comparison.
        gallery: draws its charts.
    """
    manifest = read_json(folder / "manifest.json")
    summary = read_if_there(folder / "comparison.json")
    planned = cells(folder, manifest)
    algorithms = [str(a) for a in manifest.get("algorithms", ())]
    colours = Colours(algorithms)
    parts = {short(env): part for env, part in (summary.get("environments") or {}).items()}
    environments = [short(env) for env in manifest.get("environments", ())]
    return Content(
        kind="Comparison",
        title=f"{listed(algorithms)} on {listed(environments)}",
        verdict=[*_findings(summary), *progress(planned, summary)],
        facts=_facts(manifest, planned),
        sections=[
            section("result", "Result", _result(summary, parts, colours, gallery)),
            section("pairs", "Who is better than whom", _pairs(summary, parts, manifest)),
            section("curves", "Learning curves", _curves(parts, colours, gallery)),
            section(
                "profiles", "Performance profiles", _profiles(summary, parts, colours, gallery)
            ),
            section("environments", "By environment", _environments(parts, colours, gallery)),
            section("missing", "Cells without a result", missing(planned)),
            section("training", "Training", _training(planned, environments, colours, gallery)),
        ],
        appendix=[section("origin", "Where it comes from", _origin(manifest))],
        series=algorithms,
        sources=[_source(folder, cell) for cell in planned],
    )


def _source(folder: Path, cell: Cell) -> Source:
    path = cell.path / "episodes.jsonl"
    name = path.relative_to(folder).as_posix()
    return Source(path, name, cell.environment, cell.algorithm, cell.seed)


def _findings(summary: Mapping[str, Any]) -> list[str]:
    """Give the headline without its count of cells: `progress` has the newest."""
    return [s for s in summary.get("headline") or () if "cells are not done" not in s]


def progress(planned: Sequence[Cell], summary: Mapping[str, Any]) -> Iterator[str]:
    """Say what the tables do not know yet: cells that are not done, or were done after them."""
    done = sum(cell.result.get("status") == "done" for cell in planned)
    failed = sum(cell.result.get("status") == "failed" for cell in planned)
    left = len(planned) - done - failed
    if left or not summary:
        parts = [f"{done} of {len(planned)} cells are done", f"{failed} failed" if failed else ""]
        yield f"{', '.join(filter(None, parts))}; `coevo compare --out DIR` continues."
    if not summary:
        yield "There are no tables yet: `comparison.json` is written when cells end."
    elif summary.get("done") not in (None, done):
        yield f"The tables are older: they were written when {summary['done']} cells were done."


def _facts(manifest: Mapping[str, Any], planned: Sequence[Cell]) -> list[tuple[str, object]]:
    seconds = sum(cell.result.get("seconds") or 0 for cell in planned)
    tokens = sum(cell.result.get("tokens") or 0 for cell in planned)
    return [
        ("Algorithms", len(manifest.get("algorithms", ()))),
        ("Environments", len(manifest.get("environments", ()))),
        ("Seeds", len(manifest.get("seeds", ()))),
        ("Budget of a cell", _budget(manifest)),
        ("Baseline", manifest.get("baseline")),
        ("Sampled tokens in all", f"{tokens:,}" if tokens else None),
        ("Training time in all", duration(seconds) if seconds else None),
    ]


def _budget(manifest: Mapping[str, Any]) -> str:
    """Write the budget of a cell, one for all environments or one for each."""
    given = manifest.get("budgets") or manifest.get("budget") or {}
    own = {k: v for k, v in given.items() if isinstance(v, Mapping)}
    if not own:
        return _limits(given)
    said = {short(env): _limits(limits) for env, limits in own.items()}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{env}: {limits}" for env, limits in said.items())


def _limits(limits: Mapping[str, Any]) -> str:
    return " or ".join(f"{value:,g} {kind}" for kind, value in limits.items() if value)


# ---- Sections ----------------------------------------------------------------------------------


def _result(summary: Mapping[str, Any], parts: Parts, colours: Colours, gallery: Gallery) -> Html:
    overall = summary.get("overall") or {}
    where = "over all environments" if len(parts) > 1 else f"on {next(iter(parts), '')}"
    chart = aggregate_chart(overall, colours, "aggregate", f"Interquartile mean {where}")
    if chart is None:
        return Html("")
    dropped = overall.get("dropped_seeds") or []
    note = ""
    if dropped:
        seeds = ", ".join(map(str, dropped))
        note = tag(
            "p", f"Left out for all, because some cell has no result: seeds {seeds}.", class_="note"
        )
    caption = (
        f"Aggregates of normalised scores {where}, best first; intervals of 95 %, over n seeds"
    )
    return joined(
        noted(INTERVALS_NOTE, gallery.show(chart)), note, aggregate_table(overall, caption)
    )


def _pairs(summary: Mapping[str, Any], parts: Parts, manifest: Mapping[str, Any]) -> Html:
    overall, baseline = summary.get("overall") or {}, manifest.get("baseline")
    where = "over all environments" if len(parts) > 1 else f"on {next(iter(parts), '')}"
    matrix = improvement_table(overall, where)
    if not matrix:
        return Html("")
    inner = [
        folded(
            f"{env}: every pair in this environment",
            improvement_table(part, f"on {env}"),
            pair_table(part, None, f"on {env}"),
        )
        for env, part in parts.items()
        if len(parts) > 1 and part.get("comparisons")
    ]
    every = folded("Every pair", pair_table(overall, None, where))
    return joined(matrix, pair_table(overall, baseline, where), every, *inner)


def _curves(parts: Parts, colours: Colours, gallery: Gallery) -> Html:
    charts = [curve_chart(p, colours, f"curve-{env}", env) for env, p in parts.items()]
    return noted(BAND_NOTE, gallery.show(*charts))


def noted(note: str, charts: Html) -> Html:
    """Say once how charts are read; without charts there is nothing to say."""
    return joined(tag("p", note, class_="note"), charts) if charts else charts


def _profiles(summary: Mapping[str, Any], parts: Parts, colours: Colours, gallery: Gallery) -> Html:
    charts = [profile_chart(p, colours, f"profile-{env}", env) for env, p in parts.items()]
    if len(parts) > 1:
        overall = summary.get("overall") or {}
        charts.insert(0, profile_chart(overall, colours, "profile", "All environments"))
    return noted(PROFILE_NOTE, gallery.show(*charts))


def _environments(parts: Parts, colours: Colours, gallery: Gallery) -> Html:
    if not parts:
        return Html("")
    several = len(parts) > 1
    charts = [
        aggregate_chart(p, colours, f"aggregate-{env}", env) for env, p in parts.items() if several
    ]
    tables = [
        folded(
            f"{env}: all aggregates",
            aggregate_table(p, f"Aggregates on {env}, best first; intervals of 95 %, over n seeds"),
        )
        for env, p in parts.items()
        if several
    ]
    seeds = [
        folded(f"{env}: {part.get('metric', 'metric')} of every seed", _seeds(env, part))
        for env, part in parts.items()
        if any(own.get("values") for own in (part.get("algorithms") or {}).values())
    ]
    return joined(task_table(parts), gallery.show(*charts), *tables, *seeds)


def _seeds(env: str, part: Mapping[str, Any]) -> Html:
    """Write the final metric of every run: what all intervals are made of."""
    known = {
        a: dict(zip(own.get("seeds") or range(len(own["values"])), own["values"], strict=False))
        for a, own in (part.get("algorithms") or {}).items()
        if own.get("values")
    }
    seeds = sorted({seed for values in known.values() for seed in values})
    rows = [[a, *(number(values.get(seed), 4) for seed in seeds)] for a, values in known.items()]
    return table(f"{part.get('metric', 'metric')} on {env}, by seed", ["Algorithm", *seeds], rows)


def missing(planned: Sequence[Cell]) -> Html:
    """List the cells that failed, each with its reason, and count those that are not done."""
    failed = [c for c in planned if c.result.get("status") not in (None, "done")]
    waiting = [c for c in planned if not c.result]
    rows = [
        (
            f"{c.algorithm} on {c.environment}",
            c.seed,
            c.result.get("reason") or "no reason was given",
        )
        for c in failed
    ]
    listed = (
        table("Cells that failed", ("Cell", "Seed", "Reason"), rows, words=(0, 2)) if rows else ""
    )
    begun = sum(c.path.is_dir() for c in waiting)
    said = f"{len(waiting)} cells have no result yet; {begun} of them have begun."
    return joined(listed, tag("p", said) if waiting else "")


def _training(
    planned: Sequence[Cell], environments: Sequence[str], colours: Colours, gallery: Gallery
) -> Html:
    parts: list[Html] = []
    for env in environments:
        runs: dict[str, list[Series]] = {}
        for cell in planned:
            if cell.environment == env and (cell.path / "metrics.jsonl").is_file():
                runs.setdefault(cell.algorithm, []).append(read_series(cell.path / "metrics.jsonl"))
        charts = gallery.show(*_diagnostics(env, runs, colours))
        if charts and len(environments) > 1:
            parts.append(folded(env, charts))
        else:
            parts.append(charts)
    return noted(TRAINING_NOTE, joined(*parts))


def _diagnostics(
    env: str, runs: Mapping[str, Sequence[Series]], colours: Colours
) -> list[Curves | None]:
    logged = [s.over for own in runs.values() for s in own if s.count]
    over = next((k for k in ("updates", "turns", "tokens") if k in logged), "updates")
    names = {name: name.replace("/", "_") for name in DIAGNOSTICS}
    return [diagnostic(n, runs, over, colours, f"training-{env}-{f}") for n, f in names.items()]


def _origin(manifest: Mapping[str, Any]) -> Html:
    hardware, packages = manifest.get("hardware") or {}, manifest.get("packages") or {}
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    return joined(
        facts(
            [
                ("Commit", manifest.get("commit")),
                ("Start model", manifest.get("model")),
                *((str(k).capitalize(), v) for k, v in hardware.items()),
                *packages.items(),
            ]
        ),
        folded(
            "manifest.json, written before anything ran", tag("pre", tag("code", text), tabindex=0)
        ),
    )
