"""Tree search: it finds what one look ahead shows, and leaves the environment as it was."""

import numpy as np
import pytest

from coevo.agents.agent import request_of
from coevo.agents.registry import scripted
from coevo.agents.strategies.mcts import Mcts
from coevo.envs import make
from coevo.envs.core.errors import ConfigError


def asked(env):
    seat = env.agent_selection
    return request_of(env, seat, np.random.default_rng(0), inside=True)


def test_the_last_step_to_24_is_found_and_nothing_is_played():
    env = make("coevo/make24-v0")
    env.reset(seed=5)
    for _ in range(2):
        replies = env.expert("solver_0", 1.0)
        env.step(replies.texts[int(replies.probabilities.argmax())])
    before = env.episode.to_json()
    text = Mcts(40).act([asked(env)])[0].text
    assert env.episode.to_json() == before
    env.step(text)
    assert env.episode.outcome["solved"] == 1


def test_a_winning_move_is_found_in_a_game_of_two():
    env = make("coevo/nim-v0")
    env.reset(seed=0)
    odds = Mcts(30).odds(asked(env))
    assert odds.sum() == 1 and odds.max() == 1


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ConfigError, match="expansions=0 must be at least 1"):
        scripted("mcts:0")
    env = make("coevo/debate-v0")
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="has no list of legal moves"):
        Mcts(2).odds(asked(env))
