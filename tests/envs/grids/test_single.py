"""Mazes, quests and rule worlds: what is built, what the shortest way is, what the maximum is."""

import itertools

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.grids.parallel import grid_env
from coevo.envs.grids.rule_world import KINDS, Level, Situation, advance, best, level
from coevo.envs.rewards import Regret

MAZE, QUEST, RULES = "coevo/maze_paired-v0", "coevo/quest-v0", "coevo/rule_world-v0"


def built(*cells, **options):
    """A maze after its designer's turns."""
    env = make(MAZE, walls=len(cells) - 2, **options)
    env.reset(seed=1)
    for cell in cells:
        assert env.agent_selection == "designer_0"
        env.step(f"[{cell}]")
    return env


def walk(env):
    """Let expert walkers walk to the end."""
    while env.awaiting:
        seat = env.agent_selection
        env.step(env.expert(seat, 1.0).texts[int(env.expert(seat, 1.0).probabilities.argmax())])
    return env.episode


def test_a_maze_is_what_its_designer_built_and_pays_by_the_step():
    env = built("a1", "c1", "b1", "b2", "a1", "c1")
    task = env.task
    assert task.outcome() == {"shortest_path": 6.0, "solvable": 1.0, "walls": 2.0}
    task.heading[1], task.heading[2] = 3, 2
    episode = walk(env)
    steps = {"protagonist_0": 6 + 1 + 1 + 1, "antagonist_0": 6 + 1 + 1}
    for seat, count in steps.items():
        assert len([t for t in episode.turns if t.agent == seat]) == count
        assert episode.total(seat) == pytest.approx(1 - 0.9 * count / 30)


def test_a_level_that_fits_has_the_arrays_of_a_designers_maze():
    """So that who was trained with a designer can be tried in mazes that are made by hand."""
    shape = make(MAZE, size=7).task.array_space.shape
    for name in ("empty", "zigzag", "rooms", "labyrinth"):
        env = make(MAZE, size=7, level=name)
        env.reset(seed=0)
        assert env.task.array(env.agent_selection).shape == shape
    assert make(MAZE, size=5, level="rooms").task.array_space.shape == shape, "it is larger"


def test_a_walled_in_goal_is_unsolvable_and_regret_pays_the_designer():
    assert built("a1", "e5", "a2", "b1").task.outcome()["solvable"] == 0
    env = make(MAZE, walls=0, rewards=[Regret()])
    env.reset(seed=0)
    env.step("[a1]")
    env.step("[b1]")
    env.task.heading[1:] = [1, 1]
    while env.awaiting:
        seat = env.agent_selection
        good = env.task.aim(env.task.seats.index(seat))
        env.step(f"[{good if seat == 'antagonist_0' else 'turn left'}]")
    assert env.episode.total("designer_0") == pytest.approx(1 - 0.9 * 3 / 30)


def test_a_taken_cell_is_drawn_anew_for_the_walkers_and_shipped_levels_need_no_designer():
    starts = set()
    for seed in range(8):
        env = make(MAZE, walls=0)
        env.reset(seed=seed)
        env.step("[c3]")
        env.step("[c3]")
        starts.add(env.task.start)
        assert env.task.start != env.task.goal
    assert len(starts) > 2
    lengths = {}
    for name in ("empty", "rooms", "zigzag", "labyrinth"):
        env = make(MAZE, level=name)
        env.reset(seed=0)
        assert "designer_0" not in env.awaiting
        lengths[name] = env.task.outcome()["shortest_path"]
    assert lengths == {"empty": 8, "rooms": 12, "zigzag": 16, "labyrinth": 14}
    with pytest.raises(ConfigError, match="'S' must be one of"):
        make(MAZE, level="####\n#SG#\n####")
    with pytest.raises(ConfigError, match="must have one goal, the letter G"):
        make(MAZE, level="####\n#P.#\n####")
    with pytest.raises(ConfigError, match="no grid world whose seats move at once"):
        grid_env(MAZE)


