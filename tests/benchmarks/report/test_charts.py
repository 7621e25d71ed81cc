import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from coevo.benchmarks.report.charts import Curves, Intervals, Line, Row
from coevo.benchmarks.report.curves import from_lines, middle, read_series
from coevo.benchmarks.report.gallery import Gallery, inline
from coevo.benchmarks.report.page import asset
from coevo.benchmarks.report.style import NAMED, PAPER, SERIES
from coevo.benchmarks.report.training import diagnostics, run_charts

X = np.linspace(0, 1e6, 11)
LINES = (
    Line("grpo", X, X / 2e6, 0, low=X / 2e6 - 0.1, high=X / 2e6 + 0.1),
    Line("mars", X, X / 1e6, 1),
)
CHARTS = [
    Curves(
        name="curve",
        title="Curves & <more>",
        x_label="tokens",
        lines=LINES,
        marks=(("oracle", 0.9),),
    ),
    Curves(
        name="profile", title="Profile", x_label="score", lines=LINES, ordered=True, percent=True
    ),
    Intervals(
        name="rows",
        title="Rows",
        x_label="score",
        rows=(Row("mars", 0.5, (0.4, 0.6), (0.3, 0.7), 1, "n = 2"),),
    ),
]


def page_svg(chart):
    """Return the chart as it stands in the page."""
    return str(Gallery().show(chart)[0][0])


@pytest.mark.parametrize("chart", CHARTS, ids=lambda c: c.name)
def test_a_chart_is_drawn_alike_twice(chart):
    one, two = Gallery(), Gallery()
    assert one.show(chart) == two.show(chart)
    assert one.files == two.files
    assert b"<dc:date>" not in one.files[f"{chart.name}.svg"]


def test_charts_in_the_page_are_well_formed_and_have_names_of_their_own():
    seen = []
    for chart in CHARTS:
        text = page_svg(chart)
        root = ET.fromstring(text.replace("xlink:href", "href"))
        names = [e.get("id") for e in root.iter() if e.get("id")]
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(names)
        assert root.get("aria-label") == chart.title
        assert "http" not in text.replace("http://www.w3.org", "")
        seen += names
    assert len(seen) == len(set(seen)) > 0


@pytest.mark.parametrize("chart", CHARTS, ids=lambda c: c.name)
def test_a_chart_in_the_page_has_only_colours_that_know_light_and_dark(chart):
    text = page_svg(chart)
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", text)
    assert "font-family" not in text


def test_what_is_no_picture_is_refused():
    with pytest.raises(ValueError, match="no picture"):
        inline("<svg>", "nothing")


def test_the_palette_of_charts_is_the_light_palette_of_the_page():
    style = asset("page.css")
    for colour, name in NAMED.items():
        light = re.search(rf"{name[4:-1]}: light-dark\((#\w+),", style)
        assert light, name
        assert light[1] == ("#ffffff" if colour == PAPER else colour)
    assert len(SERIES) == len(set(SERIES))


def test_curves_are_marked_so_that_one_can_be_brought_out():
    text = page_svg(CHARTS[0])
    assert set(re.findall(r'class="series" data-series="(\d+)"', text)) == {"0", "1"}


def test_charts_are_files_beside_the_page(tmp_path):
    gallery = Gallery()
    gallery.show(CHARTS[0], None)
    paths = gallery.write(tmp_path / "plots")
    assert [p.name for p in paths] == ["curve.svg", "curve.png"]
    assert paths[0].read_bytes().startswith(b"<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_names_are_listed_as_curves_end():
    text = page_svg(CHARTS[0])
    assert text.rindex(">mars<") < text.rindex(">grpo<")
    text = page_svg(CHARTS[1])
    assert text.rindex(">grpo<") < text.rindex(">mars<")


# ---- Series ------------------------------------------------------------------------------------


def test_metrics_are_read_while_they_are_written(make, tmp_path):
    path = tmp_path / "metrics.jsonl"
    make["lines"](path, [{"step": k, "total_tokens": 10 * k, "entropy": 1 / k} for k in (1, 2)])
    with path.open("a") as file:
        file.write('broken\n{"step": 3, "total_tokens": 30, "ent')
    series = read_series(path)
    x, y = series.curve("entropy")
    assert x.tolist() == [10, 20]
    assert y.tolist() == [1.0, 0.5]


def test_curves_are_over_tokens_else_turns_else_updates():
    def over(**given: float) -> str:
        return from_lines([{"step": 1, **given}]).over

    assert over(total_tokens=5, total_turns=3) == "tokens"
    assert over(total_tokens=0, total_turns=3) == "turns"
    assert over() == "updates"


def test_numbers_that_are_none_are_no_points():
    series = from_lines(
        [{"step": 1, "x": float("nan")}, {"step": 2, "x": 2.0}, {"step": 3, "x": None}]
    )
    assert series.curve("x", "updates")[1].tolist() == [2.0]


def test_the_mean_of_runs_ends_where_the_first_run_ends():
    one = (np.array([0.0, 10.0]), np.array([0.0, 0.0]))
    two = (np.array([0.0, 20.0]), np.array([2.0, 2.0]))
    x, y = middle([one, two, (np.array([]), np.array([]))], points=3)
    assert x.tolist() == [0, 5, 10]
    assert y.tolist() == [1, 1, 1]


def test_a_run_has_every_chart_that_it_logged_for(make, tmp_path):
    series = read_series(make["run"](tmp_path / "run") / "metrics.jsonl")
    panels = {p.name: p for p in run_charts(series, {"exploitability": 0.27}, {})}
    assert set(panels) == {
        "exploitability", "returns", "win_rate", "rewards", "entropy", "kl", "endings",
        "illegal_rate", "unread", "gradient", "advantages",
    }  # fmt: skip
    exploitability = panels["exploitability"].lines[0]
    assert (exploitability.x[0], exploitability.y[0]) == (0.0, 0.27)
    assert {line.label for line in panels["endings"].lines} == {"forfeits", "truncated"}
    assert [line.label for line in panels["rewards"].lines] == ["payoff", "format"]


def test_seats_have_one_colour_in_all_charts(make, tmp_path):
    series = read_series(make["run"](tmp_path / "run") / "metrics.jsonl")
    colours: dict[str, set[int]] = {}
    for panel in run_charts(series, {}, {}):
        for line in panel.lines if len(panel.lines) > 1 else ():
            colours.setdefault(line.label, set()).add(line.colour)
    assert all(len(used) == 1 for used in colours.values())
    assert colours["player_0"] != colours["player_1"]


def test_a_run_of_one_update_can_be_drawn(make, tmp_path):
    series = read_series(make["run"](tmp_path / "run", updates=1, ended=False) / "metrics.jsonl")
    for panel in run_charts(series, {}, {}):
        assert Gallery().show(panel)


def test_a_diagnostic_without_values_is_no_chart():
    series = from_lines([{"step": 1, "stop/turn_limit": 0.0}, {"step": 2, "stop/turn_limit": 0.0}])
    assert diagnostics("kuhn_poker", {"mars": [series]}, {"mars": 0}) == []
