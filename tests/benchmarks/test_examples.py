"""What small functions of the benchmarks give."""

import numpy as np

from coevo.benchmarks.files import file_name, short
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.references import default_metric, references
from coevo.benchmarks.repeats import Repeats
from coevo.benchmarks.results_folder import plain
from coevo.benchmarks.statistics.adaptability import (
    PartnerGap,
    SeverityCurve,
    partner_gap,
    severity_curve,
)
from coevo.benchmarks.statistics.aggregates import (
    as_runs,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
)
from coevo.benchmarks.statistics.arrays import count, finite, share, square
from coevo.benchmarks.statistics.bootstrap import Interval, bootstrap_interval, percentiles
from coevo.benchmarks.statistics.bradley_terry import (
    bradley_terry,
    centred_ratings,
    predicted,
    residual,
)
from coevo.benchmarks.statistics.curves import area_under_curve, curve_band
from coevo.benchmarks.statistics.generations import generation_table, nash_reference
from coevo.benchmarks.statistics.improvement import improvement_interval
from coevo.benchmarks.statistics.nash_averaging import log_odds
from coevo.benchmarks.statistics.normalise import normalise
from coevo.benchmarks.statistics.paired import smallest_p
from coevo.benchmarks.statistics.profiles import profile_band, run_profile
from coevo.benchmarks.statistics.social import (
    efficiency,
    equality,
    over_usage,
    peace,
    sustainability,
)
from coevo.benchmarks.statistics.standard_errors import z_value
from coevo.benchmarks.suites.names import environments
from coevo.benchmarks.suites.scenarios import SCENARIOS
from coevo.benchmarks.suites.sweeps import sweep
from coevo.benchmarks.tournament.cycles import cycles, groups
from coevo.benchmarks.tournament.pairings import mean_interval
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
    assert (float(mean([[0, 1], [1, 3]]))) == 1.25
    assert (float(median([[0, 1, 5], [1, 3, 5]]))) == 2.0
    assert (float(interquartile_mean([1, 2, 3, 4, 100])), float(interquartile_mean([1, 2, 9]))) == (
        3.0,
        4.0,
    )
    assert (float(optimality_gap([0.5, 2.0]))) == 0.25


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


def test_statistics_social():
    assert (efficiency([[1, 0, 1, 0, 1], [0, 0, 1, 1, 0]])) == 1.0
    assert (equality([4, 2, 2, 0]), equality([8, 0, 0, 0])) == (0.625, 0.25)
    assert np.isnan(equality([0, 0]))
    assert (sustainability([[1, 0, 1, 0, 1], [0, 0, 1, 1, 0]])) == 3.25
    assert (peace([[0, 1], [0, 0]])) == 1.5
    assert (over_usage([[0, 1], [0, 0]])) == 0.25


def test_statistics_adaptability():
    assert (partner_gap([[1, 0.2], [0.4, 2]])) == PartnerGap(
        self_play=1.5, cross_play=0.30000000000000004
    )
    assert (severity_curve([0, 1, 3], [1.0, 0.5, 0.5])) == SeverityCurve(
        worst=0.5, area=0.5833333333333334
    )


def test_statistics_bootstrap():
    assert ([round(float(b), 6) for b in percentiles(np.arange(101.0), 0.9)]) == [5.0, 95.0]
    from coevo.benchmarks.statistics.aggregates import mean

    assert (
        str(bootstrap_interval([[0, 1], [1, 3]], mean, np.random.default_rng(0), 2000))
    ) == "1.250 [0.500, 2.000] (n = 2)"


def test_statistics_bradley_terry():
    assert (centred_ratings([[0, 1], [1, 0]]).round(6).tolist()) == [0.0, 0.0]
    assert (predicted([200, 0]).round(4).tolist()) == [[0.5, 0.7597], [0.2403, 0.5]]
    wins = [[0, 9, 1], [1, 0, 9], [9, 1, 0]]
    assert (round(residual(wins, bradley_terry(wins)), 6)) == 0.4


def test_statistics_standard_errors():
    assert (round(z_value(0.95), 6)) == 1.959964


def test_statistics_curves():
    assert (float(area_under_curve([0, 1, 2, 4], [0, 0.5, 0.75, 1]))) == 0.65625
    band = curve_band([[[0.0, 1.0]], [[0.0, 3.0]]], np.random.default_rng(0), 500)
    assert (band.low.tolist(), band.point.tolist(), band.high.tolist()) == (
        [0.0, 1.0],
        [0.0, 2.0],
        [0.0, 3.0],
    )


def test_statistics_profiles():
    assert (run_profile([[0, 1], [1, 3]], [0, 0.5, 1]).tolist()) == [0.75, 0.75, 0.25]
    band = profile_band([[0.0], [1.0]], [0.5], np.random.default_rng(0))
    assert (band.low.tolist(), band.point.tolist(), band.high.tolist()) == ([0.0], [0.5], [1.0])


def test_statistics_generations():
    table = generation_table([[0, 1, 2], [1, 1, 2]], [2, 2, 2], percentiles=(50,))
    assert (table.percentiles.tolist(), table.dominates) == ([[0.5], [0.5]], (False, True))
    assert (nash_reference([[0.0, 1.0], [1.0, 0.0]]).round(6).tolist()) == [0.5, 0.5]


def test_statistics_normalise():
    assert (normalise([2, 7, 12, 14], random=2, oracle=12).tolist()) == [0.0, 0.5, 1.0, 1.2]


def test_statistics_nash_averaging():
    assert (log_odds([[0.5, 0.75], [0.25, 0.5]]).round(6).tolist()) == [
        [0.0, 1.098612],
        [-1.098612, 0.0],
    ]


def test_statistics_paired():
    assert (smallest_p(5), smallest_p(6)) == (0.0625, 0.03125)


def test_suites_names():
    assert (environments("mars-heldout")) == [
        "coevo/connect_four-v0",
        "coevo/leduc_poker-v0",
        "coevo/simple_hanabi-v0",
    ]


def test_suites_sweeps():
    assert ([level.label for level in sweep("players")]) == ["2 players", "3 players", "4 players"]


def test_suites_scenarios():
    assert (SCENARIOS["kuhn3_visitor"].focal_sets()) == [
        ("player_0",),
        ("player_1",),
        ("player_2",),
    ]


def test_metrics():
    kuhn = metric("coevo/kuhn_poker-v0")
    assert (kuhn.name, kuhn.higher_is_better, round(kuhn.normalised(11 / 48), 6)) == (
        "exploitability",
        False,
        0.5,
    )


def test_references():
    assert (references("coevo/tiny_hanabi-v0").scores.oracle) == 10.0
    assert (default_metric("coevo/openspiel-v0", {"game": "matrix_pd"})) == "return_self_play"


def test_tournament_pairings():
    assert (str(mean_interval(np.array([1.0, 0.0, 1.0])))) == "0.667 [-0.768, 2.101] (n = 3)"


def test_tournament_cycles():
    assert (groups({"r": ["s", "x"], "s": ["p"], "p": ["r"], "x": []})) == [["p", "r", "s"], ["x"]]
    assert (cycles({"r": ["s"], "s": ["p"], "p": ["r"], "x": ["r", "s", "p"]})) == [["p", "r", "s"]]


def test_statistics_improvement():
    assert (
        str(improvement_interval([3, 4, 5], [0, 1, 2], np.random.default_rng(0)))
    ) == "1.000 [1.000, 1.000] (n = 3)"
