import numpy as np
import pytest

from coevo.agents import FirstLegalAgent, FixedTextAgent, RandomAgent
from coevo.agents.agent import Request
from coevo.agents.registry import SCRIPTED
from coevo.agents.scripted import NEUTRAL
from coevo.envs.core.errors import ConfigError


def request(legal, seed=0):
    return Request("player_0", (), {"legal_actions": legal}, np.random.default_rng(seed))


def test_random_gives_and_plays_uniform_odds():
    asked = request(["a", "b", "c"])
    assert RandomAgent().probabilities([asked])[0].tolist() == pytest.approx([1 / 3] * 3)
    said = [r.text for r in RandomAgent().act([asked] * 3000)]
    assert set(said) == {"[a]", "[b]", "[c]"}
    assert all(900 < said.count(text) < 1100 for text in set(said))


def test_random_follows_the_generator_of_its_play():
    replies = [
        [r.text for r in RandomAgent().act([request(list("abcdefgh"), seed)] * 20)]
        for seed in (1, 1, 2)
    ]
    assert replies[0] == replies[1] != replies[2]


def test_first_legal_is_certain():
    asked = request(["check", "bet"])
    assert FirstLegalAgent().probabilities([asked])[0].tolist() == [1.0, 0.0]
    assert FirstLegalAgent().act([asked])[0].text == "[check]"


@pytest.mark.parametrize("agent", [RandomAgent(), FirstLegalAgent()])
def test_free_text_gets_a_neutral_answer_and_no_odds(agent):
    assert agent.act([request(None)])[0].text == NEUTRAL
    with pytest.raises(ConfigError, match="no list of legal moves"):
        agent.probabilities([request(None)])


def test_fixed_texts_come_in_order_and_start_again():
    agent = FixedTextAgent(["x", "y"])
    assert [r.text for r in agent.act([request(None)] * 3)] == ["x", "y", "x"]
    assert agent.act([request(["a"])])[0].text == "y"
    with pytest.raises(ConfigError, match="at least one"):
        FixedTextAgent([])
    with pytest.raises(ConfigError, match="no move probabilities"):
        agent.probabilities([request(["a"])])


def test_every_scripted_player_is_made_by_name():
    assert {"random", "first_legal", "oracle", "expert", "human"} <= SCRIPTED.keys()
    assert all(SCRIPTED[name]().name.startswith(name) for name in SCRIPTED)
