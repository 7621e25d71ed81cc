"""Tree search: it finds what one look ahead shows, and leaves the environment as it was."""

import numpy as np
import pytest

from coevo.agents.agent import request_of
from coevo.agents.registry import scripted
from coevo.agents.strategies.mcts import Mcts, _Node
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


def test_what_is_tried_is_legal_where_others_changed_what_may_be_played():
    search, rng, node = Mcts(10, children=5), np.random.default_rng(0), _Node()
    for move in "abcde":
        node.after[move] = _Node(visits=1, earned=1.0)
    assert {search._chosen(node, ("x", "y"), rng) for _ in range(20)} == {"x", "y"}
    node.visits, node.after["b"].earned = 9, 0.0
    assert {search._chosen(node, ("b", "y"), rng) for _ in range(20)} == {"b"}


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ConfigError, match="expansions=0 must be at least 1"):
        scripted("mcts:0")
    env = make("coevo/debate-v0")
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="has no list of legal moves"):
        Mcts(2).odds(asked(env))
