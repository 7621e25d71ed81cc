"""What a play remembers of its steps is what its history says, and chance is NumPy's."""

import numpy as np
import pyspiel
import pytest

from coevo.envs import make
from coevo.envs.games.openings import drawn
from coevo.envs.games.story import narrated, since, story


@pytest.mark.parametrize(
    "options",
    [
        {"id": "coevo/tic_tac_toe-v0"},
        {"id": "coevo/pig-v0"},
        {"id": "coevo/backgammon-v0", "max_cycles": 30},
        {"id": "coevo/connect_four-v0", "openings": 6},
        {"id": "coevo/openspiel-v0", "game": "goofspiel(num_cards=4,imp_info=False)"},
        {"id": "coevo/openspiel-v0", "game": "matrix_pd"},
    ],
    ids=lambda options: f"{options['id']} {options.get('game', '')}",
)
def test_steps_told_as_they_are_made_are_those_of_the_history(options):
    env, rng = make(**options), np.random.default_rng(0)
    for seed in range(5):
        env.reset(seed=seed)
        while env.awaiting:
            task, player = env.task, env.task.seats.index(env.agent_selection)
            steps = story(task.state, task.name_of)
            assert narrated(since(steps, player)[1], player) == narrated(
                since(task._steps, player)[1], player
            )
            assert task.news(task.state, player) == task.news(task.state.clone(), player)
            legal = env.last()[4]["legal_actions"]
            env.step(f"[{legal[int(rng.integers(len(legal)))]}]")


@pytest.mark.parametrize("game", ["kuhn_poker", "backgammon", "pig", "bargaining"])
def test_chance_is_drawn_as_by_choice(game):
    state = pyspiel.load_game(game).new_initial_state()
    for action in () if state.is_chance_node() else (0,):
        state.apply_action(action)
    outcomes, chances = zip(*state.chance_outcomes(), strict=True)
    ours, numpys = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(500):
        assert drawn(state, ours) == int(numpys.choice(outcomes, p=chances))
    assert ours.random() == numpys.random(), "as many numbers were taken"
