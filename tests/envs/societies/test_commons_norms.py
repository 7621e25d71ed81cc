"""The commons without points: what is eaten and kept, what norms do, and what nobody is told."""

import re

import pytest

from coevo.agents import RandomAgent
from coevo.agents.registry import scripted
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.societies import commons_norms as module

ID = "coevo/commons_norms-v0"


def started(seed=0, **options):
    env = make(ID, **options)
    env.reset(seed=seed)
    return env


def answer_all(env, phase, move):
    while env.awaiting and env.task.phase == phase:
        env.step(f"[{move}]")


def live(env, skill=1.0):
    while env.awaiting:
        texts, odds = env.expert(env.agent_selection, skill)
        env.step(texts[int(odds.argmax())])
    return [env.episode.total(seat, "payoff") for seat in env.possible_agents]


def test_one_day_each_feeds_everybody_and_three_days_end_the_lake():
    assert live(started()) == [1.0] * 4
    env = started(sanctions=None, learn=0.0, seasons=12)
    answer_all(env, "fish", 3)
    assert env.episode.outcome["lasted"] == 0
    assert all(0 < env.episode.total(s, "payoff") < 1 for s in env.possible_agents)


def test_a_season_by_hand():
    env = started(sanctions=None, learn=0.0)
    for days in (0, 1, 2, 3):
        env.step(f"[{days}]")
    # a fifth of 100 for all days of all: 5 baskets a day; 3 are eaten, at most 6 kept
    assert list(env.task.stores.values()) == [0.0, 2.0, 6.0, 6.0]
    assert list(env.task.fed.values()) == [0, 1, 1, 1]
    assert env.task.lake == pytest.approx(70 + 0.6 * 70 * 0.3)


def test_nothing_is_paid_before_the_end_and_no_prompt_speaks_of_points_or_growth():
    env = started(3)
    while env.awaiting:
        told = " ".join(m["content"] for m in env.chat(env.agent_selection))
        assert not re.search(r"point|reward|paid|score|grow", told, re.I)
        assert all(env.episode.total(s) == 0 for s in env.possible_agents)
        env.step(f"[{env.infos[env.agent_selection]['legal_actions'][0]}]")


def test_only_those_with_more_in_store_are_imitated_and_adopting_is_a_choice():
    env = started(learn=1.0, sanctions=None, society="mixed", seed=5)
    before = dict(env.task.norm)
    for days in (1, 3, 1, 3):
        env.step(f"[{days}]")
    assert set(env.task.met) <= {"villager_0", "villager_2"}
    assert set(env.task.met.values()) <= {"villager_1", "villager_3"}
    met = dict(env.task.met)
    answer_all(env, "learn", "adopt")
    for seat in env.possible_agents:
        assert env.task.norm[seat] == before[met.get(seat, seat)]


def test_who_is_punished_loses_more_than_who_punishes_and_sees_it():
    env = started(learn=0.0, sanctions={"cost": 0.5, "loss": 6.0})
    answer_all(env, "fish", 3)
    stores, watched = dict(env.task.stores), dict(env.task.watched)
    punisher = env.agent_selection
    env.step("[punish]")
    answer_all(env, "punish", "let be")
    assert env.task.stores[punisher] == stores[punisher] - 0.5
    assert env.task.stores[watched[punisher]] == 0
    assert "punished" in env.chat(watched[punisher])[-1]["content"]


def test_references_of_play():
    played = evaluate(RandomAgent(), ID, None, 150, seed=4, env_options={"prompt_style": "terse"})
    assert played.value == pytest.approx(spec(ID).refs["random"], abs=0.03)


def test_followers_do_what_they_hold_right():
    env = started(society="selfish", prompt_style="terse")
    follower = scripted("norm_follower")
    from coevo.agents.agent import request_of, sealed_rng

    while env.awaiting:
        request = request_of(env, env.agent_selection, sealed_rng("x"), inside=True)
        env.step(follower.act([request])[0].text)
    assert {tuple(season.values()) for season in env.task.log} == {(3, 3, 3, 3)}
    assert all(turn.move != module.PUNISH for turn in env.episode.turns)
