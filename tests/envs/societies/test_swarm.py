"""Swarms against their exact oracle, for few agents and many."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.societies.swarm import MOVES, SwarmConfig, expected

ID, EVEN = "coevo/swarm-v0", [1 / 3, 1 / 3, 1 / 3]


def task_of(seed, **options):
    found = make(ID, **options).task
    found.reset(np.random.default_rng(seed), {})
    return found


def played(odds_XA, games, **options):
    """Return what all seats earn on average, game by game."""
    found, rng = make(ID, **options).task, np.random.default_rng(7)
    earned = []
    for seed in range(games):
        found.reset(np.random.default_rng(seed), {})
        while seats := found.to_move():
            at = np.asarray(found.at)
            drawn = (rng.random(len(at))[:, None] > np.cumsum(odds_XA[at], axis=1)).sum(1)
            found.play({seat: MOVES[min(i, 2)] for seat, i in zip(seats, drawn, strict=True)})
        earned.append(np.mean(list(found.earned.values())))
    return np.array(earned)


@pytest.mark.parametrize(("agents", "worth"), [(0, -0.125), (10, -0.2125), (100, -0.13375)])
def test_even_sites_pay_what_they_do_by_hand(agents, worth):
    config = SwarmConfig(sites=8, rounds=1)
    assert expected(config, EVEN, agents) == pytest.approx(worth)
    assert expected(replace(config, kind="gather"), EVEN, agents) == pytest.approx(-worth)
    assert expected(replace(config, kind="beach"), EVEN, agents) == pytest.approx(worth - 2)


@pytest.mark.parametrize("kind", ["spread", "gather", "beach"])
@pytest.mark.parametrize(("agents", "games"), [(2, 600), (10, 300), (100, 60)])
def test_games_earn_what_is_expected(agents, games, kind):
    """Within three standard errors, by a policy that goes to site 0 and gathers there."""
    odds_XA = np.array([[0.2, 0.6, 0.2], *[[0.7, 0.2, 0.1]] * 3, *[[0.1, 0.2, 0.7]] * 3])
    options = {"agents": agents, "sites": 7, "rounds": 6, "kind": kind}
    earned = played(odds_XA, games, **options)
    error = earned.std(ddof=1) / np.sqrt(games)
    assert abs(earned.mean() - expected(SwarmConfig(**options), odds_XA)) < 3 * error


def test_the_gap_to_a_swarm_without_end_is_one_over_the_number_of_agents():
    config = SwarmConfig(kind="gather")
    gap = [expected(config, EVEN, n) - expected(config, EVEN, 0) for n in (5, 10, 50)]
    assert gap[0] / gap[1] == pytest.approx(2) and gap[0] / gap[2] == pytest.approx(10)


def test_others_are_seen_and_not_oneself():
    found = task_of(0, agents=4, sites=5, levels=3, noise=0, slip=0)
    found.at[:] = [0, 0, 4, 2]
    found.seen = found._looked(np.random.default_rng(0))
    assert found.seen.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert "1 left, 1 here, 0 right" in found.terse("player_0")
    assert "0 left, 0 here, 2 or more right" in found.situation("player_2")
    assert found.array("player_2").tolist() == [0, 0, 0, 0, 1, 0, 0, 1]
    paid = found.play({"player_0": "left", **dict.fromkeys(found.seats[1:], "stay")})
    assert found.at.tolist() == [4, 0, 4, 2]
    assert paid == dict.fromkeys(found.seats, -(0.25 + 2 / 16))


def test_a_slip_makes_any_move():
    found = task_of(1, agents=300, sites=9, slip=1.0)
    before = found.at.copy()
    found.play(dict.fromkeys(found.seats, "left"))
    steps = (found.at - before + 1) % 9 - 1
    assert np.bincount(steps + 1, minlength=3).min() > 70
