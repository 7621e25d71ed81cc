import numpy as np
import pytest

from coevo.benchmarks.statistics.aggregates import interquartile_mean
from coevo.benchmarks.statistics.bootstrap import bootstrap_interval
from coevo.benchmarks.statistics.curves import (
    area_under_curve,
    curve_band,
    on_grid,
)
from coevo.envs.core.errors import ConfigError


def test_area_of_worked_examples():
    assert area_under_curve([0, 1, 2, 4], [0, 0.5, 0.75, 1]) == 0.65625


def test_areas_of_many_curves_at_once(rng):
    scores = rng.random((4, 3, 6))
    budgets = [0, 1, 3, 4, 8, 9]
    areas = area_under_curve(budgets, scores)
    assert areas.shape == (4, 3)
    assert areas[1, 2] == area_under_curve(budgets, scores[1, 2])


def test_a_constant_curve_has_its_height_as_area():
    assert area_under_curve([2, 3, 10], [0.4, 0.4, 0.4]) == pytest.approx(0.4)


def test_a_band_is_the_interval_of_each_point(rng):
    scores = rng.random((6, 2, 3))
    band = curve_band(scores, rng, 4000)
    for p in range(3):
        alone = bootstrap_interval(scores[..., p], interquartile_mean, rng, 4000)
        assert band.point[p] == alone.point
        assert (band.low[p], band.high[p]) == pytest.approx((alone.low, alone.high), abs=0.02)


def test_one_run_has_no_band(rng):
    band = curve_band(rng.random((1, 2, 3)), rng)
    assert np.isnan(band.low).all()
    assert band.runs == 1


def test_a_run_that_stopped_early_has_no_score_after_that():
    values = on_grid([10, 20], [0.1, 0.3], [5, 10, 15, 20, 25])
    assert values[1:4].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert np.isnan(values[[0, 4]]).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: area_under_curve([0, 0], [1, 1]), "budgets must increase"),
        (lambda: area_under_curve([0], [1]), "two points"),
        (lambda: area_under_curve([0, 1], [1, 1, 1]), "one score each"),
        (lambda: on_grid([0, 1], [1], [0]), "2 budgets for 1 scores"),
        (lambda: curve_band([[1, 2]], np.random.default_rng(0)), "expected 3 axes"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()
