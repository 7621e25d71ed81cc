import numpy as np
import pyspiel
import pytest

from coevo.agents import ExpertAgent, OracleAgent, RandomAgent
from coevo.agents.agent import Request
from coevo.agents.scripted import NEUTRAL
from coevo.agents.strategies.expert import look_ahead, match_prize
from coevo.agents.strategies.game_tree import game_tree
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import requests
from coevo.envs import make
from coevo.envs.core.errors import ConfigError


def connect_four(*columns):
    state = pyspiel.load_game("connect_four").new_initial_state()
    for column in columns:
        state.apply_action(column)
    return state


def test_look_ahead_wins_before_it_blocks():
    assert look_ahead(connect_four(3, 0, 3, 0, 3, 0)).tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_look_ahead_blocks():
    assert look_ahead(connect_four(3, 0, 3, 0, 3)).tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_look_ahead_prefers_the_centre_by_halves():
    odds = look_ahead(connect_four())
    assert odds / odds[3] == pytest.approx([1 / 8, 1 / 4, 1 / 2, 1, 1 / 2, 1 / 4, 1 / 8])


def test_look_ahead_plays_on_when_everything_loses():
    lost = connect_four(2, 0, 3, 0, 4)  # 1 and 5 both win for the first player
    assert look_ahead(lost).sum() == pytest.approx(1)
    assert (look_ahead(lost) > 0).all()


@pytest.mark.parametrize("skill", [0.0, 0.3, 1.0])
def test_odds_mix_oracle_and_uniform(skill):
    env = make("coevo/kuhn_poker-v0")
    asked = requests(env, game_tree(str(env.task.game)).decisions)
    mixed = ExpertAgent(skill).probabilities(asked)
    good, flat = OracleAgent().probabilities(asked), RandomAgent().probabilities(asked)
    for m, g, f in zip(mixed, good, flat, strict=True):
        assert m == pytest.approx(skill * g + (1 - skill) * f)


@pytest.mark.parametrize("game", ["connect_four", "tic_tac_toe", "nim"])
def test_more_skill_wins_more(game):
    returns = [
        evaluate(ExpertAgent(s), "coevo/openspiel-v0", games=60, env_options={"game": game})
        for s in (0.0, 1.0)
    ]
    assert returns[0].value + 0.3 < returns[1].value
    assert returns[1].value > 0.7


def test_large_goofspiel_is_played_by_matching_the_prize():
    seen = "Point card sequence: 6 2 \nP0 hand: 1 3 4 5 6 \nP1 hand: 2 3 4 5 6 \nPoints: 0 6 \n"
    assert match_prize(seen, 0).tolist() == [0.5, 0.5, 0, 0, 0]
    assert match_prize(seen, 1).tolist() == [1, 0, 0, 0, 0]
    found = evaluate(ExpertAgent(1), "coevo/goofspiel-v0", games=100)
    assert found.value > 0.5
    assert found.forfeit_rate == 0


def test_a_game_without_an_oracle_is_played_at_random():
    unknown = {"legal_actions": ["x", "y"], "game": "matrix_pd"}
    request = Request("a", (), unknown, np.random.default_rng(0))
    assert ExpertAgent(1).probabilities([request])[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("legal", [["x", "y"], None])
def test_where_nobody_knows_anything_only_no_skill_plays(legal):
    request = Request("a", (), {"legal_actions": legal}, np.random.default_rng(0))
    assert ExpertAgent(0).act([request])[0].text in ("[x]", "[y]", NEUTRAL)
    with pytest.raises(ConfigError, match="no expert for seat a"):
        ExpertAgent(0.5).act([request])


@pytest.mark.parametrize("skill", [-0.1, 1.1, float("nan")])
def test_skill_is_a_share(skill):
    with pytest.raises(ConfigError, match=r"0\.\.1"):
        ExpertAgent(skill)
