"""What small functions of the benchmarks give."""

import numpy as np

from coevo.benchmarks.files import file_name, short
from coevo.benchmarks.repeats import Repeats
from coevo.benchmarks.results_folder import plain
from coevo.benchmarks.statistics.aggregates import as_runs
from coevo.benchmarks.statistics.arrays import count, finite, share, square
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.tournament.ratings import without_diagonal
from coevo.benchmarks.tournament.schedule import episodes_per_task, first_of, number_of, pairs
from coevo.benchmarks.tournament.sentences import (
    partner_sentence,
    percent,
    share_sentence,
    signed,
    turned,
)
from coevo.benchmarks.tournament.tables import bounds


def test_results_folder():
    assert (plain({"a": (float("nan"), np.float64(1.5)), "b": np.arange(2)})) == {
        "a": [None, 1.5],
        "b": [0, 1],
    }


def test_files():
    assert (short("coevo/kuhn_poker-v0"), short("kuhn_poker")) == ("kuhn_poker", "kuhn_poker")
    assert (file_name("coevo/kuhn_poker-v0")) == "coevo-kuhn_poker-v0"


def test_repeats():
    assert (Repeats(6, ()).ks) == [1, 2, 4, 6]


def test_statistics_arrays():
    assert (finite("score", [1, 2]).tolist()) == [1.0, 2.0]
    assert (square("payoffs", [[0, 1], [-1, 0]]).shape) == (2, 2)
    assert (share("confidence", 0.95)) == 0.95
    assert (count("games", 3)) == 3


def test_statistics_aggregates():
    assert (as_runs([1, 2, 3]).shape) == (3, 1)


def test_tournament_ratings():
    assert (without_diagonal(np.array([[np.nan, 1.0], [3.0, np.nan]])).tolist()) == [
        [2.0, 1.0],
        [3.0, 2.0],
    ]


def test_tournament_schedule():
    assert (pairs(["b", "a"], self_play=False), pairs(["b", "a"], self_play=True)) == (
        [("a", "b")],
        [("a", "a"), ("a", "b"), ("b", "b")],
    )
    assert (first_of({"x": "a", "y": "b", "z": "a"})) == "b"
    assert (episodes_per_task(2), episodes_per_task(3)) == (2, 6)
    assert number_of("a", "b") == number_of("a", "b") != number_of("ab")


def test_tournament_sentences():
    assert (percent(Interval(0.55, 0.621, 0.69, 100))) == "62 % [55, 69]"
    assert (signed(Interval(0.1, 0.213, 0.3, 100))) == "+0.213 [+0.100, +0.300]"
    assert (str(turned(Interval(0.1, 0.2, 0.3, 10), 1.0))) == "0.800 [0.700, 0.900] (n = 10)"
    assert (
        share_sentence({"a": {"share": 0.2}, "b": {"share": 0.8}})
    ) == "alpha-Rank for infinite alpha: b 0.800, a 0.200."
    assert (
        partner_sentence(10.0, 4.5)
    ) == "With itself an agent earns 10.000 on average, with others 4.500."


def test_tournament_tables():
    assert (bounds(Interval(0.1, 0.2, 0.3, 10))) == [0.1, 0.2, 0.3]
