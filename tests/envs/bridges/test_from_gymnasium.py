"""Gymnasium environments as ours."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import coevo.envs
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.parsing import answer

BRIDGE = "coevo/gymnasium-v0"
TAXI = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))


class Echo(gymnasium.Env):
    """Say the word that is shown; three words make an episode."""

    observation_space = spaces.Text(8)
    action_space = spaces.Text(8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3
        return self._word(), {}

    def step(self, action):
        self.left -= 1
        right = action == self.word
        return self._word(), float(right), not self.left, False, {}

    def _word(self):
        self.word = str(self.np_random.choice(["yes", "no"]))
        return self.word


@pytest.fixture(autouse=True, scope="module")
def registered():
    gymnasium.register("TestEcho-v0", entry_point=Echo)
    yield
    del gymnasium.registry["TestEcho-v0"]


def test_rewards_and_masks_are_those_of_the_environment():
    env = coevo.envs.make(BRIDGE, name=TAXI, payoffs=(-2000.0, 20.0))
    env.reset(seed=4)
    direct = gymnasium.make(TAXI)
    _, info = direct.reset(seed=int(np.random.default_rng(4).integers(2**31)))
    rng, total = np.random.default_rng(0), 0.0
    while env.awaiting:
        legal = env.infos["player_0"]["legal_actions"]
        assert legal == list(map(str, np.flatnonzero(info["action_mask"])))
        move = legal[int(rng.integers(len(legal)))]
        env.step(answer(move))
        _, reward, ended, cut, info = direct.step(int(move))
        total += reward
        assert bool(env.awaiting) == (not ended and not cut)
    assert env.episode.total("player_0") == total < 0


def test_episodes_that_are_played_at_once_do_not_meet():
    template = coevo.envs.make(BRIDGE, name="FrozenLake-v1")
    alone, *others = (template.fresh() for _ in range(3))
    for env in (alone, *others):
        env.reset(seed=0)
    while alone.awaiting:
        alone.step("[2]")
    while any(env.awaiting for env in others):
        for env in others:
            if env.awaiting:
                env.step("[2]")
    assert len(alone.episode.turns) > 1
    assert all(env.episode.to_json() == alone.episode.to_json() for env in others)


def test_a_drawing_marks_what_its_colours_mark():
    env = coevo.envs.make(
        BRIDGE, name="FrozenLake-v1", drawing=True, arguments={"is_slippery": False}
    )
    env.reset(seed=0)
    assert "(S)FFF\nFHFH" in env.chat("player_0")[-1]["content"]
    env.step("[2]")
    assert "S(F)FF\nFHFH" in env.chat("player_0")[-1]["content"]
    for move in (2, 1, 1, 1, 2):
        env.step(answer(str(move)))
    assert env.episode.total("player_0") == 1
    assert "Move left" in env.chat("player_0")[0]["content"], "the authors' words are shown"


@pytest.mark.parametrize("style", ["full", "terse"])
def test_texts_are_taken_as_they_are(style):
    env = coevo.envs.make(BRIDGE, name="TestEcho-v0", payoffs=(0.0, 3.0), prompt_style=style)
    env.reset(seed=1)
    for say in ("right", "right", "wrong"):
        word = env.task.world.unwrapped.word
        assert word in env.chat("player_0")[-1]["content"]
        env.step(word if say == "right" else "perhaps")
    assert env.episode.total("player_0") == 2
    assert env.episode.stop == "finished"


def test_what_cannot_be_played_is_refused_in_one_line():
    with pytest.raises(UnknownNameError, match=f"did you mean '{TAXI}'"):
        coevo.envs.make(BRIDGE, name="Taxi-v1")
    with pytest.raises(ConfigError, match="not Discrete, Text"):
        coevo.envs.make(BRIDGE, name="Pendulum-v1")
    with pytest.raises(ConfigError, match="nobody_knows"):
        coevo.envs.make(BRIDGE, name=TAXI, arguments={"nobody_knows": 1})
