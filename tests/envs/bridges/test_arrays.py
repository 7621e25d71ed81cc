"""Numbers and masks for all seats: PettingZoo's checkers, and the text environment's own play."""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from coevo.envs import list_envs, make
from coevo.envs.bridges.arrays import array_env, parallel_array_env
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.tensors import encode

KUHN, GOOFSPIEL, LEDUC = "coevo/kuhn_poker-v0", "coevo/goofspiel-v0", "coevo/leduc_poker-v0"
NUMBERED = [spec.id for spec in list_envs() if isinstance(make(spec.id).task, OpenSpielTask)]
AT_ONCE = [id for id in NUMBERED if make(id).task.simultaneous]


@pytest.mark.filterwarnings("ignore:Observation:UserWarning")  # a mask beside the array is no array
@pytest.mark.parametrize("env_id", NUMBERED)
def test_the_view_is_a_pettingzoo_environment(env_id):
    api_test(array_env(env_id), num_cycles=20)


@pytest.mark.parametrize("env_id", AT_ONCE)
def test_the_parallel_view_is_a_pettingzoo_environment(env_id):
    parallel_api_test(parallel_array_env(env_id), num_cycles=20)
    parallel_seed_test(lambda: parallel_array_env(env_id), num_cycles=5)


def test_equal_seeds_are_equal_plays():
    seed_test(lambda: array_env(KUHN), num_cycles=5)


def played(env, rng):
    """Play one episode of the view with random legal actions; give what every seat earned."""
    earned = dict.fromkeys(env.possible_agents, 0.0)
    actions = []
    for seat in env.agent_iter():
        seen, reward, ended, cut, _ = env.last()
        earned[seat] += reward
        if ended or cut:
            env.step(None)
            continue
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        actions.append((seat, action))
        env.step(action)
    return earned, actions


@pytest.mark.parametrize("env_id", [KUHN, LEDUC, GOOFSPIEL])
def test_a_play_in_numbers_is_the_play_in_words(env_id):
    env, rng = array_env(env_id), np.random.default_rng(0)
    for seed in range(20):
        env.reset(seed=seed)
        earned, actions = played(env, rng)
        episode = env.text.episode
        assert earned == {a: episode.total(a) for a in env.possible_agents}
        again = make(env_id, prompt_style="terse")
        again.reset(seed=seed)
        for (seat, action), turn in zip(actions, episode.turns, strict=True):
            state = again.task.state
            named = again.task.legal_moves(state, again.task.seats.index(seat))
            assert named[turn.move] == action and again.agent_selection == seat
            again.step(turn.text)
        assert again.episode.outcome == episode.outcome


def test_masks_are_openspiels_and_empty_for_those_who_wait():
    env = array_env(LEDUC)
    env.reset(seed=3)
    seat, other = env.agent_selection, next(a for a in env.agents if a != env.agent_selection)
    state = env.text.task.state
    seen = env.observe(seat)
    assert np.flatnonzero(seen["action_mask"]).tolist() == state.legal_actions()
    assert seen["observation"].tolist() == encode(state, 0).tolist()
    assert not env.observe(other)["action_mask"].any()
    assert env.state().tolist() == [*encode(state, 0), *encode(state, 1)]
    assert env.state_space.contains(env.state())


def test_an_illegal_action_is_a_forfeit_and_one_that_is_no_action_is_refused():
    env = array_env("coevo/tic_tac_toe-v0")
    env.reset(seed=0)
    env.step(4)
    with pytest.raises(ConfigError, match="action=9 of player_1 must be from 0 to 8"):
        env.step(9)
    env.step(4)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards["player_1"] == -1


def test_all_seats_act_at_once_in_the_parallel_view():
    env, rng = parallel_array_env(GOOFSPIEL), np.random.default_rng(0)
    seen, _ = env.reset(seed=1)
    total, rounds = dict.fromkeys(env.agents, 0.0), 0
    while env.agents:
        actions = {a: rng.choice(np.flatnonzero(s["action_mask"])) for a, s in seen.items()}
        seen, rewards, *_ = env.step(actions)
        rounds += 1
        for seat, reward in rewards.items():
            total[seat] += reward
    assert total == {a: env.text.episode.total(a) for a in total}
    assert len(env.text.episode.turns) == 2 * rounds
    assert isinstance(env.action_space("player_0"), spaces.Discrete)


def test_what_has_no_numbers_or_takes_turns_says_so():
    with pytest.raises(ConfigError, match="debate-v0 has no vector view"):
        array_env("coevo/debate-v0")
    with pytest.raises(ConfigError, match="seats take turns"):
        parallel_array_env(KUHN)
