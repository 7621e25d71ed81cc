"""The page: one HTML file with its style, its script, its charts and its episodes."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from coevo.benchmarks.report import comparison, run, tournament
from coevo.benchmarks.report.episodes import index, pick
from coevo.benchmarks.report.formats import FILTERS
from coevo.benchmarks.report.gallery import Gallery
from coevo.benchmarks.report.sources import kind
from coevo.benchmarks.report.style import SERIES
from coevo.benchmarks.report.transcripts import for_script, transcripts
from coevo.envs.core.errors import legible
from coevo.envs.core.quoting import visible
from coevo.trainers.files import storage
from coevo.trainers.seals import Seals

EPISODES = 400
KINDS = {"run": run.content, "comparison": comparison.content, "tournament": tournament.content}
"""What a folder holds -> function that reads what its template shows."""


@dataclass(frozen=True)
class Report:
    """What was written."""

    page: Path
    plots: tuple[Path, ...]
    kind: str
    episodes: int
    shown: int


def report(folder: Path, out: Path | None = None, episodes: int = EPISODES) -> Report:
    """Write the page about a folder, and its plots beside it.

    The same folder gives the same bytes. A run or a comparison that is not finished is reported as
    far as it is. Without `out` it is `report.html` in the folder. DataError where the folder holds
    none of the three, or a damaged file.
    """
    found, gallery = kind(folder), Gallery()
    with legible(folder):
        content = KINDS[found](folder, gallery)
        for source in content["sources"]:
            Seals(source.path).check()
        recorded = index(content["sources"])
        shown = transcripts(recorded, pick(recorded, episodes))
        text = render(
            content | {"kind": found, "recorded": recorded, "shown": shown, "plots": gallery.files}
        )
    page = out or folder / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    plots = gallery.write(page.parent / "plots")
    _replace(page, text)
    return Report(page, tuple(plots), found, len(recorded.entries), len(shown.lines))


def render(content: dict[str, Any]) -> str:
    """Fill the template of a kind of folder; whatever is not markup of ours is escaped."""
    templates = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_written,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= FILTERS | {"prose": prose, "for_script": for_script}
    script = asset("page.js")
    return templates.get_template(f"{content['kind']}.html.jinja").render(
        content,
        policy=policy(script),
        script=Markup(script),
        style=Markup(asset("page.css")),
        palette=len(SERIES),
        contents=[],
    )


def _written(value: Any) -> Any:
    """Return what a template writes: a dash for nothing, and text in which all can be seen."""
    if value is None:
        return "–"
    return visible(value) if type(value) is str else value


def asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def prose(text: str) -> Markup:
    """Return HTML for a sentence in which code stands between backticks."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def policy(script: str) -> str:
    """Return a content security policy: this one script, and nothing from anywhere else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _replace(path: Path, text: str) -> None:
    """Write a file in one step; half a surrogate pair becomes its JSON escape."""
    work = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage(path):
        try:
            work.write_bytes(text.encode("utf-8", errors="backslashreplace"))
            work.replace(path)
        finally:
            work.unlink(missing_ok=True)
