"""Auctions: truth is best at the second price and in the open form, whatever others do."""

import itertools

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.societies.auction import references

ID = "coevo/auction-v0"


def sold(bids, value, lot, **options):
    """Return what player_0 is paid; in the open form a bid is the last price at which it stays."""
    env = make(ID, players=len(bids), top=4, talk=False, **options)
    env.reset(seed=0)
    env.task.values[0]["player_0"] = value
    env.task.lots[0] = [f"player_{i}" for i in lot]
    while env.awaiting:
        own = bids[int(env.agent_selection[-1])]
        stays = "stay" if env.task.phase == "price" and own >= env.task.price else "leave"
        env.step(answer(str(own) if env.task.phase == "bid" else stays))
    return env.episode.total("player_0")


@pytest.mark.parametrize("rule", ["second", "open"])
def test_no_bid_beats_the_truth_whatever_the_others_do(rule):
    for value, other, third, lot in itertools.product(
        (1, 3, 4), (0, 2, 3, 4), (1, 3), ("012", "210")
    ):
        paid = [sold((own, other, third), value, lot, rule=rule) for own in range(5)]
        assert paid[value] == max(paid) >= 0


def test_the_rules_agree_where_all_are_true_and_the_first_price_leaves_nothing():
    for bids in ((4, 2, 1), (3, 3, 1), (2, 4, 0), (1, 1, 1), (4, 4, 4)):
        second, open_, first = (
            sold(bids, bids[0], "012", rule=rule) for rule in ("second", "open", "first")
        )
        assert second == open_ and first == 0


def test_a_winner_may_lose_points_and_only_the_price_is_announced():
    env = make(ID, rounds=2, talk=False)
    env.reset(seed=3)
    env.task.values[0]["player_1"] = 1
    for bid in ("7", "9", "2"):
        env.step(answer(bid))
    assert env.episode.total("player_1") == 1 - 7
    news = env.chat("player_0")[-1]["content"]
    assert "player_1 won the good at the price 7." in news and "9" not in news.split("\n")[0]


def test_the_references_by_enumeration():
    values = np.sort(list(itertools.product(range(1, 11), repeat=3)), axis=1)
    bids = np.sort(list(itertools.product(range(11), repeat=3)), axis=1)
    expected = {
        "random": (5.5 - bids[:, 1].mean()) / 3,
        "equilibrium": (values[:, 2] - values[:, 1]).mean() / 3,
        "oracle": values[:, 2].mean() / 3,
    }
    assert references(3, 10) == pytest.approx(expected) == spec(ID).refs


def test_experts_share_what_they_win_at_the_first_price():
    env = make(ID, rule="first", talk=False, players=2)
    env.reset(seed=0)
    env.task.values[0] = {"player_0": 8, "player_1": 5}
    bids = [env.expert(s, 1.0).probabilities.argmax() for s in env.possible_agents]
    assert bids == [4, 2]
