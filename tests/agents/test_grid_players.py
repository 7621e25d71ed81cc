"""Scripted players of grid worlds act on what their seat sees."""

import numpy as np
import pytest

from coevo.agents.agent import request_of
from coevo.agents.registry import scripted
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.grids.world import HEADINGS

ROOM = "#######\n#PP...#\n#.....#\n#..A..#\n#.R...#\n#######"


def said(name, env_id, places, **options):
    """What a player replies as the first of seats at cells with headings."""
    env = make(env_id, map=ROOM, **options)
    env.reset(seed=0)
    task = env.task
    for i in range(len(places)):
        task.take(i)
    for i, (row, column, heading) in enumerate(places):
        task.heading[i] = HEADINGS.index(heading)
        task.put(i, (task.pad + row, task.pad + column))
    task._shown = None
    env._infos = {}
    request = request_of(env, task.seats[0], np.random.default_rng(0), inside=True)
    return scripted(name).act([request])[0].text


def test_players_go_for_apples_others_and_waste():
    apples, gathering = {"gatherers": 2}, "coevo/gathering-v0"
    away = (1, 2, "east")
    assert said("forager", gathering, [(3, 1, "east"), away], **apples) == "[forward]"
    assert said("forager", gathering, [(3, 1, "north"), away], **apples) == "[right]"
    assert said("forager", gathering, [(4, 5, "east"), away], **apples) == "[turn right]"
    ahead = [(1, 1, "east"), (1, 4, "north")]
    assert said("guard", gathering, ahead, **apples) == "[beam]"
    assert said("guard", gathering, [(3, 1, "east"), away], **apples) == "[forward]"
    river = {"agents": 2, "dirty": 1.0}
    places = [(4, 1, "east"), away]
    assert said("river_cleaner", "coevo/cleanup-v0", places, **river) == "[clean]"
    assert said("river_cleaner", "coevo/cleanup-v0", places, agents=2, dirty=0.0) == "[forward]"


def test_they_refuse_what_they_do_not_know():
    env = make("coevo/ocean-v0")
    env.reset(seed=0)
    request = request_of(env, "vessel_0", np.random.default_rng(0), inside=True)
    with pytest.raises(ConfigError, match="forager plays grid worlds with headings"):
        scripted("forager").act([request])
