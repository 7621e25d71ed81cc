import math

import pytest

from coevo.benchmarks.measurement import of_outcomes
from coevo.benchmarks.outcomes import SeatOutcome, outcomes
from coevo.benchmarks.statistics.standard_errors import clustered_error
from coevo.envs import make
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status

SEATS = ("player_0", "player_1")


def finished(stop=StopReason.FINISHED, **components):
    turn = Turn("player_1", (), "", None, Status.LEGAL, ("a",))
    for name, (first, second) in components.items():
        turn.pay(name, dict(zip(SEATS, (first, second), strict=True)))
    return Episode("coevo/kuhn_poker-v0", 0, {}, SEATS, turns=[turn], stop=stop)


def row(episode, seat="player_0"):
    players = {s: "agent" if s == seat else "opponent" for s in SEATS}
    return next(outcomes(make("coevo/kuhn_poker-v0"), episode, 0, players, "agent"))


def test_clustered_error_of_the_worked_example():
    x = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0]
    assert clustered_error(x, [i // 3 for i in range(12)]) == pytest.approx(0.2151657, abs=1e-7)
    assert clustered_error(x, range(12)) == pytest.approx(0.1507557, abs=1e-7)  # s / sqrt(n)
    assert math.isnan(clustered_error(x, [0] * 12))


def test_mirrored_deals_that_cancel_leave_no_error():
    assert clustered_error([1, -1, 2, -2], [0, 0, 1, 1]) == 0


def test_shaping_does_not_count():
    assert row(finished(payoff=(1, -1), format=(-5, 5))).score == 1


@pytest.mark.parametrize(("payoffs", "result"), [((2, -2), 1), ((0, 0), 0), ((-1, 1), -1)])
def test_results_compare_scores(payoffs, result):
    assert row(finished(payoff=payoffs)).result == result


def test_rounding_is_no_win():
    assert row(finished(payoff=(0.1 + 0.2, 0.3))).result == 0


def test_a_forfeit_is_a_loss_for_the_offender_within_the_payoff_range():
    episode = finished(StopReason.FORFEIT, payoff=(0, 0), illegal=(0, -11))
    offender = row(episode, "player_1")
    assert (offender.score, offender.result, offender.forfeited) == (-2, -1, True)
    other = row(episode, "player_0")
    assert (other.score, other.result, other.forfeited) == (0, 1, False)


GOOFSPIEL = "coevo/goofspiel-v0"


@pytest.mark.parametrize(
    ("replies", "results", "scores"),
    [
        (("no", "[1]"), (-1, 1), (-1, 0)),
        (("[1]", "no"), (1, -1), (0, -1)),
        (("no", "no"), (0, 0), (-1, -1)),
    ],
)
def test_forfeits_of_seats_that_move_at_once(replies, results, scores):
    env = make(GOOFSPIEL, illegal="forfeit")
    env.reset(seed=0)
    for reply in replies:
        env.step(reply)
    rows = [next(outcomes(env, env.episode, 0, {s: "agent"}, "agent")) for s in SEATS]
    assert tuple(r.result for r in rows) == results
    assert tuple(r.score for r in rows) == scores
    assert tuple(r.forfeited for r in rows) == tuple(said == "no" for said in replies)


def test_a_forfeit_that_pays_is_still_a_loss():
    assert row(finished(StopReason.FORFEIT, illegal=(0, 1.5)), "player_1").result == -1


def test_a_penalty_without_a_forfeit_does_not_count():
    assert row(finished(payoff=(1, -1), illegal=(-0.1, 0))).score == 1


def test_rates_add_up_and_need_a_contest():
    rows = [row(finished(payoff=p)) for p in ((1, -1), (1, -1), (0, 0), (-2, 2))]
    summary = of_outcomes(rows, contest=True)
    assert (summary.win_rate, summary.draw_rate, summary.loss_rate) == (0.5, 0.25, 0.25)
    assert summary.score == 0.625
    assert summary.value == 0
    assert summary.interval is None  # one deal only
    two = [SeatOutcome(deal, "player_0", s, 1, False, 1, 0) for deal, s in ((0, 1.0), (1, 3.0))]
    low, high = of_outcomes(two, contest=True).interval  # t of 1 degree of freedom: 12.7062
    assert (low, high) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-3)
    assert of_outcomes(rows, contest=False).score is None


def test_replies_that_nothing_was_read_of_are_counted():
    episode = finished(payoff=(0, 0))
    episode.turns += [
        Turn(
            "player_0",
            (),
            "(bet)",
            None,
            Status.UNPARSABLE,
            ("bet",),
            notes={"miss": "other brackets"},
        ),
        Turn("player_0", (), "I agree", None, Status.LEGAL, ()),
        Turn("player_0", (), "[bet]", "bet", Status.LEGAL, ("bet",)),
        Turn("player_0", (), "", None, Status.UNPARSABLE, ("bet",), notes={"miss": "empty"}),
    ]
    found = of_outcomes([row(episode)], contest=True)
    assert (found.unread_rate, found.near_miss_rate, found.illegal_rate) == (2 / 4, 1 / 4, 2 / 4)
