import json

import pytest

from coevo.agents import FirstLegalAgent, FixedTextAgent, OracleAgent, RandomAgent
from coevo.benchmarks.outcomes import is_contest, is_solved
from coevo.benchmarks.repeats import RepeatedStart, Repeats, repeat
from coevo.envs import make
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError

KUHN, HANABI = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0"


def questions(*solved, answers=None, deals=None):
    return tuple(
        RepeatedStart(
            deals[i] if deals else i,
            "player_0",
            tuple(map(bool, s)),
            answers[i] if answers else (None,) * len(s),
        )
        for i, s in enumerate(solved)
    )


def test_estimates_of_a_worked_example_are_averaged_over_questions():
    ten = Repeats(10, questions([1] * 3 + [0] * 7, [0] * 10))
    assert ten.pass_at(5).interval.point == pytest.approx(0.9166667 / 2, abs=1e-7)
    assert ten.pass_hat(1).interval.point == pytest.approx(0.15)
    assert ten.average().interval.point == pytest.approx(0.15)
    assert ten.ks == [1, 2, 4, 8, 10]


def test_pooling_over_questions_would_say_something_else():
    two = Repeats(2, questions([1, 1], [0, 0]))
    assert two.pass_at(2).interval.point == 0.5  # pooled: 2 of 4 correct give 1 - 1/6


def test_questions_of_one_deal_err_together():
    alone = Repeats(1, questions([1], [1], [0], [0]))
    together = Repeats(1, questions([1], [1], [0], [0], deals=[0, 0, 1, 1]))
    assert together.pass_at(1).error > 1.2 * alone.pass_at(1).error
    assert together.pass_at(1).interval.runs == 2


def test_too_few_finished_plays_leave_a_question_unscored():
    short = Repeats(2, questions([1, 0], [1]))
    assert short.pass_at(2).unscored == 1
    assert Repeats(2, questions([1, 0], [])).average().unscored == 1


def test_votes_count_answers_where_there_are_any():
    answers = [("7", "7", "3"), ("a", "b", "c")]
    found = Repeats(3, questions([1, 1, 0], [0, 0, 0], answers=answers))
    assert found.majority(3).interval.point == pytest.approx(0.5)  # 1 and 0
    assert found.majority(1).interval.point == pytest.approx((2 / 3) / 2)
    assert Repeats(1, questions([1])).majority(1) is None
    spelled = Repeats(3, questions([1, 1, 0], answers=[("0.5", "1/2", "x")]))
    assert spelled.majority(3).interval.point == 1


def test_random_play_wins_some_plays_of_a_start():
    found = repeat(RandomAgent(), KUHN, FirstLegalAgent(), samples=4, games=64, seed=1)
    assert len(found.questions) == 16
    assert {q.seat for q in found.questions} == {"player_0", "player_1"}
    assert any(0 < sum(q.solved) < 4 for q in found.questions)
    values = [found.pass_at(k).interval.point for k in (1, 2, 4)]
    assert values == sorted(values)
    assert [found.pass_hat(k).interval.point for k in (4, 2, 1)] == sorted(
        found.pass_hat(k).interval.point for k in (1, 2, 4)
    )
    assert found.pass_at(1).interval.point == pytest.approx(found.average().interval.point)
    again = repeat(RandomAgent(), KUHN, FirstLegalAgent(), samples=4, games=64, seed=1)
    assert again == found


def test_all_plays_of_a_start_have_its_deal_and_differ_otherwise():
    found = repeat(FirstLegalAgent(), KUHN, FirstLegalAgent(), samples=3, games=30)
    # nobody draws anything here, so the plays of one deal are alike
    assert all(len(set(q.solved)) == 1 for q in found.questions)


def test_cooperation_is_solved_at_the_optimum():
    assert not is_contest(make(HANABI))
    best = repeat(OracleAgent(), HANABI, None, samples=2, games=8)
    assert [q.seat for q in best.questions] == [""] * 4
    assert best.average().interval.point == 1
    assert repeat(RandomAgent(), HANABI, None, samples=2, games=40).average().interval.point < 0.6
    with pytest.raises(ConfigError, match="contest"):
        repeat(RandomAgent(), KUHN, None, samples=2)


def test_an_outcome_may_say_what_success_is():
    episode = Episode(KUHN, 0, {}, ("player_0", "player_1"), stop=StopReason.FINISHED)
    players = {"player_0": "agent", "player_1": "opponent"}
    for said in (True, False):
        episode.outcome = {"success": float(said)}
        assert is_solved(make(KUHN), episode, "player_0", players) is said


def test_forfeits_are_not_solved_and_results_are_json():
    found = repeat(FixedTextAgent("no"), KUHN, "random", samples=2, games=8)
    table = found.to_dict()
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert table["avg"]["value"] == 0
    assert table["maj_at"] == {}
    assert table["questions"] == 4
    assert table["opponent"] == "random"
    assert found.usage.replies == 16  # each is asked once more
