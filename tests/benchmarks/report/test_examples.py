"""What small functions of the report give."""

import numpy as np
from markupsafe import Markup

from coevo.benchmarks.report.algorithms import _changing, better_first, runs_behind
from coevo.benchmarks.report.curves import smooth, thinned
from coevo.benchmarks.report.episodes import evenly, shares
from coevo.benchmarks.report.formats import (
    duration,
    estimate,
    interval,
    listed,
    number,
    percent,
    probability,
    tile,
    whole,
    with_interval,
)
from coevo.benchmarks.report.page import prose
from coevo.benchmarks.report.run import _moved
from coevo.benchmarks.report.tournament import head, middle
from coevo.benchmarks.report.transcripts import cut, finite


def test_report_algorithms():
    assert (runs_behind({"algorithms": {"a": {"n": 9}, "b": {"n": 9}}})) == ", n = 9"
    assert (_changing([[1, 1, 1, 0.5, 0, 0], [1, 1, 0.5, 0, 0, 0]])) == slice(1, 5, None)
    pair = {"a": "x", "b": "y", "difference": -1, "interval": [-2, None], "separated": True}
    turned = better_first(pair | {"improvement": 0.25})
    assert (turned["a"], turned["difference"], turned["interval"], turned["improvement"]) == (
        "y",
        1,
        [None, 2],
        0.75,
    )


def test_report_curves():
    assert (smooth([1.0, 3.0, 5.0], width=2).tolist()) == [1.0, 2.0, 4.0]
    x, y = thinned(np.arange(6.0), np.array([0.0, 2, 0, 2, 4, 6]), most=3)
    assert (x.tolist(), y.tolist()) == ([0.5, 2.5, 4.5], [1.0, 1.0, 5.0])


def test_report_episodes():
    assert (shares([1, 5, 100], 10), shares([2, 2], 10), shares([7, 7, 7], 2)) == (
        [1, 4, 5],
        [2, 2],
        [0, 1, 1],
    )
    assert (evenly([0, 1, 2, 3, 4], 3), evenly([0, 1, 2], 1), evenly([0, 1], 5)) == (
        [0, 2, 4],
        [2],
        [0, 1],
    )


def test_report_formats():
    assert (number(0.12345), number(-2.0), number(-0.0001), number(None), number(123456)) == (
        "0.123",
        "−2.000",
        "0.000",
        "–",
        "123,456",
    )
    assert (whole(1234.5)) == "1,234"
    assert (interval([0.1, 0.25]), interval([None, None]), interval(None)) == (
        "[0.100, 0.250]",
        "–",
        "–",
    )
    assert (estimate([0.1, 0.2, 0.4], 1), estimate([0.1, 0.4], 1), estimate(None)) == (
        "0.2 [0.1, 0.4]",
        "[0.1, 0.4]",
        "–",
    )
    assert (with_interval(0.2, [0.1, 0.4], 1), with_interval(0.2, None, 1)) == (
        "0.2 [0.1, 0.4]",
        "0.2",
    )
    assert (percent(0.125), percent(None)) == ("12.5 %", "–")
    assert (probability(0.0002), probability(0.05)) == ("<0.001", "0.050")
    assert (duration(42.4), duration(1805), duration(7300), duration(None)) == (
        "42 s",
        "30 min",
        "2 h 2 min",
        "–",
    )
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
    assert (tile("0.75", 0.75, 0.5, 0.5, ["n = 3", ""])) == {
        "text": "0.75",
        "tint": 0.5,
        "small": ["n = 3"],
    }


def test_report_page():
    assert (prose("`coevo compare` & more")) == Markup("<code>coevo compare</code> &amp; more")


def test_report_run():
    assert (_moved(0.2708, 0.0229), _moved(0.5, 0.5)) == (
        "fell from 0.271 to 0.023",
        "stayed at 0.500",
    )


def test_report_tournament():
    assert (middle([0.1, 0.2, 0.4]), middle(0.3), middle(None)) == (0.2, 0.3, None)
    assert (head("interval"), head("mean_return")) == ("95 % interval", "Mean return")


def test_report_transcripts():
    assert (cut("short", 9), cut("a longer one", 5)) == ("short", ["a lon", 7])
    assert (finite({"a": [1.5, float("nan"), float("-inf")]})) == {"a": [1.5, "nan", "-inf"]}
