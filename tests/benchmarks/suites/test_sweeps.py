import json

import pytest

from coevo.agents import OracleAgent, RandomAgent
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.suite import Settings
from coevo.benchmarks.suites.sweeps import SWEEPS, Level, run_sweep, sweep
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, UnknownNameError

KUHN, HANABI = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0"
NOWHERE = ResultsFolder(None, "evaluation")


@pytest.mark.parametrize("key", SWEEPS)
def test_levels_grow_in_severity_and_can_be_made(key):
    levels = SWEEPS[key]
    severities = [level.severity for level in levels]
    assert severities == sorted(set(severities))
    for level in levels:
        make(level.env_id, **level.env_options)
    low, high = levels[0].references()
    assert low < high


def test_players_are_added():
    counts = [len(make(x.env_id, **x.env_options).possible_agents) for x in sweep("players")]
    assert counts == [2, 3, 4]


def test_payoffs_change_and_nothing_else():
    ranges = [make(x.env_id, **x.env_options).payoff_range for x in sweep("payoffs")]
    assert len(set(ranges)) == 3
    assert sweep("payoffs")[2].references() == pytest.approx((3.75, 5.0))


def test_random_play_lies_at_0_along_an_axis():
    rows, curve = run_sweep(RandomAgent(), sweep("players"), Settings(games=240, seed=2), NOWHERE)
    for row in rows:
        low, high = row.normalised_interval
        assert low < 0 < high
    assert curve.worst == min(r.normalised for r in rows)
    assert abs(curve.area) < 0.5


def test_an_optimal_convention_is_lost_on_other_partners():
    rows, curve = run_sweep(OracleAgent(), sweep("partners", HANABI), Settings(games=80), NOWHERE)
    by = {row.details["label"]: row.normalised for row in rows}
    assert by["with self"] == by["with convention:1"] == 1
    assert curve.worst < 0.5 < by["with self"]
    assert curve.worst < curve.area < 1


def test_a_killed_axis_continues_and_ends_the_same(tmp_path):
    levels, settings = sweep("partners", HANABI), Settings(games=10)
    kept = ResultsFolder(tmp_path, "evaluation")
    straight = run_sweep(RandomAgent(), levels, settings, NOWHERE)
    done = []

    def stop(row):
        done.append(row.details["label"])
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(RandomAgent(), levels, settings, kept, stop)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    assert run_sweep(RandomAgent(), levels, settings, kept) == straight
    row = straight[0][0]
    assert Measurement.from_dict(json.loads(json.dumps(row.to_dict(), allow_nan=False))) == row


def test_unknown_axes_are_named():
    with pytest.raises(UnknownNameError, match="did you mean 'players'"):
        sweep("player")
    with pytest.raises(ConfigError, match="it exists for coevo/kuhn_poker-v0"):
        sweep("players", HANABI)


def test_a_level_without_references_is_refused():
    alone = Level(severity=0, label="alone", env_id=KUHN, other="self")
    with pytest.raises(ConfigError, match="no reference scores for return_self_play"):
        run_sweep(RandomAgent(), (alone,), Settings(games=2), NOWHERE)
