import json
from dataclasses import replace

import numpy as np
import pytest

from coevo.agents import ExpertAgent, FixedTextAgent, OracleAgent, RandomAgent
from coevo.agents.agent import Agent
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites import suite as module
from coevo.benchmarks.suites.cost import Cost, foresee, timed
from coevo.benchmarks.suites.names import available, environments
from coevo.benchmarks.suites.suite import Settings, measure, run_suite
from coevo.benchmarks.suites.totals import totals
from coevo.envs import list_envs
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError

KUHN, HANABI, GOOFSPIEL = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0", "coevo/goofspiel-v0"
OPENSPIEL = "coevo/openspiel-v0"
THREE = [KUHN, HANABI, GOOFSPIEL]
SMALL = Settings(games=12, seed=3)
NOWHERE = ResultsFolder(None, "evaluation")


class Silent(Agent):
    """Plays at random and gives no probabilities."""

    name = "silent"

    def act(self, requests):
        return RandomAgent().act(requests)


# ---- Names -----------------------------------------------------------------------------------


def test_suites_are_what_is_registered():
    games = environments("games")
    assert games == [e.id for e in list_envs() if ".games." in e.module and e.id != OPENSPIEL]
    assert OPENSPIEL not in games  # any game at all is no fixed task
    assert set(available()) >= {"games", "dilemmas", "discussion", "search"}
    assert environments("all") == [e.id for e in list_envs()]


def test_the_suites_of_mars_are_pairs_of_what_is_trained_on_and_held_out():
    def ids(*names):
        return [f"coevo/{name}-v0" for name in names]

    assert environments("mars-train") == ids("kuhn_poker", "mini_hanabi", "tic_tac_toe")
    assert environments("mars-heldout") == ids("connect_four", "leduc_poker", "simple_hanabi")


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
    assert found.episodes == 12
    refused = measure(FixedTextAgent("no"), GOOFSPIEL, SMALL)
    assert refused.forfeit_rate == refused.unread_rate == 1


def test_agents_without_probabilities_play_the_oracle_instead():
    found = measure(Silent(), KUHN, SMALL)
    assert (found.metric, found.exact, found.opponent) == ("return_vs_oracle", False, "oracle")
    low, high = found.interval
    assert low < found.value < high
    assert found.normalised == pytest.approx((found.value + 0.14447) / 0.14447)
    assert found.normalised_interval[0] < found.normalised < found.normalised_interval[1]


def test_a_row_is_a_function_of_its_arguments_and_survives_a_file():
    first, again = (measure(ExpertAgent(0.5), GOOFSPIEL, SMALL) for _ in range(2))
    assert first == again
    assert Measurement.from_dict(json.loads(json.dumps(first.to_dict(), allow_nan=False))) == first
    other = measure(ExpertAgent(0.5), GOOFSPIEL, replace(SMALL, seed=4))
    assert other.task_scores != first.task_scores


def test_repeated_plays_are_part_of_a_row():
    plain = measure(RandomAgent(), GOOFSPIEL, SMALL)
    row = measure(RandomAgent(), GOOFSPIEL, replace(SMALL, samples=2))
    found = row.details["repeats"]
    assert (found["samples"], found["opponent"]) == (2, "random")
    assert 0 <= found["pass_at"]["1"]["value"] <= found["pass_at"]["2"]["value"] <= 1
    assert row.usage.replies == 2 * plain.usage.replies  # as many plays again
    assert (
        measure(OracleAgent(), HANABI, replace(SMALL, samples=2)).details["repeats"]["opponent"]
        is None
    )


def test_payoffs_alone_are_measured_for_agents_of_all_kinds():
    found = measure(RandomAgent(), KUHN, replace(SMALL, played=True))
    assert (found.metric, found.exact, found.opponent) == ("return_vs_oracle", False, "oracle")


def test_rows_do_not_depend_on_what_is_played_first():
    agent, ids = ExpertAgent(0.5), [KUHN, GOOFSPIEL]
    forwards, _ = run_suite(agent, ids, SMALL, NOWHERE)
    backwards, _ = run_suite(agent, ids, SMALL, NOWHERE, order=ids[::-1])
    assert forwards == backwards


# ---- What it takes ---------------------------------------------------------------------------


