"""Every algorithm learns the dominant move of the prisoner's dilemma from random weights.

Whoever credits a seat with the other's payoff learns to cooperate instead.
"""

import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.trainers import loop
from coevo.trainers.algorithms import ALGORITHMS

DILEMMA = {"game": "matrix_pd", "prompt_style": "terse", "illegal": "mask"}


def odds(agent):
    """Give the probability of Defect in both seats."""
    env = make("coevo/openspiel-v0", **DILEMMA)
    env.reset(seed=0)
    asked = [
        Request(seat, env.chat(seat), env.infos[seat], np.random.default_rng(0), masked=True)
        for seat in env.possible_agents
    ]
    legal = [r.info["legal_actions"].index("Defect") for r in asked]
    return [p[i] for p, i in zip(agent.probabilities(asked), legal, strict=True)]


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_dominant_move_is_learnt(config, folder, name):
    changes = {"sampler.episodes": 32, "optim.lr": 0.01, "optim.warmup": 1}
    if ALGORITHMS[name].critic is not None:
        changes["critic.lr"] = 0.05
    given = config(
        name,
        changes,
        env="coevo/openspiel-v0",
        env_options=DILEMMA,
        sampling=SamplingConfig(max_new_tokens=24),
        steps=40,
        checkpoint_every=1000,
    )
    made = folder(given)
    start = loop.start(given, made).policies()["policy"]
    assert max(odds(start)) < 0.7
    run = loop.train(given, made)
    assert min(odds(run.policies()["policy"])) > 0.9
