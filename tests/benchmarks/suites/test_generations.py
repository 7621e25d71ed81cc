import json
from dataclasses import replace

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.generations import change_between, run_generations
from coevo.benchmarks.suites.suite import Settings
from coevo.envs.core.errors import ConfigError

KUHN, HANABI = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0"
FIXED = {"random": "random", "oracle": "oracle"}
GROWING = {"a": ExpertAgent(0), "b": ExpertAgent(0.5), "c": ExpertAgent(1)}


def series(agents, env=KUHN, games=100, **kwargs):
    return run_generations(
        agents, env, Settings(games=games), ResultsFolder(None, "evaluation"), FIXED, **kwargs
    )


def test_a_growing_skill_is_seen():
    found = series(GROWING)
    values = [s.value for s in found.scores]
    assert values == sorted(values, reverse=True)  # exploitability: less is better
    assert found.change.better is True
    assert found.change.interval is None
    assert found.verdict.startswith("c is better than a (exploitability -0.45")
    assert found.returns_GC.shape == (3, 4)
    assert found.returns_GC[2, 1] > found.returns_GC[0, 1]  # against random in the second seat
    assert found.ancestry.score == np.nanmean(found.ancestry.previous)
    np.testing.assert_allclose(found.score_GG + found.score_GG.T, 1)
    paid = exact_payoffs(GROWING["c"], GROWING["a"], KUHN)  # between -2 and 2
    assert found.score_GG[2, 0] == pytest.approx(sum(paid) / 2 / 4 + 0.5)
    assert found.returns_GC[2, 0] == pytest.approx(
        exact_payoffs(GROWING["c"], RandomAgent(), KUHN)[0]
    )
    assert found.ancestry.lost_to.tolist()[1:] == [0, 0]
    table = found.to_dict()
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert set(table["percentiles"]) == {"10", "20", "50", "80"}
    assert len(table["dominates"]) == 3


class Played(Agent):
    """Gives no probabilities, so that it has to be played."""

    insider = True

    def __init__(self, inner):
        self.inner = inner

    def act(self, requests):
        return self.inner.act(requests)


def test_without_probabilities_generations_are_played():
    found = series({name: Played(agent) for name, agent in GROWING.items()}, games=60)
    played = evaluate(GROWING["c"], KUHN, GROWING["a"], games=60)
    assert found.score_GG[2, 0] == pytest.approx(played.value / 4 + 0.5)
    assert found.scores[0].metric == "return_vs_oracle"
    assert found.change.interval is not None


def test_a_shrinking_skill_is_called_worse():
    found = series(dict(reversed(GROWING.items())))
    assert found.change.better is False
    assert "a is worse than c" in found.verdict


def test_twins_are_not_separated():
    found = series({"x": RandomAgent(), "y": RandomAgent()})
    assert found.change.better is None
    assert found.verdict.startswith("no difference detected between x and y")
    assert found.table.dominates == (False, False)
    assert found.table.percentiles.tolist() == [[1.0] * 4] * 2


def test_cooperation_has_no_contest_and_is_compared_deal_by_deal():
    found = series(GROWING, HANABI)
    assert found.ancestry is found.score_GG is None
    assert found.change.better is True
    low, high = found.change.interval
    assert 0 < low < found.change.difference < high
    assert "ancestry" not in found.to_dict()


def measured(*deals, higher=True):
    return Measurement(
        env=KUHN, higher_is_better=higher, value=float(np.mean(deals)), task_scores=tuple(deals)
    )


def test_changes_are_paired_by_deal():
    first, last = measured(0.0, 10.0, 20.0, 30.0), measured(1.0, 11.1, 20.9, 31.0)
    found = change_between(first, last, ("a", "b"))
    assert found.difference == pytest.approx(1.0)
    assert found.better is True  # paired; the spread of the deals is ten times the difference
    assert change_between(last, first, ("b", "a")).better is False
    less = replace(first, higher_is_better=False), replace(last, higher_is_better=False)
    assert change_between(*less, ("a", "b")).better is False
    noise = measured(0.5, 9.0, 21.0, 30.0)
    assert change_between(first, noise, ("a", "b")).better is None
    with pytest.raises(ConfigError, match="different tasks"):
        change_between(first, measured(1.0, 2.0), ("a", "b"))
    with pytest.raises(ConfigError, match="no score"):
        change_between(Measurement(env=KUHN, failed="x"), last, ("a", "b"))


def test_a_killed_series_continues_and_ends_the_same(tmp_path):
    agents = {"a": ExpertAgent(0), "b": ExpertAgent(0.5)}
    settings = Settings(games=20)
    straight = run_generations(
        agents, KUHN, settings, ResultsFolder(None, "evaluation"), FIXED
    ).to_dict()
    done = []

    def stop(name):
        done.append(name)
        if len(done) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_generations(agents, KUHN, settings, ResultsFolder(tmp_path, "evaluation"), FIXED, stop)
    assert done == ["score-a", "score-b", "a-against-random", "a-against-oracle"]
    results = ResultsFolder(tmp_path, "evaluation")
    assert run_generations(agents, KUHN, settings, results, FIXED).to_dict() == straight


def test_a_series_needs_two_generations_and_an_opponent():
    with pytest.raises(ConfigError, match="got 1 generations"):
        series({"a": RandomAgent()})
    with pytest.raises(ConfigError, match="0 opponents"):
        run_generations(GROWING, KUHN, Settings(games=2), ResultsFolder(None, "evaluation"), {})
