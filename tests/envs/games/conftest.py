"""Walks through OpenSpiel games, and the environments that give them words."""

import numpy as np
import pytest

import coevo.envs
from coevo.envs.core.parsing import answer

SKINS = [
    "coevo/connect_four-v0",
    "coevo/goofspiel-v0",
    "coevo/kuhn_poker-v0",
    "coevo/leduc_poker-v0",
    "coevo/tic_tac_toe-v0",
    "coevo/tiny_hanabi-v0",
]


def pytest_generate_tests(metafunc):
    if "skin" in metafunc.fixturenames:
        metafunc.parametrize("skin", SKINS)


class Walks:
    """What tests need besides pyspiel."""

    @staticmethod
    def decision_states(state):
        """Every state below `state` at which somebody decides."""
        if state.is_terminal():
            return
        if not state.is_chance_node():
            yield state
        if state.is_simultaneous_node():
            for a in state.legal_actions(0):
                for b in state.legal_actions(1):
                    child = state.clone()
                    child.apply_actions([a, b])
                    yield from Walks.decision_states(child)
            return
        for action in state.legal_actions():
            yield from Walks.decision_states(state.child(action))

    @staticmethod
    def random_play(env, seed, each_turn=lambda env, agent: None):
        """Play bare random moves to the end and call `each_turn` before each of them."""
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        while env.awaiting:
            agent = env.agent_selection
            each_turn(env, agent)
            legal = env.infos[agent]["legal_actions"]
            env.step(answer(legal[int(rng.integers(len(legal)))]))
        return env.episode

    make = staticmethod(coevo.envs.make)


@pytest.fixture
def walks():
    return Walks
