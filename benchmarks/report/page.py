"""The page: one HTML file with its style, its script, its charts and its plays."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from coevo.benchmarks.report import charts, comparison_part, run_part, tournament_part
from coevo.benchmarks.report.content import Content, Gallery
from coevo.benchmarks.report.markup import Html, facts, joined, prose, tag
from coevo.benchmarks.report.plays import Index, index, pick
from coevo.benchmarks.report.sources import kind
from coevo.benchmarks.report.transcripts import Transcripts, for_script, transcripts

EPISODES = 400
"""Plays in the transcript browser."""
PARTS = {
    "run": run_part.content,
    "comparison": comparison_part.content,
    "tournament": tournament_part.content,
}
FOOTER = " The charts lie beside this page as SVG and PNG, in <code>plots</code>."
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_HEADING = re.compile(r'<section id="([\w-]+)"[^>]*><h2[^>]*>([^<]*)</h2>')


@dataclass(frozen=True)
class Report:
    """What was written."""

    page: Path
    plots: tuple[Path, ...]
    kind: str
    plays: int
    """Plays in the files."""
    shown: int
    """Plays in the page."""


def report(folder: Path, out: Path | None = None, episodes: int = EPISODES) -> Report:
    """Write the page about a folder, and its plots beside it.

    The same folder gives the same bytes. A run or a comparison that is not finished is reported as
    far as it is.

    Args:
        folder: a run, a comparison or a tournament.
        out: the page; None writes `report.html` into the folder.
        episodes: most plays in the transcript browser.

    Raises:
        DataError: the folder holds none of these, or a file in it is damaged.
    """
    found = kind(folder)
    gallery = Gallery()
    content = PARTS[found](folder, gallery)
    plays = index(content.sources)
    told = transcripts(plays, pick(plays, episodes))
    text = assemble(content, plays, told)
    page = out or folder / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    plots = charts.write(gallery.drawn, page.parent / "plots")
    _replace(page, text)
    return Report(page, tuple(plots), found, len(plays.entries), len(told.lines))


def _replace(path: Path, text: str) -> None:
    """Write a file in one step; half a surrogate pair becomes its JSON escape."""
    work = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        work.write_bytes(text.encode("utf-8", errors="backslashreplace"))
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def assemble(content: Content, plays: Index, told: Transcripts) -> str:
    """Put the page together."""
    script = asset("page.js")
    sections = joined(*content.sections)
    transcript = _transcripts(content, plays, told)
    appendix = joined(*content.appendix)
    parts = {
        "title": joined(content.title),
        "kind": joined(content.kind),
        "policy": _policy(script),
        "style": asset("page.css"),
        "script": script,
        "verdict": _verdict(content.verdict),
        "facts": facts(content.facts),
        "contents": _contents([sections, transcript, appendix]),
        "series": _series(content.series) if "data-series" in sections else "",
        "sections": sections,
        "transcripts": transcript,
        "appendix": appendix,
        "index": for_script({"group": content.group, "plays": told.summaries}),
        "plays": "\n".join(told.lines),
        "footer": FOOTER if "<figure>" in sections else "",
    }
    return _SLOT.sub(lambda m: parts[m[1]], asset("page.html"))


def asset(name: str) -> str:
    """Read a file that belongs to this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Allow this one script and nothing from anywhere else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _verdict(sentences: Sequence[str]) -> Html:
    first, *rest = sentences or ["Nothing is known yet."]
    return joined(
        tag("p", prose(first), class_="lead"), *(tag("p", prose(sentence)) for sentence in rest)
    )


def _contents(parts: Sequence[str]) -> Html:
    """Link every section."""
    found = [m for part in parts for m in _HEADING.finditer(part)]
    return joined(*(tag("li", tag("a", Html(m[2]), href=f"#{m[1]}")) for m in found))


def _series(names: Sequence[str]) -> Html:
    """Offer to bring out one curve in all charts."""
    buttons = [
        tag(
            "button",
            tag(
                "span", class_="swatch", style=f"background: var(--series-{i % len(charts.SERIES)})"
            ),
            name,
            type="button",
            aria_pressed="false",
            data_focus=i,
        )
        for i, name in enumerate(names)
    ]
    if len(buttons) < 2:
        return Html("")
    label = tag("span", "Bring out", id="focus-label")
    return tag("div", label, *buttons, class_="focus", role="group", aria_labelledby="focus-label")


def _transcripts(content: Content, plays: Index, told: Transcripts) -> Html:
    """Say which plays are shown; the script fills in the rest."""
    if not content.sources:
        return Html("")
    if not plays.entries:
        said = "No plays are recorded here."
        return tag("section", tag("h2", "Plays"), tag("p", said, class_="note"), id="plays")
    return Html(asset("plays.html").replace("{{note}}", _sampled(plays, told)))


def _sampled(plays: Index, told: Transcripts) -> Html:
    count, shown = len(plays.entries), len(told.lines)
    said = f"All {count:,} recorded plays."
    if shown < count:
        said = (
            f"{shown:,} of {count:,} recorded plays, taken over algorithms, outcomes, updates and "
            "seeds alike: rare outcomes are more frequent here than in training."
        )
    if plays.unreadable:
        said += f" {plays.unreadable:,} lines could not be read."
    rows = [f"{name} {number:,}" for name, number in sorted(plays.outcomes().items())]
    return joined(
        tag("p", said, class_="note"),
        tag("p", f"Among all recorded: {', '.join(rows)}.", class_="note"),
    )
