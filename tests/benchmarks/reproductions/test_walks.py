"""Corridors with a sign, mazes and houses in which claims let agents walk."""

import numpy as np
import torch

from coevo.benchmarks.reproductions.claims import dcg_maze, novelty_maze, quest_matrix
from coevo.benchmarks.reproductions.claims import robust_retraining as robust
from coevo.benchmarks.reproductions.claims.targeted_attack import SEEN
from coevo.envs import make

LIE = tuple(1 - shows for shows in robust.TRUTH)
EAST, WEST, CHECKS = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
BELIEVES = (EAST, WEST) * (len(SEEN) // 2)


def test_who_believes_a_sign_ends_where_it_says_and_who_checks_at_the_goal():
    assert robust.ends(BELIEVES, robust.TRUTH, 0)["goal"] == 1
    assert robust.ends(BELIEVES, LIE, 0)["decoy"] == 1
    checks = ((CHECKS,) * len(SEEN)) + BELIEVES
    for shows in (robust.TRUTH, LIE):
        found = robust.ends(checks, shows, 0)
        assert found["goal"] == 1
        assert found["return/player_0"] == 1 - 2 * 0.02  # two squares to the goal


def test_steps_of_many_meet_the_walls_that_one_meets():
    rng = np.random.default_rng(0)
    at_M2 = rng.uniform(-3, 3, (4000, 2))
    to_M2 = at_M2 + rng.normal(0, 0.6, at_M2.shape)
    found = dcg_maze.blocked(at_M2, to_M2)
    each = [novelty_maze.blocked(*a, *b) for a, b in zip(at_M2, to_M2, strict=True)]
    assert found.tolist() == each and 0 < sum(each) < 4000


def test_a_member_that_stays_spends_nothing_and_fills_the_cell_of_the_start():
    steps, spared_M, end_M2 = dcg_maze.walked(torch.zeros(2, dcg_maze.POLICY.numbers))
    assert spared_M.tolist() == [1.0, 1.0] and not end_M2.any()
    assert len(steps.reward_B) == 2 * novelty_maze.MOVES and steps.ends_B.sum() == 2


def test_a_table_sees_what_matters_of_a_house():
    env = make(quest_matrix.ENV, prompt_style="terse", rooms=2, objects=3, steps=1)
    env.reset(seed=1)
    seen = quest_matrix.sees(env.task.terse("explorer_0"))
    thing, room = env.task.info("explorer_0")["errand"]
    assert seen == f"{thing} nothing {room == env.task.info('explorer_0')['room']}"
    assert env.task.numbers == quest_matrix.WORDS
