"""Numbers about plays, from plays that are written out."""

import math

import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.trainers.collect.metrics import lead, rollout_metrics

GOOFSPIEL, HANABI, OPENSPIEL = (
    f"coevo/{name}-v0" for name in ("goofspiel", "tiny_hanabi", "openspiel")
)


def play(*payoffs, env=GOOFSPIEL, illegal=(), offenders=(), stop=StopReason.FINISHED):
    seats = tuple(f"player_{i}" for i in range(len(payoffs)))
    turns = [Turn(s, (), "", "1", Status.LEGAL, ("1",)) for s in seats]
    for turn in turns:
        if turn.agent in offenders:
            turn.move, turn.status = None, Status.ILLEGAL
    turns[-1].pay("payoff", dict(zip(seats, payoffs, strict=True)))
    if illegal:
        turns[-1].pay("illegal", dict(zip(seats, illegal, strict=True)))
    return Episode(env, 0, {}, seats, turns=turns, stop=stop)


def wins(*episodes):
    metrics = rollout_metrics(episodes[0].agents, episodes)
    return [metrics.get(f"win_rate/{seat}") for seat in episodes[0].agents]


def test_a_win_is_the_single_highest_payoff_whatever_its_sign():
    assert wins(play(1, -1), play(-1, 1), play(1, -1), play(0, 0)) == [0.5, 0.25]
    assert wins(play(7, 5)) == [1, 0], "both are paid more than 0, one has won"
    assert wins(play(-3, -2)) == [0, 1], "both are paid less than 0, one has won"
    assert wins(play(2, 2 + 1e-12)) == [0, 0], "sums of floats differ in the last place"
    assert wins(play(1, 1, -2), play(-1, 2, -1)) == [0, 0.5, 0]


def test_generic_games_have_winners_and_partners_have_none():
    assert wins(play(1, -1, env=OPENSPIEL)) == [1, 0]
    assert wins(play(10, 10, env=HANABI)) == [None, None]
    assert wins(play(1)) == [None], "alone nobody wins"


def test_whoever_forfeits_is_behind_whatever_was_paid():
    ended = play(0, 0, illegal=(-1, 1), offenders=["player_0"], stop=StopReason.FORFEIT)
    assert wins(ended) == [0, 1]
    ahead = play(5, 0, illegal=(-1, 0), offenders=["player_0"], stop=StopReason.FORFEIT)
    assert wins(ahead) == [0, 1]
    assert lead(ahead, "player_0") == -math.inf
    three = play(0, 0, 0, illegal=(1, -1, 1), offenders=["player_1"], stop=StopReason.FORFEIT)
    assert wins(three) == [0, 0, 0], "the two others share the highest score"


def test_charges_for_replaced_moves_do_not_decide_a_game():
    assert wins(play(0, 0, illegal=(-0.1, 0), offenders=["player_0"])) == [0, 0]


def test_the_rest_of_the_summary():
    forfeited = play(0, 0, illegal=(-1, 1), offenders=["player_0"], stop=StopReason.FORFEIT)
    metrics = rollout_metrics(("player_0", "player_1"), [play(1, -1), forfeited])
    assert metrics["return/player_0"] == 0.0
    assert metrics["illegal_rate/player_0"] == 0.5
    assert metrics["illegal_rate/player_1"] == 0
    assert metrics["forfeit_rate"] == metrics["stop/forfeit"] == metrics["stop/finished"] == 0.5
    assert metrics["turns"] == 2
    assert metrics["reward/illegal"] == pytest.approx(0)


def test_who_was_asked_how_often_and_what_could_be_read():
    one, two = play(1, -1), play(1, -1)
    one.turns.append(Turn("player_0", (), "", None, Status.UNPARSABLE, ("1",), role="judge"))
    one.turns[0].role, one.turns[0].token_ids = "player", [1, 2, 3]
    two.turns[0].token_ids = [1]
    two.turns[1].status = Status.UNPARSABLE
    metrics = rollout_metrics(("player_0", "player_1"), [one, two])
    assert metrics["invocation/player_0"] == pytest.approx(3 / 5)
    assert metrics["invocation/player_1"] == pytest.approx(2 / 5)
    assert metrics["parse_fail/player_0"] == pytest.approx(1 / 3)
    assert metrics["parse_fail/player_1"] == pytest.approx(1 / 2)
    assert metrics["invocation/judge"] == pytest.approx(1 / 5)
    assert metrics["parse_fail/judge"] == 1
    assert metrics["reply_tokens/player_0"] == 2
    assert not {"invocation/player", "reply_tokens/player_1"} & metrics.keys()


def test_a_reply_in_the_right_form_is_no_failure_to_parse():
    metrics = rollout_metrics(("player_0", "player_1"), [play(0, 0, offenders=["player_1"])])
    assert metrics["illegal_rate/player_1"] == 1 and metrics["parse_fail/player_1"] == 0
