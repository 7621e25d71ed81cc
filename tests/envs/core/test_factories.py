"""The parallel form of tasks whose moves are simultaneous."""

import copy
import pickle

import pytest

from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous, turn_based
from coevo.envs.games.openspiel import OpenSpielTask

GOOFSPIEL = "goofspiel(num_cards=4,players=3)"
SEATS = ["player_0", "player_1", "player_2"]


def goofspiel(illegal="forfeit", **kwargs):
    env = simultaneous(OpenSpielTask)[2](game=GOOFSPIEL, illegal=illegal, **kwargs)
    _, infos = env.reset(seed=1)
    legal = {a: f"[{infos[a]['legal_actions'][0]}]" for a in SEATS}
    return env, legal


@pytest.mark.parametrize("offender", SEATS)
def test_a_forfeit_ends_the_round_for_everybody(offender):
    env, legal = goofspiel()
    observations, rewards, terminations, truncations, infos = env.step(legal | {offender: "no"})
    assert rewards == dict.fromkeys(SEATS, 0.0) | {offender: env.unwrapped.payoff_range[0]}
    assert terminations == dict.fromkeys(SEATS, True)
    assert truncations == dict.fromkeys(SEATS, False)
    assert list(observations) == list(infos) == SEATS
    assert env.agents == []
    assert env.unwrapped.episode.stop is StopReason.FORFEIT


@pytest.mark.parametrize("out", [SEATS[:2], SEATS[::2], SEATS[1:], SEATS])
def test_all_who_offend_in_one_round_forfeit(out):
    env, legal = goofspiel()
    _, rewards, terminations, *_ = env.step(legal | dict.fromkeys(out, "no"))
    low = env.unwrapped.payoff_range[0]
    assert rewards == {seat: low if seat in out else 0.0 for seat in SEATS}
    assert all(terminations.values())
    assert env.unwrapped.episode.offenders == tuple(out)
    assert len(env.unwrapped.episode.turns) == 3


@pytest.mark.parametrize("offender", SEATS)
def test_a_second_attempt_is_another_step(offender):
    env, legal = goofspiel("textarena")
    _, rewards, terminations, *_ = env.step(legal | {offender: "no"})
    assert rewards == dict.fromkeys(SEATS, 0.0)
    assert not any(terminations.values())
    assert env.agents == SEATS
    waiting = env.unwrapped.awaiting
    assert waiting == tuple(SEATS[SEATS.index(offender) :])
    env.step(legal)
    assert len(env.unwrapped.awaiting) == 3, "the next round has begun"
    assert env.unwrapped.episode.illegal_replies(offender) == 1


def test_second_attempts_that_fail_as_well_end_the_play():
    env, legal = goofspiel("textarena")
    env.step(legal | {"player_1": "no"})
    _, rewards, terminations, *_ = env.step(legal | {"player_1": "no"})
    assert rewards == {"player_0": 1, "player_1": -1, "player_2": 1}
    assert all(terminations.values())


def test_replies_of_nobody_are_not_read():
    env, legal = goofspiel()
    env.step(legal | {"player_7": "no"})
    assert env.agents == SEATS


def test_a_missing_reply_is_named():
    env, legal = goofspiel()
    del legal["player_1"]
    with pytest.raises(ConfigError, match="player_1 has to reply as well"):
        env.step(legal)
    assert env.unwrapped.episode.turns == []


def test_max_cycles_can_be_read_and_set():
    env, legal = goofspiel(max_cycles=3)
    assert env.max_cycles == 3
    env.max_cycles = 1
    _, _, terminations, truncations, _ = env.step(legal)
    assert not any(terminations.values())
    assert all(truncations.values())


def test_moves_of_one_round_are_hidden_from_each_other():
    env = turn_based(OpenSpielTask)[1](game=GOOFSPIEL)
    env.reset(seed=1)
    before = {a: env.observe(a) for a in SEATS}
    assert env.unwrapped.awaiting == tuple(SEATS)
    env.step(f"[{env.infos['player_0']['legal_actions'][2]}]")
    assert env.unwrapped.awaiting == ("player_1", "player_2")
    assert {a: env.observe(a) for a in SEATS[1:]} == {a: before[a] for a in SEATS[1:]}


@pytest.mark.parametrize("fork", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_parallel_environment_can_be_forked(fork):
    env, legal = goofspiel()
    other = fork(env)
    env.step(legal)
    assert other.unwrapped.episode.turns == []
    other.step(legal)
    assert other.unwrapped.episode == env.unwrapped.episode


@pytest.mark.parametrize("make", [turn_based(OpenSpielTask)[1], simultaneous(OpenSpielTask)[2]])
def test_unknown_arguments_list_the_known_ones(make):
    with pytest.raises(ConfigError, match="did you mean 'game'"):
        make(games="nim")
    assert "OpenSpielTask" in make.__doc__
