"""The page of a run: what was trained, for how long, and with which result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coevo.benchmarks.files import read_if_there, short
from coevo.benchmarks.report.curves import LoggedSeries, read_series
from coevo.benchmarks.report.episodes import EpisodeFile
from coevo.benchmarks.report.formats import duration, number, percent
from coevo.benchmarks.report.gallery import Gallery
from coevo.benchmarks.report.sources import LIMITS, read_config
from coevo.benchmarks.report.training import SCORES, SMOOTH_NOTE, run_charts

MEASURES = {
    "exploitability": "Exploitability: payoff that a perfect opponent gains; 0 is best",
    "win_rate_vs_random": "Win rate against random play, draws counted half",
    "win_rate_vs_start": "Win rate against the start model, draws counted half",
    "return_vs_oracle": "Mean payoff against the oracle",
    "return_self_play": "Mean payoff in self-play",
    "forfeit_rate": "Episodes forfeited by an illegal reply",
    "illegal_rate": "Illegal replies",
    "unread_rate": "Replies of which nothing was read",
    "near_miss_rate": "Replies that came close to a legal move and were not read",
}
"""Measure of `summary.json` -> what the table says."""
ONE_SEED = (
    "One run of one seed: it shows what this run did, not what the algorithm does; "
    "`coevo compare` repeats it over seeds."
)


def content(folder: Path, gallery: Gallery) -> dict[str, Any]:
    """Read a run folder, finished or not; return what `run.html.jinja` shows."""
    config, summary = read_config(folder), read_if_there(folder / "summary.json")
    series = read_series(folder / "metrics.jsonl")
    algorithm = str((config.get("algorithm") or {}).get("name", "?"))
    env, seed = short(str(config.get("env", "?"))), config.get("seed", 0)
    seats = [k.removeprefix("return/") for k in series.values if k.startswith("return/")]
    before, after = summary.get("before") or {}, summary.get("after") or {}
    colours = {seat: place for place, seat in enumerate(seats)}
    return {
        "label": "Run",
        "title": f"{algorithm} on {env}",
        "verdict": list(verdict(config, summary, series)),
        "facts": _facts(config, summary, series),
        "series": [],
        "group": "algorithm",
        "sources": [EpisodeFile(folder / "episodes.jsonl", "episodes.jsonl", env, algorithm, seed)],
        "charts": gallery.show(*run_charts(series, before, colours)),
        "note": SMOOTH_NOTE,
        "measures": list(_measures(before, after)),
        "oracle": after.get("oracle") or before.get("oracle"),
        "command": summary.get("command"),
        "origin": [
            ("Commit", summary.get("commit")),
            ("Version", summary.get("version")),
            ("Configuration", str(summary.get("config_hash", ""))[:16]),
            *((key.capitalize(), v) for key, v in (summary.get("hardware") or {}).items()),
        ],
        "config_text": (folder / "config.yaml").read_text(encoding="utf-8"),
    }


def verdict(
    config: Mapping[str, Any], summary: Mapping[str, Any], series: LoggedSeries
) -> Iterator[str]:
    if not series.count:
        yield "Nothing is logged yet: the first update is still being made."
        return
    before, after = summary.get("before") or {}, summary.get("after") or {}
    found = list(_changes(before, after)) or list(_measured_on_the_way(series, before))
    yield from found[:2]
    if not after:
        why = "it has not ended" if "steps" not in summary else "`--no-eval`"
        yield f"No table before and after: {why}."
    if "steps" not in summary:
        yield _how_far(config, series)
    if found:
        yield ONE_SEED


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    exploited = before.get("exploitability"), after.get("exploitability")
    if None not in exploited:
        yield f"Exploitability {_moved(*exploited)}; 0 cannot be beaten."
    oracle = before.get("return_vs_oracle"), after.get("return_vs_oracle")
    if None not in oracle:
        yield f"Mean payoff against the oracle {_moved(*oracle)}."
    if after.get("win_rate_vs_start") is not None:
        won = percent(after["win_rate_vs_start"])
        yield f"It scores {won} against the model that it started from, draws counted half."
    alone = before.get("return_self_play"), after.get("return_self_play")
    if None not in alone:
        yield f"Mean payoff in self-play {_moved(*alone)}."


def _measured_on_the_way(series: LoggedSeries, before: Mapping[str, Any]) -> Iterator[str]:
    for name, title in SCORES.items():
        found = series.curve(name)[1].tolist()
        first = before.get(name, found[0] if found else None)
        if found and first is not None and (len(found) > 1 or name in before):
            yield f"{title.partition(' (')[0]} {_moved(first, found[-1])} during training."


def _moved(first: Any, last: Any) -> str:
    """Say how a number changed."""
    one, two = number(first), number(last)
    if one == two:
        return f"stayed at {one}"
    return f"{'fell' if last < first else 'rose'} from {one} to {two}"


def _how_far(config: Mapping[str, Any], series: LoggedSeries) -> str:
    shares = [
        (
            series.last(metric) / config[limit],
            f"{series.last(metric):,.0f} of {config[limit]:,g} {unit}",
        )
        for limit, (metric, unit) in LIMITS.items()
        if config.get(limit)
    ]
    done = f": {max(shares)[1]} ({percent(max(shares)[0])})" if shares else ""
    return f"This run has not ended{done}. It is training still, or was stopped."


def _facts(
    config: Mapping[str, Any], summary: Mapping[str, Any], series: LoggedSeries
) -> list[tuple[str, object]]:
    seconds = summary.get("seconds") or series.last("total_seconds") or None
    return [
        ("Algorithm", (config.get("algorithm") or {}).get("name")),
        ("Environment", config.get("env")),
        ("Start model", Path(str(config.get("model", ""))).name),
        ("Seed", config.get("seed")),
        ("Updates", f"{int(series.last('step')):,}"),
        ("Sampled tokens", f"{int(series.last('total_tokens')):,}"),
        ("Training time", duration(seconds)),
    ]


def _measures(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key in dict.fromkeys([*MEASURES, *before, *after]):
        if isinstance(before.get(key, after.get(key)), int | float):
            write = percent if "rate" in key else number
            yield MEASURES.get(key, key), write(before.get(key)), write(after.get(key))
