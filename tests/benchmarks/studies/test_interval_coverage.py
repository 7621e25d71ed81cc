"""The simulation that says what printed intervals cover."""

import numpy as np
import pytest
from interval_coverage import (
    NOISE,
    Trial,
    gaussian,
    iqm_trial,
    main,
    measure,
    paired_trial,
    scores_of,
)

from coevo.benchmarks.statistics.aggregates import interquartile_mean
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.envs.core.errors import ConfigError


@pytest.mark.parametrize("data", NOISE)
def test_noise_is_centred_with_unit_spread(data, rng):
    noise = NOISE[data](rng, (400_000,))
    assert noise.mean() == pytest.approx(0, abs=0.01)
    assert noise.std() == pytest.approx(1, abs=0.06)


def test_it_counts_intervals_that_hold_the_truth():
    lows = iter([0.0, 0.4, 0.6, 0.2])
    row = measure("x", "y", 3, 4, lambda: Trial([Interval(next(lows), 1, 1, 3)], [0.5]))
    assert row.covered == 0.75
    assert row.width == pytest.approx(0.7)


def test_three_runs_cover_less_than_twenty_as_published(rng):
    truth = float(interquartile_mean(scores_of(rng, gaussian, 200_000)))
    covered = {}
    for runs in (3, 20):
        row = measure("", "", runs, 400, lambda n=runs: iqm_trial(rng, gaussian, n, truth, 400))
        covered[runs] = row.covered
    assert covered[3] == pytest.approx(0.845, abs=0.06)  # 1000 trials gave it
    assert covered[20] == pytest.approx(0.955, abs=0.035)


def test_the_sign_flip_interval_covers_at_any_n(rng):
    assert measure("", "", 5, 5, lambda: paired_trial(rng, gaussian, 5)).width == np.inf
    assert measure("", "", 6, 500, lambda: paired_trial(rng, gaussian, 6)).covered > 0.935


def test_the_command_prints_the_same_table_twice(capsys):
    tables = []
    for _ in range(2):
        main(["--trials", "3", "--replicates", "40", "--seed", "1"])
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    lines = tables[0].splitlines()
    assert len(lines) == 2 + 16 + 4 + 12 + 4 + 2
    assert all(line.count("|") == 6 for line in lines)


def test_no_trials_are_refused():
    with pytest.raises(ConfigError, match="trials=0"):
        main(["--trials", "0"])
