"""Promises: infos are made when they are read, and read as if they had been made at once; so is the
generator."""

import copy

import gymnasium
import numpy as np
import pytest

import coevo.envs
from coevo.envs.core.env import TextEnv
from coevo.envs.games.tic_tac_toe import TicTacToe

KUHN = "coevo/kuhn_poker-v0"
SPLIT = "coevo/colonel_blotto-v0"
DRAWLESS = [s.id for s in coevo.envs.list_envs() if not coevo.envs.make(s.id).task.draws]


def started(id=KUHN, **options):
    env = coevo.envs.make(id, **options)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("id", [KUHN, SPLIT])
def test_every_way_to_read_an_info_gives_the_same_object(id):
    env = started(id)
    alone = env.last()[4]
    assert env.info(env.agent_selection) is alone
    assert list(env.infos) == env.agents, "in the order of the seats, whoever was read first"
    assert env.infos[env.agent_selection] is alone
    assert env.infos is env.infos
    assert type(env.infos) is dict


def test_what_was_read_before_a_step_stays_as_it_was():
    env = started()
    before = env.infos
    kept = copy.deepcopy(before)
    env.step("[check]")
    assert before == kept
    assert env.infos["player_0"]["parse"] == {"move": "check", "status": "legal"}
    assert env.infos["player_0"]["legal_actions"] == []
    assert env.infos["player_1"]["legal_actions"] == ["check", "bet"]


def test_only_those_infos_are_made_that_are_read(monkeypatch):
    env, asked = started(SPLIT), []
    info = env.task.info
    monkeypatch.setattr(env.task, "info", lambda seat: asked.append(seat) or info(seat))
    while env.awaiting:
        seat = env.agent_selection
        _, _, _, _, told = env.last()
        env.last()
        assert asked == [seat]
        asked.clear()
        env.step(f"[{told['legal_actions'][0]}]")


def test_a_retry_and_an_abandoned_episode_are_told():
    env = started(illegal={"retries": 1})
    assert env.last()[4]["parse"] == {}
    env.step("what?")
    assert env.last()[4]["parse"] == {"move": None, "status": "unparsable"}
    env.abandon("the server is down")
    assert env.last()[4]["legal_actions"] == []


def test_seats_that_left_have_no_info():
    env = started(illegal="forfeit")
    env.step("nothing")
    gone = env.agent_selection
    env.last()
    env.step(None)
    assert list(env.infos) == env.agents != []
    with pytest.raises(KeyError):
        env.info(gone)


def test_a_generator_that_was_not_needed_is_the_one_of_the_seed():
    env = started("coevo/tic_tac_toe-v0")
    env.step("[5]")
    env.reset()
    expected, _ = gymnasium.utils.seeding.np_random(0)
    assert env.np_random.integers(1000, size=9).tolist() == expected.integers(1000, size=9).tolist()
    env.reset()
    after = env.np_random.integers(1000)
    assert after == expected.integers(1000), "and goes on over resets"


@pytest.mark.parametrize("seed", [-1, 1.5, "one"])
def test_what_is_no_seed_is_refused_at_once(seed):
    env = coevo.envs.make("coevo/tic_tac_toe-v0")
    with pytest.raises(gymnasium.error.Error):
        env.reset(seed=seed)


def test_a_task_that_draws_without_saying_so_is_noticed():
    class Careless(TicTacToe):
        def reset(self, rng, options):
            super().reset(rng, options)
            self.first = rng.integers(2)

    env = TextEnv(Careless(Careless.config_class()))
    with pytest.raises(AttributeError, match="draws = True"):
        env.reset(seed=0)
    copy.deepcopy(env)


@pytest.mark.parametrize("id", DRAWLESS)
def test_tasks_that_draw_nothing_leave_the_generator_alone(id):
    env = coevo.envs.make(id)
    env.reset(seed=1)
    first = env.observe(env.agent_selection)
    env.reset(seed=2)
    assert env.observe(env.agent_selection) == first
    assert env.np_random.bit_generator.state == np.random.default_rng(2).bit_generator.state
