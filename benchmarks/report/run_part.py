"""What is said about one run: what was trained, how long, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from coevo.benchmarks.report.content import Content, Gallery
from coevo.benchmarks.report.markup import (
    Html,
    duration,
    facts,
    folded,
    joined,
    number,
    percent,
    section,
    table,
    tag,
)
from coevo.benchmarks.report.plays import Source
from coevo.benchmarks.report.run_panels import SCORES, SMOOTH_NOTE, Colours, run_panels
from coevo.benchmarks.report.series import Series, read_series
from coevo.benchmarks.report.sources import read_if_there, short
from coevo.envs.core.errors import DataError

MEASURES = {
    "exploitability": "Exploitability: payoff that a perfect opponent gains; 0 is best",
    "win_rate_vs_random": "Win rate against random play, draws counted half",
    "win_rate_vs_seed": "Win rate against the start model, draws counted half",
    "return_vs_oracle": "Mean payoff against the oracle",
    "return_self_play": "Mean payoff in self-play",
    "forfeit_rate": "Plays forfeited by an illegal reply",
}
"""Measure of `summary.json` -> what the table says."""
LIMITS = {
    "steps": ("step", "updates"),
    "budget_tokens": ("total_tokens", "tokens"),
    "budget_turns": ("total_turns", "turns"),
    "budget_seconds": ("total_seconds", "seconds"),
}
"""Limit of a configuration -> the metric that approaches it, and its unit."""
ONE_SEED = (
    "One run of one seed: it shows what this run did, not what the algorithm does; "
    "`coevo compare` repeats it over seeds."
)


def content(folder: Path, gallery: Gallery) -> Content:
    """Read a run folder, finished or not, and say what it holds.

    Args:
        folder: of the run.
        gallery: draws its charts.
    """
    config, summary = read_config(folder), read_if_there(folder / "summary.json")
    series = read_series(folder / "metrics.jsonl")
    algorithm = str((config.get("algorithm") or {}).get("name", "?"))
    env, seed = short(str(config.get("env", "?"))), config.get("seed", 0)
    colours = Colours([k.removeprefix("return/") for k in series.values if k.startswith("return/")])
    before = summary.get("before") or {}
    charts = gallery.show(*run_panels(series, before, colours))
    return Content(
        kind="Run",
        title=f"{algorithm} on {env}",
        verdict=list(verdict(config, summary, series)),
        facts=_facts(config, summary, series),
        sections=[
            section("before-after", "Before and after", before_after(summary)),
            section(
                "training",
                "Training",
                tag("p", SMOOTH_NOTE, class_="note") if charts else "",
                charts,
            ),
        ],
        appendix=[section("origin", "Where it comes from", origin(folder, config, summary))],
        sources=[Source(folder / "episodes.jsonl", "episodes.jsonl", env, algorithm, seed)],
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Read `config.yaml` as plain values: a run of another version is shown, too."""
    path = folder / "config.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise DataError(f"{path} is damaged: it holds no table")
    return data


# ---- Words -------------------------------------------------------------------------------------


def verdict(config: Mapping[str, Any], summary: Mapping[str, Any], series: Series) -> Iterator[str]:
    """Say what came of a run, the result first."""
    if not series.count:
        yield "Nothing is logged yet: the first update is still being made."
        return
    before, after = summary.get("before") or {}, summary.get("after") or {}
    found = list(_changes(before, after)) or list(_probed(series, before))
    yield from found[:2]
    if not after:
        why = "it has not ended" if "steps" not in summary else "`--no-eval`"
        yield f"No table before and after: {why}."
    if "steps" not in summary:
        yield _how_far(config, series)
    if found:
        yield ONE_SEED


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Say what the tables before and after tell, the sharpest measure first."""
    exploited = before.get("exploitability"), after.get("exploitability")
    if None not in exploited:
        yield f"Exploitability {_moved(*exploited)}; 0 cannot be beaten."
    oracle = before.get("return_vs_oracle"), after.get("return_vs_oracle")
    if None not in oracle:
        yield f"Mean payoff against the oracle {_moved(*oracle)}."
    if after.get("win_rate_vs_seed") is not None:
        won = percent(after["win_rate_vs_seed"])
        yield f"It scores {won} against the model that it started from, draws counted half."
    alone = before.get("return_self_play"), after.get("return_self_play")
    if None not in alone:
        yield f"Mean payoff in self-play {_moved(*alone)}."


def _probed(series: Series, before: Mapping[str, Any]) -> Iterator[str]:
    for name, title in SCORES.items():
        found = series.curve(name)[1].tolist()
        first = before.get(name, found[0] if found else None)
        if found and first is not None and (len(found) > 1 or name in before):
            yield f"{title.partition(' (')[0]} {_moved(first, found[-1])} by its probes."


def _moved(first: Any, last: Any) -> str:
    """Say how a number changed.

    >>> _moved(0.2708, 0.0229), _moved(0.5, 0.5)
    ('fell from 0.271 to 0.023', 'stayed at 0.500')
    """
    one, two = number(first), number(last)
    if one == two:
        return f"stayed at {one}"
    return f"{'fell' if last < first else 'rose'} from {one} to {two}"


def _how_far(config: Mapping[str, Any], series: Series) -> str:
    """Say how much of a run that has not ended is done, by whichever limit is nearest."""
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


# ---- Tables ------------------------------------------------------------------------------------


def _facts(
    config: Mapping[str, Any], summary: Mapping[str, Any], series: Series
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


def before_after(summary: Mapping[str, Any]) -> Html:
    """Write both evaluations side by side."""
    before, after = summary.get("before") or {}, summary.get("after") or {}
    rows = [
        (MEASURES.get(key, key), _shown(key, before.get(key)), _shown(key, after.get(key)))
        for key in dict.fromkeys([*MEASURES, *before, *after])
        if isinstance(before.get(key, after.get(key)), int | float)
    ]
    if not rows:
        return Html("")
    oracle = after.get("oracle") or before.get("oracle")
    note = tag("p", f"The oracle here: {oracle}.", class_="note") if oracle else ""
    return joined(
        table("The same measures before and after training", ("Measure", "Before", "After"), rows),
        note,
    )


def _shown(key: str, value: Any) -> str:
    return percent(value) if "rate" in key else number(value)


def origin(folder: Path, config: Mapping[str, Any], summary: Mapping[str, Any]) -> Html:
    """Write what is needed to judge and repeat a run."""
    hardware = summary.get("hardware") or {}
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    return joined(
        tag("pre", tag("code", summary["command"]), tabindex=0) if "command" in summary else "",
        facts(
            [
                ("Commit", summary.get("commit")),
                ("Version", summary.get("version")),
                ("Configuration", str(summary.get("config_hash", ""))[:16]),
                *((key.capitalize(), value) for key, value in hardware.items()),
            ]
        ),
        folded("config.yaml, every setting", tag("pre", tag("code", text), tabindex=0)),
    )
