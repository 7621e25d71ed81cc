"""The page of a comparison: which algorithm is better, by how much, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.files import read_if_there, read_json, short
from coevo.benchmarks.report import algorithms
from coevo.benchmarks.report.curves import LoggedSeries, read_series
from coevo.benchmarks.report.episodes import EpisodeFile
from coevo.benchmarks.report.formats import duration, listed
from coevo.benchmarks.report.gallery import Gallery
from coevo.benchmarks.report.sources import ReportedRun, runs
from coevo.benchmarks.report.training import TRAINING_NOTE, diagnostics


def content(folder: Path, gallery: Gallery) -> dict[str, Any]:
    """Read a comparison, finished or not; return what `comparison.html.jinja` shows."""
    manifest = read_json(folder / "manifest.json")
    summary = read_if_there(folder / "comparison.json")
    planned = runs(folder, manifest)
    names = [str(a) for a in manifest.get("algorithms", ())]
    environments = [short(env) for env in manifest.get("environments", ())]
    parts = {short(env): part for env, part in (summary.get("environments") or {}).items()}
    colours = {name: place for place, name in enumerate(names)}
    return {
        "label": "Comparison",
        "title": f"{listed(names)} on {listed(environments)}",
        # `progress` has the newest count of runs.
        "verdict": [
            *(s for s in summary.get("headline") or () if "are not done" not in s),
            *progress(planned, summary),
        ],
        "facts": _facts(manifest, planned),
        "series": names,
        "group": "algorithm",
        "sources": [_source(folder, run) for run in planned],
        "overall": summary.get("overall") or {},
        "parts": parts,
        "several": len(parts) > 1,
        "baseline": manifest.get("baseline"),
        "algorithms": algorithms,
        "failed": [r for r in planned if r.result.get("status") not in (None, "done")],
        "waiting": [r for r in planned if not r.result],
        "begun": sum(r.path.is_dir() for r in planned if not r.result),
        "note": TRAINING_NOTE,
        "training": {
            env: gallery.show(*diagnostics(env, _metrics(planned, env), colours))
            for env in environments
        },
        "origin": _origin(manifest),
        "manifest_text": json.dumps(manifest, indent=2, ensure_ascii=False),
    } | _charts(summary.get("overall") or {}, parts, colours, gallery)


def _source(folder: Path, run: ReportedRun) -> EpisodeFile:
    path = run.path / "episodes.jsonl"
    name = path.relative_to(folder).as_posix()
    return EpisodeFile(path, name, run.environment, run.algorithm, run.seed)


def _metrics(planned: Sequence[ReportedRun], env: str) -> dict[str, list[LoggedSeries]]:
    found: dict[str, list[LoggedSeries]] = {}
    for run in planned:
        if run.environment == env and (run.path / "metrics.jsonl").is_file():
            found.setdefault(run.algorithm, []).append(read_series(run.path / "metrics.jsonl"))
    return found


def progress(planned: Sequence[ReportedRun], summary: Mapping[str, Any]) -> Iterator[str]:
    """Say what the tables do not know yet: runs that are not done, or were done after them."""
    done = sum(run.result.get("status") == "done" for run in planned)
    failed = sum(run.result.get("status") == "failed" for run in planned)
    if len(planned) > done + failed or not summary:
        parts = [f"{done} of {len(planned)} runs are done", f"{failed} failed" if failed else ""]
        yield f"{', '.join(filter(None, parts))}; `coevo compare --out DIR` continues."
    if not summary:
        yield "There are no tables yet: `comparison.json` is written when runs end."
    elif summary.get("done") not in (None, done):
        yield f"The tables are older: they were written when {summary['done']} runs were done."


def _facts(manifest: Mapping[str, Any], planned: Sequence[ReportedRun]) -> list[tuple[str, object]]:
    seconds = sum(run.result.get("seconds") or 0 for run in planned)
    tokens = sum(run.result.get("tokens") or 0 for run in planned)
    return [
        ("Algorithms", len(manifest.get("algorithms", ()))),
        ("Environments", len(manifest.get("environments", ()))),
        ("Seeds", len(manifest.get("seeds", ()))),
        ("Budget of a run", _budget(manifest)),
        ("Baseline", manifest.get("baseline")),
        ("Sampled tokens in all", f"{tokens:,}" if tokens else None),
        ("Training time in all", duration(seconds) if seconds else None),
    ]


def _budget(manifest: Mapping[str, Any]) -> str:
    said = {short(env): _limits(own) for env, own in (manifest.get("budgets") or {}).items()}
    if len(set(said.values())) < 2:
        return next(iter(said.values()), "")
    return "; ".join(f"{env}: {limits}" for env, limits in said.items())


def _limits(limits: Mapping[str, Any]) -> str:
    return " or ".join(f"{value:,g} {kind}" for kind, value in limits.items() if value)


def _origin(manifest: Mapping[str, Any]) -> list[tuple[str, object]]:
    hardware, packages = manifest.get("hardware") or {}, manifest.get("packages") or {}
    return [
        ("Commit", manifest.get("commit")),
        ("Start model", manifest.get("model")),
        *((str(key).capitalize(), value) for key, value in hardware.items()),
        *packages.items(),
    ]


def _charts(
    overall: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]],
    colours: Mapping[str, int],
    gallery: Gallery,
) -> dict[str, Any]:
    several = len(parts) > 1
    where = "over all environments" if several else f"on {next(iter(parts), '')}"
    result = algorithms.aggregate_chart(
        overall, colours, "aggregate", f"Interquartile mean {where}"
    )
    curves = (algorithms.curve_chart(p, colours, f"curve-{e}", e) for e, p in parts.items())
    profiles = [algorithms.profile_chart(p, colours, f"profile-{e}", e) for e, p in parts.items()]
    if several:
        profiles.insert(
            0, algorithms.profile_chart(overall, colours, "profile", "All environments")
        )
    each = (
        algorithms.aggregate_chart(p, colours, f"aggregate-{e}", e)
        for e, p in parts.items()
        if several
    )
    return {
        "where": where,
        "result_chart": gallery.show(result),
        "curve_charts": gallery.show(*curves),
        "profile_charts": gallery.show(*profiles),
        "environment_charts": gallery.show(*each),
    }
