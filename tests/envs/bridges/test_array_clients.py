"""Other people's learners on the array view, as their tutorials use PettingZoo's board games."""

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils import BaseWrapper

from coevo.envs.bridges.arrays import array_env, parallel_array_env
from coevo.envs.bridges.vector import vector_env
from coevo.envs.core.errors import INSTALL
from coevo.envs.grids.parallel import grid_env

KUHN, TIC_TAC_TOE = "coevo/kuhn_poker-v0", "coevo/tic_tac_toe-v0"
GOOFSPIEL = "coevo/goofspiel-v0"
pytestmark = pytest.mark.filterwarnings("default")  # theirs


class SB3ActionMaskWrapper(BaseWrapper, gymnasium.Env):
    """PettingZoo's tutorial "SB3: Action Masked PPO for Connect Four", word for word in what it
    calls: one policy plays all seats, each step one seat."""

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.observation_space = super().observation_space(self.possible_agents[0])["observation"]
        self.action_space = super().action_space(self.possible_agents[0])
        return self.observe(self.agent_selection), {}

    def step(self, action):
        current_agent = self.agent_selection
        super().step(action)
        next_agent = self.agent_selection
        return (
            self.observe(next_agent),
            self._cumulative_rewards[current_agent],
            self.terminations[current_agent],
            self.truncations[current_agent],
            self.infos[current_agent],
        )

    def observe(self, agent):
        return super().observe(agent)["observation"]

    def action_mask(self):
        return super().observe(self.agent_selection)["action_mask"]


def test_sb3_masked_ppo_never_plays_an_illegal_action():
    contrib = pytest.importorskip("sb3_contrib", reason=INSTALL.format("sb3"))
    from sb3_contrib.common.wrappers import ActionMasker

    env = SB3ActionMaskWrapper(array_env(TIC_TAC_TOE))
    env.reset(seed=0)
    masked = ActionMasker(env, SB3ActionMaskWrapper.action_mask)
    model = contrib.MaskablePPO("MlpPolicy", masked, n_steps=64, batch_size=64, seed=0)
    stops = set()
    inner = env.unwrapped.text
    finish = inner._finish

    def counted(stop):
        stops.add(str(stop))
        finish(stop)

    inner._finish = counted
    model.learn(256)
    assert model.num_timesteps == 256 and stops == {"finished"}


def test_sb3_masked_ppo_learns_on_a_grid_world():
    """One gatherer in a corridor: north and south are walls, the apples grow back at both ends."""
    contrib = pytest.importorskip("sb3_contrib", reason=INSTALL.format("sb3"))

    room = "#####\n#APA#\n#####"
    world = {"map": room, "gatherers": 1, "respawn": 2, "steps": 16}
    view = vector_env("coevo/gathering-v0", seat=0, **world)
    assert view.observation_space.shape == (11, 7, 7)
    settings = {"n_steps": 64, "n_epochs": 6, "learning_rate": 3e-3, "gamma": 0.8, "seed": 0}
    model = contrib.MaskablePPO("MlpPolicy", view, **settings)
    before = earned(view, model)
    model.learn(1536)
    assert earned(view, model) > before + 1.5
    assert view.illegal_actions == 0


def earned(view, model):
    """Mean return of a policy that draws its actions."""
    total = 0.0
    for seed in range(6):
        seen, _ = view.reset(seed=100 + seed)
        over = False
        while not over:
            action, _ = model.predict(seen, action_masks=view.action_masks())
            seen, reward, over, _, _ = view.step(action)
            total += reward
    return total / 6


def test_torchrl_reads_both_forms_and_keeps_to_the_masks():
    pytest.importorskip("torchrl", reason="pip install torchrl")
    import torch
    from torchrl.envs import MarlGroupMapType, PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    for env in (parallel_array_env(GOOFSPIEL), grid_env("coevo/cleanup-v0")):
        check_env_specs(PettingZooWrapper(env, categorical_actions=True))
    inner = array_env(TIC_TAC_TOE)
    env = PettingZooWrapper(
        inner,
        use_mask=True,
        categorical_actions=True,
        group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT,
    )
    for seed in range(5):
        torch.manual_seed(seed)
        steps = len(env.rollout(20))
        assert inner.text.episode.stop == "finished"
        assert steps == len(inner.text.episode.turns) >= 5


def test_tianshou_collects_with_a_policy_per_seat():
    pytest.importorskip("tianshou", reason="pip install tianshou")
    from tianshou.algorithm.multiagent.marl import MultiAgentPolicy
    from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm as Random
    from tianshou.data import Collector
    from tianshou.env import DummyVectorEnv, PettingZooEnv

    inner = array_env(KUHN)
    env = PettingZooEnv(inner)
    policies = {a: Random(env.action_space).policy for a in env.agents}
    collector = Collector(MultiAgentPolicy(policies), DummyVectorEnv([lambda: env]))
    found = collector.collect(n_episode=50, reset_before_collect=True)
    assert found.n_collected_episodes == 50
    assert np.asarray(found.returns).shape == (50, 2)
    assert np.allclose(np.asarray(found.returns).sum(1), 0)
    assert set(np.abs(found.returns).ravel()) <= {1.0, 2.0}


def test_rllib_wraps_both_forms():
    pytest.importorskip("ray.rllib", reason="pip install 'ray[rllib]'")
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv

    rng = np.random.default_rng(0)
    for env in (
        PettingZooEnv(array_env(KUHN)),
        ParallelPettingZooEnv(parallel_array_env(GOOFSPIEL)),
    ):
        seen, _ = env.reset(seed=0)
        ended = {"__all__": False}
        while not ended["__all__"]:
            acts = {a: int(rng.choice(np.flatnonzero(s["action_mask"]))) for a, s in seen.items()}
            seen, rewards, ended, _, _ = env.step(acts)
        assert sum(rewards.values()) == pytest.approx(0)


def test_rllib_plays_a_grid_world_with_several_learners():
    """Two policies, each of its own seats, as a multi-agent algorithm of RLlib maps them."""
    pytest.importorskip("ray.rllib", reason="pip install 'ray[rllib]'")
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

    env = ParallelPettingZooEnv(grid_env("coevo/harvest-v0"))
    seen, _ = env.reset(seed=0)
    assert set(env.get_agent_ids()) == {f"harvester_{i}" for i in range(3)}
    seen, rewards, ended, _, _ = env.step(dict.fromkeys(seen, 0))
    assert rewards.keys() == seen.keys() and not ended["__all__"]
    assert all(env.observation_space[a].contains(s) for a, s in seen.items())
