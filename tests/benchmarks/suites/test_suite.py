import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from coevo.agents import FixedTextAgent, OracleAgent, RandomAgent, TutorAgent
from coevo.agents.agent import Agent
from coevo.benchmarks.suites import measure as module
from coevo.benchmarks.suites.measure import Measured, Settings, measure, sampling_of
from coevo.benchmarks.suites.names import available, environments
from coevo.benchmarks.suites.results import Results
from coevo.benchmarks.suites.suite import run_suite
from coevo.benchmarks.suites.totals import totals
from coevo.envs import list_envs
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError

KUHN, HANABI, GOOFSPIEL = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0", "coevo/goofspiel-v0"
THREE = [KUHN, HANABI, GOOFSPIEL]
SMALL = Settings(games=12, seed=3)


class Silent(Agent):
    """Plays at random and gives no probabilities."""

    name = "silent"

    def act(self, requests):
        return RandomAgent().act(requests)


# ---- Names -----------------------------------------------------------------------------------


def test_suites_are_what_is_registered():
    games = environments("games")
    assert games == [e.id for e in list_envs() if ".games." in e.module and e.suites is None]
    assert "coevo/openspiel-v0" not in games  # any game at all is no fixed task
    assert set(available()) >= {"games", "dilemmas", "discussion", "search"}


def test_a_suite_without_environments_says_what_there_is(monkeypatch):
    monkeypatch.setattr(
        "coevo.benchmarks.suites.names.available", lambda: {"games": [KUHN], "search": []}
    )
    with pytest.raises(ConfigError, match=r"'search' is registered yet.*games: coevo/kuhn_poker"):
        environments("search")
    with pytest.raises(UnknownNameError, match="did you mean 'search'"):
        environments("serch")


def test_an_environment_may_name_its_suites(monkeypatch):
    spec = list_envs()[0]
    assert replace(spec, suites=("games", "mine")).suite_names == ("games", "mine")
    assert replace(spec, module="coevo.envs.dilemmas.trust").suite_names == ("dilemmas",)
    assert replace(spec, module="alone").suite_names == ()


# ---- One environment -------------------------------------------------------------------------


def test_exact_metrics_are_accompanied_by_plays():
    found = measure(RandomAgent(), KUHN, SMALL)
    assert (found.metric, found.exact, found.opponent) == ("exploitability", True, "random")
    assert found.value == pytest.approx(11 / 24)
    assert found.normalised == pytest.approx(0, abs=1e-9)
    assert found.interval is None
    assert found.plays == 12
    refused = measure(FixedTextAgent("no"), GOOFSPIEL, SMALL)
    assert refused.forfeit_rate == refused.unparsed_rate == 1


def test_agents_without_probabilities_play_the_oracle_instead():
    found = measure(Silent(), KUHN, SMALL)
    assert (found.metric, found.exact, found.opponent) == ("return_vs_oracle", False, "oracle")
    low, high = found.interval
    assert low < found.value < high
    assert found.normalised == pytest.approx((found.value + 0.14447) / 0.14447)
    assert found.normalised_interval[0] < found.normalised < found.normalised_interval[1]


def test_a_row_is_a_function_of_its_arguments_and_survives_a_file():
    first, again = (measure(TutorAgent(0.5), GOOFSPIEL, SMALL) for _ in range(2))
    assert first == again
    assert Measured(**json.loads(json.dumps(asdict(first), allow_nan=False))) == first
    other = measure(TutorAgent(0.5), GOOFSPIEL, replace(SMALL, seed=4))
    assert other.deal_scores != first.deal_scores


def test_repeated_plays_are_part_of_a_row():
    plain = measure(RandomAgent(), GOOFSPIEL, SMALL)
    row = measure(RandomAgent(), GOOFSPIEL, replace(SMALL, samples=2))
    found = row.repeats
    assert (found["samples"], found["opponent"]) == (2, "random")
    assert 0 <= found["pass_at"]["1"]["value"] <= found["pass_at"]["2"]["value"] <= 1
    assert row.spending["replies"] == 2 * plain.spending["replies"]  # as many plays again
    assert measure(OracleAgent(), HANABI, replace(SMALL, samples=2)).repeats["opponent"] is None


def test_sampling_is_read_from_policies_and_servers():
    class Config:
        temperature, max_new_tokens = 0.5, 8

    class Server:
        temperature, max_tokens = None, 512

    agent = Silent()
    assert sampling_of(agent) == {}
    agent.sampling = Config
    assert sampling_of(agent) == {"temperature": 0.5, "max_new_tokens": 8}
    several = Silent()
    several.policies = {"player_0": agent}
    assert sampling_of(several) == sampling_of(agent)
    served = Silent()
    served.settings = Server
    assert sampling_of(served) == {"temperature": None, "max_new_tokens": 512}


# ---- Totals ----------------------------------------------------------------------------------


def row(env, normalised, deals=None, **fields):
    return Measured(
        env=env,
        exact=deals is None,
        value=normalised,
        normalised=normalised,
        references={"random": 0.0, "oracle": 1.0},
        deal_scores=deals or [],
        **fields,
    )


