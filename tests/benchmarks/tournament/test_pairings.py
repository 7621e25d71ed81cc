"""Deals as the unit of everything: their values, and intervals that hold what they promise."""

import numpy as np
import pytest

from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.benchmarks.tournament.pairings import cross_play, mean_interval, points_interval
from tests.benchmarks.tournament.conftest import OPENSPIEL, ROCK_PAPER_SCISSORS, RPS


def test_values_of_a_pair_are_those_of_its_plays(hold):
    met = hold(("random", "oracle"), games=30).pairings["oracle", "random"]
    of_oracle = [
        p.payoffs[next(s for s in p.seats if p.seats[s] == "oracle")] for p in met.episodes
    ]
    by_task = np.reshape(of_oracle, (15, 2)).mean(1)
    assert met.per_task("oracle") == pytest.approx(by_task)
    assert met.margin() == pytest.approx(by_task)  # zero-sum: half the difference is the payoff
    assert met.per_task("random") == pytest.approx(-by_task)
    assert met.points() == pytest.approx(
        np.reshape([p.result["oracle"] for p in met.episodes], (15, 2)).mean(1)
    )
    first = [p.payoffs["player_0"] for p in met.episodes if p.seats["player_0"] == "oracle"]
    assert met.role("oracle", 0) == pytest.approx(first)
    assert met.role("oracle", 1) == pytest.approx(-np.array(first))
    assert met.mean_roles["random", 1] == pytest.approx(
        np.mean([p.payoffs["player_1"] for p in met.episodes if p.seats["player_1"] == "oracle"])
    )


def test_the_rating_functions_get_the_same_games(hold):
    held = hold(("random", "oracle", "first_legal"), games=30)
    games = cross_play(held.pairings, held.plan.agents)
    assert isinstance(games, CrossPlay)
    assert len(games.games) == 90
    tally = games.tally()
    for (one, two), met in held.pairings.items():
        i, j = games.agents.index(one), games.agents.index(two)
        assert tally.win_rate[i, j] == pytest.approx(met.points().mean())
        assert tally.payoff[i, j] == pytest.approx(met.per_task(one).mean())
        assert tally.payoff[j, i] == pytest.approx(met.per_task(two).mean())
        assert tally.wins[i, j] == pytest.approx(sum(p.result[one] for p in met.episodes))


def test_self_play_and_cross_play_fill_the_tables_of_two_roles(hold):
    held = hold(("random", "oracle"), env="coevo/tiny_hanabi-v0", games=20)
    tally = cross_play(held.pairings, held.plan.agents).tally()
    first, second = tally.role_payoffs
    assert np.isfinite(first).all()
    assert first == pytest.approx(second)  # partners are paid the same
    assert first[0, 0] == 10  # the oracle with itself
    assert first[0, 1] == pytest.approx(held.pairings["oracle", "random"].role("oracle", 0).mean())


def test_copies_of_the_other_agent_are_averaged(hold):
    options = {"game": "kuhn_poker(players=3)"}
    held = hold(("random", "first_legal"), env=OPENSPIEL, env_options=options, games=12)
    met = held.pairings["first_legal", "random"]
    assert met.tasks == 2
    assert len(met.games()) == 12
    for game, play in zip(met.games(), met.episodes, strict=True):
        alone = next(n for n in play.pair if list(play.seats.values()).count(n) == 1)
        assert game.first == alone
        assert game.payoffs == (play.mean_payoff(alone), play.mean_payoff(game.second))
        assert game.payoffs[0] == pytest.approx(-2 * game.payoffs[1])


def test_draws_only_leave_a_little_doubt(hold):
    same = {"rock": ROCK_PAPER_SCISSORS["rock"], "stone": ROCK_PAPER_SCISSORS["rock"]}
    met = hold(same, env=OPENSPIEL, env_options=RPS, games=40).pairings["rock", "stone"]
    found = points_interval(met.points())
    assert found.point == 0.5
    assert 0.4 < found.low < 0.5 < found.high < 0.6
    assert mean_interval(met.margin()).low == mean_interval(met.margin()).high == 0


DRAWS = {
    "independent, even": lambda rng, d: ((rng.random((d, 2)) < 0.5).mean(1), 0.5),
    "independent, strong": lambda rng, d: ((rng.random((d, 2)) < 0.98).mean(1), 0.98),
    "the task decides": lambda rng, d: ((rng.random(d) < 0.9) * 1.0, 0.9),
    "seats cancel": lambda rng, d: (np.where(rng.random(d) < 0.04, 1.0, 0.5), 0.52),
}


@pytest.mark.parametrize("tasks", [16, 64, 200])
@pytest.mark.parametrize("kind", DRAWS)
def test_intervals_of_points_hold_the_truth(kind, tasks):
    rng, held = np.random.default_rng(tasks), 0
    for _ in range(1000):
        values, truth = DRAWS[kind](rng, tasks)
        found = points_interval(values)
        assert found.low <= found.point <= found.high
        held += found.low - 1e-9 <= truth <= found.high + 1e-9
    assert held / 1000 > 0.925  # 93.5 % in the long run, less 1.3 standard errors


def test_one_task_has_no_interval_of_the_mean():
    assert np.isnan(mean_interval(np.ones(1)).low)
    assert points_interval(np.ones(1)).low < 0.5
