"""Promise: `env.state()` is the whole state, in every environment, and moves with the play."""

import importlib

import numpy as np
import pettingzoo
import pytest

import coevo.envs

state_space = importlib.import_module("pettingzoo.test.state_test").test_state_space
IDS = [spec.id for spec in coevo.envs.list_envs()]
AT_ONCE = [spec.id for spec in coevo.envs.list_envs() if spec.simultaneous]


def replied(env, rng):
    """Return a legal reply."""
    legal = env.infos[env.agent_selection]["legal_actions"]
    if legal is not None:
        return f"[{rng.choice(legal)}]"
    expert = env.expert(env.agent_selection, 1.0)
    return "[1]" if expert is None else str(rng.choice(expert.texts, p=expert.probabilities))


def states(id, seed):
    env, rng = coevo.envs.make(id, render_mode="ansi"), np.random.default_rng(1)
    env.reset(seed=seed)
    found = [env.state()]
    while env.awaiting and len(found) < 40:
        env.step(replied(env, rng))
        assert env.state_space.contains(env.state())
        assert env.state() == env.render()
        found.append(env.state())
    return found


@pytest.mark.parametrize("id", IDS)
def test_the_state_follows_the_play_and_the_seed(id):
    found = states(id, 5)
    assert all(found), "never empty"
    assert len(set(found)) > 1, "never the same all along"
    assert found == states(id, 5)


@pytest.mark.filterwarnings("ignore:State space for each environment probably:UserWarning")  # text
@pytest.mark.parametrize("id", IDS)
def test_pettingzoo_finds_a_space_for_it(id):
    env = coevo.envs.make(id)
    env.reset(seed=0)
    state_space(env)
    wrapped = pettingzoo.make("aec", id)
    wrapped.reset(seed=0)
    assert wrapped.state() == env.state()


@pytest.mark.parametrize("id", AT_ONCE)
def test_the_parallel_form_has_it_too(id):
    env, text = pettingzoo.make("parallel", id), coevo.envs.make(id)
    env.reset(seed=3)
    text.reset(seed=3)
    assert env.state() == text.state()