def test_totals_of_exact_scores_have_no_error():
    found = totals([row(e, v) for e, v in zip("abcde", (0, 1, 2, 3, 100), strict=True)], rng())
    assert (found.iqm.point, found.iqm.low, found.iqm.high) == (2, 2, 2)
    assert found.mean.point == pytest.approx(21.2)
    assert found.iqm.runs == 5


def rng():
    return np.random.default_rng(0)


def test_the_interval_of_the_mean_comes_from_the_deals():
    deals = list(np.random.default_rng(1).normal(0.5, 1.0, size=100))
    found = totals([row("a", float(np.mean(deals)), deals), row("b", 1.0)], rng())
    error = np.std(deals, ddof=1) / 10 / 2  # half of the mean is exact
    assert found.mean.high - found.mean.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert found.mean.low < found.mean.point < found.mean.high


def test_what_cannot_be_normalised_is_left_out_with_its_reason():
    rows = [
        row("a", 0.5),
        Measured(env="b", value=3.0, source="no reference scores"),
        Measured(env="c", failed="too long"),
    ]
    found = totals(rows, rng())
    assert found.left_out == {"b": "no reference scores", "c": "too long"}
    assert found.mean.point == 0.5
    json.dumps(found.to_dict(), allow_nan=False)
    nothing = totals(rows[1:], rng()).to_dict()
    assert nothing["iqm"] is None
    assert nothing["environments"] == 0


def test_one_deal_leaves_the_interval_open():
    found = totals([row("a", 0.5, [0.5]), row("b", 1.0)], rng()).to_dict()
    assert found["mean"] == 0.75
    assert found["mean_interval"] is None


# ---- The whole -------------------------------------------------------------------------------


def test_a_suite_is_one_row_per_environment(tmp_path):
    results = Results(tmp_path / "out", {"agent": "oracle"})
    rows, whole = run_suite(OracleAgent(), THREE[:2], SMALL, results)
    assert [r.env for r in rows] == THREE[:2]
    assert whole.mean.point == pytest.approx(1, abs=2e-3)
    kept = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert kept["kind"] == "evaluation"
    assert kept["environments"][KUHN] == asdict(rows[0])
    assert kept["total"]["environments"] == 2
    assert kept == results.whole


def test_a_killed_suite_continues_and_ends_the_same(tmp_path, monkeypatch):
    agent = TutorAgent(0.5)
    straight, whole = run_suite(agent, THREE, SMALL, Results(None, {}))
    measured = []

    def killed(agent, env_id, settings):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(env_id)
        return measure(agent, env_id, settings)

    monkeypatch.setattr(module, "measure", killed)
    with pytest.raises(KeyboardInterrupt):
        run_suite(agent, THREE, SMALL, Results(tmp_path, {"seed": 3}))
    assert measured == THREE[:2]
    assert not (tmp_path / "evaluation.json").exists()
    measured.clear()
    rows, again = run_suite(agent, THREE, SMALL, Results(tmp_path, {"seed": 3}))
    assert measured == THREE[2:]
    assert (rows, again) == (straight, whole)


def test_an_environment_that_does_not_suit_is_a_row_with_its_reason(tmp_path, monkeypatch):
    def unsuited(agent, env_id, settings):
        if env_id == KUHN:
            raise ConfigError("the prompt is too long")
        return measure(agent, env_id, settings)

    monkeypatch.setattr(module, "measure", unsuited)
    rows, whole = run_suite(OracleAgent(), [KUHN, HANABI], SMALL, Results(tmp_path, {}))
    assert rows[0].failed == "the prompt is too long"
    assert whole.left_out == {KUHN: "the prompt is too long"}
    assert whole.mean.point == 1
    monkeypatch.undo()
    rows, _ = run_suite(OracleAgent(), [KUHN, HANABI], SMALL, Results(tmp_path, {}))
    assert not rows[0].failed  # what failed is tried again


def test_errors_of_the_outside_end_a_suite(monkeypatch):
    def down(agent, env_id, settings):
        raise DataError("the disk is gone")

    monkeypatch.setattr(module, "measure", down)
    with pytest.raises(DataError):
        run_suite(OracleAgent(), [KUHN], SMALL, Results(None, {}))


def test_a_folder_takes_one_set_of_settings(tmp_path):
    Results(tmp_path / "a", {"seed": 1, "games": 4})
    Results(tmp_path / "a", {"seed": 1, "games": 4})
    with pytest.raises(ConfigError, match="seed=1, not 2"):
        Results(tmp_path / "a", {"seed": 2, "games": 4})
    with pytest.raises(ConfigError, match="was begun with games=4"):
        Results(tmp_path / "a", {"seed": 1})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").touch()
    with pytest.raises(ConfigError, match="holds something else"):
        Results(tmp_path / "b", {})
    (tmp_path / "a" / "parts" / "x.json").write_text("{ torn")
    with pytest.raises(DataError, match=r"x\.json"):
        Results(tmp_path / "a", {"seed": 1, "games": 4}).part("x", dict)