def test_the_array_of_a_walker_is_its_picture_and_of_the_designer_the_map():
    env = built("a1", "c1", "b1", "b2")
    for seat in env.possible_agents:
        array = env.task.array(seat)
        assert env.task.array_space.contains(array)
        rows = env.task.picture_of(seat)
        for k, letter in enumerate("#GP"):
            drawn = {(y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == letter}
            assert drawn == {(int(y), int(x)) for y, x in np.argwhere(array[k])}, letter
    assert env.task.picture_of("designer_0")[1:3] == ["#G#P..#", "#.#...#"]


@pytest.mark.parametrize("seed", range(6))
def test_the_shortest_way_of_a_quest_in_four_rooms_is_that_of_a_search_over_all_states(seed):
    task = make(QUEST, rooms=4, objects=2, steps=2, cap=1.0).task
    task.reset(np.random.default_rng(seed), {})
    start = (task.here, task.carried, tuple(task.place.items()), task.done)
    seen, edge = {start}, [start]
    for turns in itertools.count(1):
        following = []
        for here, carried, place, done in edge:
            task.here, task.carried, task.place, task.done = here, carried, dict(place), done
            for move in task.legal("explorer_0"):
                task.here, task.carried, task.place, task.done = here, carried, dict(place), done
                task.play({"explorer_0": move})
                task.turn = 0
                if task.done == 2:
                    assert turns == task.shortest
                    return
                state = (task.here, task.carried, tuple(task.place.items()), task.done)
                if state not in seen:
                    seen.add(state)
                    following.append(state)
        edge = following


def test_an_expert_needs_the_shortest_way_and_errands_can_be_paid_one_by_one():
    for seed in range(5):
        env = make(QUEST, rooms=9, objects=6, steps=4, cap=1.0, reward="step")
        env.reset(seed=seed)
        episode = walk(env)
        assert episode.outcome["turns"] == episode.outcome["shortest"]
        assert [t.rewards["payoff"] for t in episode.turns if t.rewards.get("payoff")] == [
            {"explorer_0": 0.25}
        ] * 4
    with pytest.raises(ConfigError, match="steps=3 must be at most objects=2"):
        make(QUEST, objects=2, steps=3)


ROW = frozenset((1, x) for x in range(1, 7))


def along(*kinds, moves=6, start=(1, 1)):
    """What walking east pays, step by step, along a row of things."""
    world = Level(ROW, start, tuple(((1, 2 + k), kind) for k, kind in enumerate(kinds)))
    now, paid = Situation(start, (1 << len(kinds)) - 1, 0, False), []
    for step in range(moves):
        now, amount = advance(world, now, 1, step)
        paid.append(amount)
    return paid, now


def test_rules_of_things_one_by_one():
    assert along("coin", "gem", "bomb", "trap", "dust", moves=5)[0] == [1, 3, -2, -1, 0]
    assert along("key", "chest", moves=2)[0] == [0, 5]
    paid, now = along("chest", moves=3)
    assert (paid, now.at) == ([0, 0, 0], (1, 1))
    paid, now = along("mud", "coin", moves=3)
    assert (paid, now.at) == ([0, 0, 1], (1, 3))
    paid, now = along("crate", "spring", moves=3)
    assert (paid, now.at) == ([0, 0, 0], (1, 1))
    assert along("dust", "fruit", moves=2)[0] == [0, 0]
    assert along("dust", "dust", "dust", "dust", "fruit", moves=5)[0][-1] == 0
    assert along("crate", "dust", "dust", "dust", "fruit", moves=6)[0][-1] == 2


def test_the_maximum_is_that_of_trying_all_ways():
    for number in range(3):
        world = level(number, 4)
        start = Situation(world.start, 15, 0, False)
        found = 0.0
        for way in itertools.product((None, 0, 1, 2, 3), repeat=5):
            now, paid = start, 0.0
            for step, heading in enumerate(way):
                now, amount = advance(world, now, heading, step)
                paid += amount
            found = max(found, paid)
        assert best(world, 5)(start, 5) == found


def test_worlds_are_generated_by_their_number_and_an_expert_reaches_their_maximum():
    assert level(3, 6) == level(3, 6) != level(4, 6)
    assert {kind for n in range(60) for _, kind in level(n, 6).things} == {*KINDS}
    env = make(RULES)
    env.reset(seed=0, options={"world": 2})
    episode = walk(env)
    assert episode.outcome["world"] == 2
    assert episode.outcome.get("normalised", 1.0) == 1.0
    assert episode.total("walker_0") == episode.outcome["maximum"]


def test_a_skin_exchanges_letters_and_hidden_rules_are_not_told():
    plain, other = (make(RULES, skin=skin).task for skin in ("plain", "inverted"))
    for task in (plain, other):
        task.reset(np.random.default_rng(0), {"world": 5})
    seat = "walker_0"
    assert plain.array(seat).tolist() == other.array(seat).tolist()
    assert plain.lines(plain.array(seat)) != other.lines(other.array(seat))
    silent = make(RULES, reveal=False).task
    silent.reset(np.random.default_rng(0), {"world": 5})
    assert "point" not in silent.legend() and "coin" not in silent.terse(seat)


def test_planes_that_follow_a_walk_are_those_of_the_situation_drawn_anew():
    task, rng, gone = make(RULES, steps=40).task, np.random.default_rng(0), 0
    for world in range(12):
        task.reset(rng, {"world": world})
        while task.to_move():
            task.play({"walker_0": task.moves[int(rng.integers(len(task.moves)))]})
            seen, whole = task.array("walker_0"), task.state_array()
            task._show()
            assert np.array_equal(seen, task.array("walker_0"))
            assert np.array_equal(whole, task.state_array())
        gone += len(task.level.things) - task.now.there.bit_count()
    assert gone > 12
