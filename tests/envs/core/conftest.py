"""Ways to play an environment, shared by the tests of the core."""

import numpy as np
import pytest


def play_on(env, rng, most=200):
    """Play with random legal moves, at most so many replies; words where any text is legal."""
    for _ in range(most):
        if not env.awaiting:
            break
        legal = env.infos[env.agent_selection]["legal_actions"]
        said = f"I say {int(rng.integers(1000))}"
        env.step(said if legal is None else f"[{legal[int(rng.integers(len(legal)))]}]")
    return env.episode.to_json()


def play(env, seed, most=200):
    env.reset(seed=seed)
    return play_on(env, np.random.default_rng(seed), most)


@pytest.fixture(name="play", scope="session")
def _play():
    return play


@pytest.fixture(name="play_on", scope="session")
def _play_on():
    return play_on
