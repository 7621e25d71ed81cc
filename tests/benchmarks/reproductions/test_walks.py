"""Corridors with a sign, mazes and houses in which claims let agents walk."""

from coevo.benchmarks.reproductions.claims import quest_matrix
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


def test_a_table_sees_what_matters_of_a_house():
    env = make(quest_matrix.ENV, prompt_style="terse", rooms=2, objects=3, steps=1)
    env.reset(seed=1)
    seen = quest_matrix.sees(env.task.terse("explorer_0"))
    thing, room = env.task.info("explorer_0")["errand"]
    assert seen == f"{thing} nothing {room == env.task.info('explorer_0')['room']}"
    assert env.task.numbers == quest_matrix.WORDS
