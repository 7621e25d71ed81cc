"""What a kind of folder hands over to the page, and the gallery that draws its charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coevo.benchmarks.report.charts import Drawn, render
from coevo.benchmarks.report.markup import Html, joined, tag
from coevo.benchmarks.report.panels import Chart
from coevo.benchmarks.report.plays import Source


@dataclass
class Content:
    """Everything that a page shows beside the transcripts."""

    kind: str
    """In words, over the title."""
    title: str
    verdict: Sequence[str]
    """Sentences, the most important first."""
    facts: Sequence[tuple[str, object]] = ()
    """Names and values under the verdict."""
    sections: Sequence[Html] = ()
    """Before the transcripts."""
    appendix: Sequence[Html] = ()
    """After them."""
    series: Sequence[str] = ()
    """Names of the colours that several charts share."""
    sources: Sequence[Source] = ()
    """Files of plays."""
    group: str = "algorithm"
    """What the plays are grouped by, in one word."""


@dataclass
class Gallery:
    """Draws charts for the page and keeps them for the files beside it."""

    drawn: list[Drawn] = field(default_factory=list)

    def show(self, *charts: Chart | None) -> Html:
        """Draw charts side by side; those that are None are left out."""
        figures = [self._figure(chart) for chart in charts if chart is not None]
        return tag("div", *figures, class_="charts") if figures else Html("")

    def keep(self, chart: Chart) -> None:
        """Draw a chart for its files alone: the page shows the same numbers as a table."""
        self.drawn.append(render(chart))

    def _figure(self, chart: Chart) -> Html:
        self.keep(chart)
        note = tag("figcaption", chart.note) if chart.note else ""
        return tag("figure", joined(self.drawn[-1].inline, note))
