"""Negotiation: what a trade moves, who may accept, what each seat knows."""

import copy

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.parsing import answer
from coevo.envs.games import negotiation


def started(**options):
    env = make("coevo/negotiation-v0", **options)
    env.reset(seed=0)
    return env


def play(env, *moves):
    for move in moves:
        env.step(answer(move))
    return env


def test_an_accepted_offer_moves_the_goods_and_who_gained_more_wins():
    env = play(started(turns=2), "1 wood for 3 gold", "accept")
    assert env.task.stocks == [{"wood": 9, "gold": 13}, {"wood": 11, "gold": 7}]
    # player_0 gains 3 * 15 - 5 = 40, player_1 15 - 3 * 5 = 0.
    assert env.episode.outcome["gain/player_0"] == 40
    assert env.episode.outcome["gain/player_1"] == 0
    assert [env.episode.total(a) for a in env.possible_agents] == [1.0, -1.0]


def test_an_even_trade_is_a_draw():
    env = play(started(turns=2), "4 wood for 4 gold", "accept")
    assert env.episode.outcome["gain/player_0"] == env.episode.outcome["gain/player_1"] == 40
    assert [env.episode.total(a) for a in env.possible_agents] == [0.0, 0.0]


def test_an_offer_is_gone_when_it_is_answered_and_nobody_accepts_his_own():
    env = play(started(), "1 wood for 1 gold")
    assert "accept" in env.infos["player_1"]["legal_actions"]
    for answered in ("pass", "accept"):
        fork = play(copy.deepcopy(env), answered)
        assert "accept" not in fork.infos["player_0"]["legal_actions"]
    fork = play(copy.deepcopy(env), "2 gold for 1 wood")
    assert fork.task.offer.good == "gold"
    assert "accept" in fork.infos["player_0"]["legal_actions"]


def test_no_random_play_makes_goods_out_of_nothing():
    env = started(turns=40, stock=3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.reset()
        while env.awaiting:
            legal = env.infos[env.agent_selection]["legal_actions"]
            often = "accept" if "accept" in legal and rng.random() < 0.5 else None
            env.step(answer(often or legal[int(rng.integers(len(legal)))]))
            for good in negotiation.GOODS:
                held = [stock[good] for stock in env.task.stocks]
                assert min(held) >= 0
                assert sum(held) == 6
        assert len(env.episode.turns) == 40


@pytest.mark.parametrize("style", ["full", "terse"])
def test_the_worth_to_the_other_shows_nowhere(style, monkeypatch):
    looks = []
    for other in ({"wood": 15, "gold": 5}, {"wood": 7, "gold": 11}):
        monkeypatch.setattr(negotiation, "WORTH", (negotiation.WORTH[0], other))
        env = play(started(prompt_style=style), "1 wood for 1 gold", "accept")
        looks.append((env.chat("player_0"), env.infos["player_0"]))
    assert looks[0] == looks[1]


def test_careful_seats_draw_and_a_careless_one_loses():
    env = started()
    while env.awaiting:
        replies = env.expert(env.agent_selection, 1.0)
        env.step(replies.texts[int(replies.probabilities.argmax())])
    assert env.episode.total("player_0") == 0
    env.reset(seed=0)
    while env.awaiting:
        seat = env.agent_selection
        replies = env.expert(seat, 1.0)
        careless = seat == "player_1" and "accept" in env.infos[seat]["legal_actions"]
        best = replies.texts[int(replies.probabilities.argmax())]
        env.step("[accept]" if careless else best)
    assert env.episode.total("player_0") == 1.0