def test_the_cost_is_foreseen_from_random_play():
    costs = foresee(RandomAgent(), [KUHN, HANABI], SMALL)
    assert {env: cost.episodes for env, cost in costs.items()} == {KUHN: 12, HANABI: 12}
    assert costs[HANABI].replies == 24  # one from each seat, and both seats are the agent's
    assert costs[HANABI].read == costs[HANABI].fresh > 24 * 50  # one prompt is all that is read
    longer = foresee(RandomAgent(), [GOOFSPIEL], SMALL)[GOOFSPIEL]
    assert longer.fresh < longer.read / 2  # chats grow, and what they begin with is known
    whole = sum(costs.values(), Cost())
    assert (whole.episodes, whole.written(5)) == (24, 5 * whole.replies)
    twice = foresee(RandomAgent(), [HANABI], replace(SMALL, samples=2))[HANABI]
    assert twice.episodes == 24
    wrong = replace(SMALL, env_options={"prompt_stile": "terse"})
    assert foresee(RandomAgent(), [KUHN], wrong) == {KUHN: Cost()}


def test_an_episode_is_timed_where_it_is_cheapest():
    costs = foresee(RandomAgent(), [KUHN, "coevo/chess-v0"], replace(SMALL, games=2))
    pace = timed(RandomAgent(), costs, SMALL)
    assert pace.env == KUHN and pace.seconds > 0
    assert pace.left(Cost(fresh=3 * pace.work)) == pytest.approx(3 * pace.seconds)
    assert timed(RandomAgent(), {}, SMALL) is None


# ---- Totals ----------------------------------------------------------------------------------


def row(env, normalised, deals=None, **fields):
    return Measurement(
        env=env,
        exact=deals is None,
        value=normalised,
        normalised=normalised,
        references={"random": 0.0, "oracle": 1.0},
        task_scores=tuple(deals or ()),
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
        Measurement(env="b", value=3.0, source="no reference scores"),
        Measurement(env="c", failed="too long"),
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
    results = ResultsFolder(tmp_path / "out", "evaluation")
    rows, whole = run_suite(OracleAgent(), THREE[:2], SMALL, results)
    assert [r.env for r in rows] == THREE[:2]
    assert whole.mean.point == pytest.approx(1, abs=2e-3)
    assert whole.to_dict()["environments"] == 2
    assert len(list((tmp_path / "out" / "parts").iterdir())) == 2


def test_a_killed_suite_continues_and_ends_the_same(tmp_path, monkeypatch):
    agent = ExpertAgent(0.5)
    straight, whole = run_suite(agent, THREE, SMALL, NOWHERE)
    measured = []

    def killed(agent, env_id, settings):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(env_id)
        return measure(agent, env_id, settings)

    monkeypatch.setattr(module, "measure", killed)
    with pytest.raises(KeyboardInterrupt):
        run_suite(agent, THREE, SMALL, ResultsFolder(tmp_path, "evaluation"))
    assert measured == THREE[:2]
    measured.clear()
    rows, again = run_suite(agent, THREE, SMALL, ResultsFolder(tmp_path, "evaluation"))
    assert measured == THREE[2:]
    assert (rows, again) == (straight, whole)


def test_an_environment_that_does_not_suit_is_a_row_with_its_reason(tmp_path, monkeypatch):
    def unsuited(agent, env_id, settings):
        if env_id == KUHN:
            raise ConfigError("the prompt is too long")
        return measure(agent, env_id, settings)

    monkeypatch.setattr(module, "measure", unsuited)
    rows, whole = run_suite(
        OracleAgent(), [KUHN, HANABI], SMALL, ResultsFolder(tmp_path, "evaluation")
    )
    assert rows[0].failed == "the prompt is too long"
    assert whole.left_out == {KUHN: "the prompt is too long"}
    assert whole.mean.point == 1
    monkeypatch.undo()
    rows, _ = run_suite(OracleAgent(), [KUHN, HANABI], SMALL, ResultsFolder(tmp_path, "evaluation"))
    assert not rows[0].failed  # what failed is tried again


def test_errors_of_the_outside_end_a_suite(monkeypatch):
    def down(agent, env_id, settings):
        raise DataError("the disk is gone")

    monkeypatch.setattr(module, "measure", down)
    with pytest.raises(DataError):
        run_suite(OracleAgent(), [KUHN], SMALL, NOWHERE)
