import json
from dataclasses import asdict

import pytest

from coevo.agents import OracleAgent, RandomAgent
from coevo.benchmarks.suites.axes import AXES, Level, LevelResult, axis, run_axis
from coevo.benchmarks.suites.measure import Settings
from coevo.benchmarks.suites.results import Results
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, UnknownNameError

KUHN, HANABI = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0"


@pytest.mark.parametrize("key", AXES)
def test_levels_grow_in_severity_and_can_be_made(key):
    levels = AXES[key]
    severities = [level.severity for level in levels]
    assert severities == sorted(set(severities))
    for level in levels:
        make(level.env_id, **level.env_options)
    low, high = levels[0].references()
    assert low < high


def test_players_are_added():
    counts = [len(make(x.env_id, **x.env_options).possible_agents) for x in axis("players")]
    assert counts == [2, 3, 4]


def test_payoffs_change_and_nothing_else():
    ranges = [make(x.env_id, **x.env_options).payoff_range for x in axis("payoffs")]
    assert len(set(ranges)) == 3
    assert axis("payoffs")[2].references() == pytest.approx((3.75, 5.0))


def test_random_play_lies_at_0_along_an_axis():
    rows, curve = run_axis(
        RandomAgent(), axis("players"), Settings(games=240, seed=2), Results(None, {})
    )
    for row in rows:
        low, high = row.normalised_interval
        assert low < 0 < high
    assert curve.worst == min(r.normalised for r in rows)
    assert abs(curve.area) < 0.5


def test_an_optimal_convention_is_lost_on_other_partners():
    rows, curve = run_axis(
        OracleAgent(), axis("partners", HANABI), Settings(games=80), Results(None, {})
    )
    by = {row.label: row.normalised for row in rows}
    assert by["with self"] == by["with convention:1"] == 1
    assert curve.worst < 0.5 < by["with self"]
    assert curve.worst < curve.area < 1


def test_a_killed_axis_continues_and_ends_the_same(tmp_path):
    levels, settings = axis("partners", HANABI), Settings(games=10)
    straight = run_axis(RandomAgent(), levels, settings, Results(None, {}))
    done = []

    def stop(row):
        done.append(row.label)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_axis(RandomAgent(), levels, settings, Results(tmp_path, {}), stop)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    results = Results(tmp_path, {})
    assert run_axis(RandomAgent(), levels, settings, results) == straight
    assert results.whole["worst"] == straight[1].worst
    row = straight[0][0]
    assert LevelResult(**json.loads(json.dumps(asdict(row), allow_nan=False))) == row


def test_unknown_axes_are_named():
    with pytest.raises(UnknownNameError, match="did you mean 'players'"):
        axis("player")
    with pytest.raises(ConfigError, match="it exists for coevo/kuhn_poker-v0"):
        axis("players", HANABI)


def test_a_level_without_references_is_refused():
    alone = Level(severity=0, label="alone", env_id=KUHN, other="self")
    with pytest.raises(ConfigError, match="no reference scores for return_self_play"):
        run_axis(RandomAgent(), (alone,), Settings(games=2), Results(None, {}))
