"""Verdicts, cycles and who can be rated."""

import numpy as np
import pytest

from coevo.agents import RandomAgent
from coevo.benchmarks.statistics.paired import sign_flip
from coevo.benchmarks.statistics.verdicts import holm
from coevo.benchmarks.tournament import sentences
from coevo.benchmarks.tournament.cycles import cycles, groups
from coevo.benchmarks.tournament.results import points_tell_all, rateable, results
from coevo.benchmarks.tournament.summary import summarise
from tests.benchmarks.tournament.conftest import OPENSPIEL, ROCK_PAPER_SCISSORS, RPS, Broken


def rng():
    return np.random.default_rng(0)


def test_tests_are_corrected_for_all_pairs(hold):
    met = hold(("random", "oracle", "first_legal"), games=30).pairings
    found = results(met, rng())
    assert [(r.first, r.second) for r in found] == sorted(met)
    assert [r.p for r in found] == [sign_flip(met[r.first, r.second].margin()) for r in found]
    assert [r.p_adjusted for r in found] == pytest.approx(holm([r.p for r in found]))
    for r in found:
        assert r.separated == (r.p_adjusted <= 0.05)
        assert r.better in ((r.first, r.second) if r.separated else (None,))
        assert sum(r.rates) == pytest.approx(1)
        assert r.rates[0] + r.rates[1] / 2 == pytest.approx(r.points.point)


def test_a_circle_is_said_in_words(hold):
    held = hold(ROCK_PAPER_SCISSORS, env=OPENSPIEL, env_options=RPS, games=40)
    found = summarise(held)
    assert found["headline"][:2] == [
        "Every agent is beaten by another one.",
        "A cycle: paper beats rock, rock beats scissors, scissors beats paper. "
        "One number per agent cannot express it.",
    ]
    elo = found["ratings"]["bradley_terry"]
    assert {round(a["rating"], 6) for a in elo["agents"].values()} == {0}
    assert elo["residual"] == pytest.approx(0.5)
    nash = found["ratings"]["nash_averaging"]["margin"]
    assert [own["weight"] for own in nash.values()] == pytest.approx([1 / 3] * 3, abs=1e-4)
    shares = found["ratings"]["alpha_rank"]["limit"]
    assert [own["share"] for own in shares.values()] == pytest.approx([1 / 3] * 3)
    assert {v["better"] for v in found["results"]} == set(ROCK_PAPER_SCISSORS)


def test_too_few_tasks_separate_nobody(hold):
    held = hold(ROCK_PAPER_SCISSORS, env=OPENSPIEL, env_options=RPS, games=8)
    found = summarise(held)
    assert all(v["p"] == 0.125 and not v["separated"] for v in found["results"])
    assert all("are not separated" in v["text"] for v in found["results"])
    assert found["headline"][0] == "No agent is shown to be better than another."
    assert found["headline"][1].startswith("Perhaps a cycle, not shown: paper beats rock")


def test_equals_are_not_separated(hold):
    false = 0
    for seed in range(20):
        held = hold({"a": RandomAgent(), "b": RandomAgent()}, games=60, seed=seed)
        false += results(held.pairings, rng())[0].separated
    assert false <= 3  # 1 in 20 on average


def test_who_earns_more_beats_who_wins_more(hold):
    """In poker the share of plays won says little: the verdict is about what they pay."""
    found = summarise(hold(("random", "oracle"), games=600))
    verdict = found["results"][0]
    assert not found["only_points"]
    assert verdict["better"] == "oracle"
    low, point, high = verdict["margin"]
    assert 0 < low < point < high
    assert verdict["text"].startswith("oracle beats random: ")
    assert f"{point:+.3f} [{low:+.3f}, {high:+.3f}] an episode" in verdict["text"]
    assert "whatever was at stake" in " ".join(found["headline"])


def test_points_say_all_where_only_winning_counts(hold):
    held = hold(("random", "oracle", "first_legal"), env="coevo/tic_tac_toe-v0", games=20)
    assert points_tell_all(results(held.pairings, rng()), held.pairings)
    assert "an episode" not in summarise(held)["results"][0]["text"]
    kuhn = hold(("random", "oracle"), games=40)
    assert not points_tell_all(results(kuhn.pairings, rng()), kuhn.pairings)


def test_partners_are_paid_alike(hold):
    found = summarise(hold(("random", "oracle"), env="coevo/tiny_hanabi-v0", games=20))
    assert "oracle and random are paid alike: +" in found["results"][0]["text"]
    assert found["headline"][0].startswith("With itself an agent earns ")
    assert found["headline"][1].startswith("alpha-Rank for infinite alpha: oracle 0.9")
    assert set(found["ratings"]) == {"alpha_rank"}
    assert found["matrix"]["mean_return"][0][0][1] == 10


def test_the_silent_one_is_left_out_and_nobody_else(hold):
    agents = {"broken": Broken(), "a": RandomAgent(), "b": RandomAgent(), "c": RandomAgent()}
    assert rateable(list(agents), hold(agents, games=4).pairings) == (["a", "b", "c"], ["broken"])


# ---- Circles ---------------------------------------------------------------------------------


def test_the_shortest_circle_of_a_group_is_given():
    beats = {"a": ["b"], "b": ["c", "d"], "c": ["d"], "d": ["a"], "e": ["a", "b", "c", "d"]}
    assert groups(beats) == [["a", "b", "c", "d"], ["e"]]
    assert cycles(beats) == [["a", "b", "d"]]


def test_an_order_has_no_circle():
    assert cycles({"a": ["b", "c"], "b": ["c"], "c": []}) == []
    assert groups({"a": ["b"], "b": []}) == [["a"], ["b"]]


def test_two_groups_have_a_circle_each():
    ring = {"a": "b", "b": "c", "c": "a", "x": "y", "y": "z", "z": "x"}
    assert cycles(ring) == [["a", "b", "c"], ["x", "y", "z"]]


# ---- Words -----------------------------------------------------------------------------------


def test_leaders_are_those_whom_nobody_is_shown_to_beat(hold):
    met = hold(("random", "oracle", "first_legal"), env="coevo/tic_tac_toe-v0", games=60).pairings
    found = results(met, rng())
    names = ["random", "oracle", "first_legal"]
    assert sentences.leader(names, found) == "oracle beats every other agent."
    without = [r for r in found if "oracle" not in (r.first, r.second)]
    assert sentences.leader(names, without).startswith("No agent is shown to beat ")
