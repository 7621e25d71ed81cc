import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.catalogue import matrix_game
from coevo.envs.dilemmas.matrices import game_of_payoffs
from coevo.envs.societies.commitment import best_on_grid, best_reply, mixtures, stackelberg

ID = "coevo/stackelberg-v0"


def test_the_example_of_the_value_of_commitment():
    found = stackelberg(matrix_game("commitment"))
    assert found.leader == pytest.approx(3.5) and found.follower == pytest.approx(0.5)
    assert found.mix == pytest.approx((0.5, 0.5))
    assert best_on_grid(matrix_game("commitment"), 1).leader == 3


@pytest.mark.parametrize(
    ("game", "value"),
    [
        ("matching_pennies", 0),
        ("rock_paper_scissors", 0),
        ("battle_of_sexes", 10),
        ("prisoners_dilemma", 1),
        ("chicken_melting_pot", 5),
        ("deadlock", 3),
    ],
)
def test_known_values(game, value):
    """In zero-sum games the minimax value; elsewhere never under the best Nash equilibrium."""
    assert stackelberg(matrix_game(game)).leader == pytest.approx(value, abs=1e-7)


def test_a_fine_grid_approaches_the_programmes_from_below():
    rng = np.random.default_rng(0)
    for _ in range(15):
        game = game_of_payoffs(rng.integers(-5, 6, size=(3, 3, 2)))
        value = stackelberg(game).leader
        for mix in mixtures(3, 12):
            x = np.array(mix) / 12
            reply = best_reply(game, x)
            assert (x @ game.payoffs[:, reply, 0]) <= value + 1e-7
            assert (x @ game.payoffs[..., 1]).max() == pytest.approx(x @ game.payoffs[:, reply, 1])
        assert best_on_grid(game, 24).leader >= value - 1.5


def test_all_mixtures_are_there_once():
    found = list(mixtures(3, 10))
    assert len(found) == len(set(found)) == 66
    assert {sum(mix) for mix in found} == {10} and found[0] == (10, 0, 0)


def test_experts_play_the_equilibrium_and_references_hold():
    refs = spec(ID).refs
    env = make(ID)
    env.reset(seed=0)
    for _ in range(2):
        replies = env.expert(env.agent_selection, 1.0)
        env.step(replies.texts[int(replies.probabilities.argmax())])
    assert [t.move for t in env.episode.turns] == ["50/50", "Z"]
    assert [env.episode.total(a) for a in env.possible_agents] == [3.5, 0.5]
    assert env.episode.outcome["value"] == env.episode.outcome["leader"] == pytest.approx(3.5)
    assert evaluate(ExpertAgent(1.0), ID, None, 2).value == refs["oracle"] == 2
    assert matrix_game("commitment").payoffs.mean() == refs["random"]
    assert evaluate(RandomAgent(), ID, None, 300).value == pytest.approx(refs["random"], abs=0.15)


@pytest.mark.parametrize("style", ["full", "terse"])
def test_the_follower_sees_the_announcement(style):
    env = make(ID, prompt_style=style, rounds=2)
    env.reset(seed=0)
    assert env.awaiting == ("leader_0",)
    env.step("[70/30]")
    assert "A 70%, B 30%" in env.chat("follower_0")[-1]["content"]
    env.step("[Y]")
    assert env.episode.total("leader_0") == pytest.approx(0.7 * 2 + 0.3 * 1)
    assert env.episode.total("follower_0") == pytest.approx(0.7 * 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "public_goods"}, "two players"),
        ({"game": "rock_paper_scissors", "steps": 100}, "over 300 mixtures"),
        ({"game": "chicken", "payoffs": [[[1, 1], [0, 2]], [[2, 0], [0, 0]]]}, "one of them"),
        ({"steps": 0}, "steps=0"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        make(ID, **options)
