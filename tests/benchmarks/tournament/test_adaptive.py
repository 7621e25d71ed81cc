"""Adaptive play: right, cheaper, and never beyond the limit of a pair."""

from collections import Counter

import pytest

from coevo.agents import RandomAgent
from coevo.benchmarks.statistics.response_graph import hoeffding
from coevo.benchmarks.tournament.adaptive import DELTA, OpenQuestions
from coevo.benchmarks.tournament.summary import adaptive, summarise
from tests.benchmarks.tournament.conftest import OPENSPIEL, ROCK_PAPER_SCISSORS, RPS, Broken

TTT = "coevo/tic_tac_toe-v0"


def test_clear_results_stop_early_and_ties_go_to_the_limit(hold):
    agents = ROCK_PAPER_SCISSORS | {"stone": ROCK_PAPER_SCISSORS["rock"]}
    held = hold(agents, env=OPENSPIEL, env_options=RPS, games=400, adaptive=True)
    played = Counter(p.pair for p in held.episodes)
    assert played.pop(("rock", "stone")) == 400
    assert set(played.values()) == {64}  # 16 tasks leave a half-width of 0.6, 32 one of 0.45
    found = summarise(held)["adaptive"]
    assert (found["episodes"], found["uniform"]) == (400 + 5 * 64, 6 * 400)
    assert (found["questions"], found["resolved"]) == (6, 5)
    assert found["open"] == [[[["rock", "stone"], "rock", 0], [["rock", "stone"], "stone", 0]]]
    assert "720 episodes instead of 2400" in " ".join(summarise(held)["headline"])


def test_what_is_resolved_is_right(hold):
    for seed in range(5):
        held = hold(
            ("random", "oracle", "first_legal"), env=TTT, games=120, seed=seed, adaptive=True
        )
        open_ = [q.left.pair for q in held.open_questions.open(held.pairings)]
        for better, worse in (("oracle", "random"), ("oracle", "first_legal")):
            pair = (min(better, worse), max(better, worse))
            lead = held.pairings[pair].mean_margin
            assert pair in open_ or (lead > 0) == (pair[0] == better)


def test_a_resolved_lead_is_beyond_its_bound(hold):
    held = hold(("random", "oracle", "first_legal"), env=TTT, games=200, adaptive=True)
    wanted = held.open_questions
    for question in wanted.questions():
        met = held.pairings[question.left.pair]
        share = 0.5 + met.mean_margin / 2  # payoffs are between -1 and 1
        low, high = hoeffding(share, met.tasks, 3, DELTA)
        assert wanted.known(question, held.pairings) == (low > 0.5 or high < 0.5)


def test_without_a_contest_profiles_of_seats_are_compared(hold):
    held = hold(("random", "oracle"), env="coevo/tiny_hanabi-v0", games=400, adaptive=True)
    wanted = held.open_questions
    assert len(wanted.questions()) == 4
    cells = {(q.left.pair, q.left.first, q.left.role) for q in wanted.questions()}
    assert (("oracle", "oracle"), "oracle", 0) in cells
    known = [q for q in wanted.questions() if wanted.known(q, held.pairings)]
    for q in known:  # the oracle's partner does better by playing as the oracle
        means = [held.pairings[c.pair].mean_roles[c.first, c.role] for c in q]
        assert abs(means[0] - means[1]) > 1
    assert known
    assert adaptive(held)["episodes"] <= adaptive(held)["uniform"]


def test_the_next_pair_is_the_least_played_one_that_is_needed(hold):
    held = hold(ROCK_PAPER_SCISSORS, env=OPENSPIEL, env_options=RPS, games=8)
    strict = OpenQuestions(("paper", "rock", "scissors"), True, (-1.0, 1.0), delta=1e-9)
    met = held.pairings
    assert len(strict.open(met)) == 3
    assert strict.next_pair(met, set()) == ("paper", "rock")
    assert strict.next_pair(met, {("paper", "rock")}) == ("paper", "scissors")
    assert strict.next_pair(met, set(met)) is None
    enough = hold(ROCK_PAPER_SCISSORS, env=OPENSPIEL, env_options=RPS, games=64)
    assert enough.open_questions.next_pair(enough.pairings, set()) is None


def test_an_agent_that_fails_does_not_keep_the_others_waiting(hold):
    held = hold(
        {"broken": Broken(), "a": RandomAgent(), "b": RandomAgent()}, games=96, adaptive=True
    )
    played = Counter(p.pair for p in held.episodes)
    assert played == {("a", "b"): 96, ("a", "broken"): 32, ("b", "broken"): 32}


@pytest.mark.parametrize("games", [2, 50])
def test_no_pair_plays_more_than_it_may(hold, games):
    held = hold(("random", "oracle", "first_legal"), games=games, adaptive=True)
    assert max(Counter(p.pair for p in held.episodes).values()) == games
