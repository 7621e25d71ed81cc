"""Grid worlds: two views of one state, the arithmetic of moves and beams, experts, references."""

import functools

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from coevo.envs import list_envs, make, spec
from coevo.envs.bridges.arrays import parallel_array_env
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.grids.parallel import grid_env
from coevo.envs.grids.world import ARROWS, HEADINGS

GRIDS = [e.id for e in list_envs() if e.family == "grids"]
WORLDS = [e.id for e in list_envs() if e.family == "grids" and e.simultaneous]
GATHERING, CLEANUP = "coevo/gathering-v0", "coevo/cleanup-v0"
ROOM = "#######\n#P...P#\n#.....#\n#..A..#\n#P...P#\n#######"


def played(env_id, seed=0, rounds=12, **options):
    """Yield a task at every round of random play."""
    task, rng = make(env_id, **options).task, np.random.default_rng(seed)
    task.reset(rng, {})
    for _ in range(rounds):
        yield task
        task.play({a: str(rng.choice(task.legal(a))) for a in task.to_move()})


def around(task, i):
    """Letters around a seat, cell by cell from the drawing of the whole map."""
    rows = [line.split() for line in task.draw().split("\n") if line.startswith("#")]
    (y, x), h, c = task.at[i], task.heading[i], task.config
    found = []
    for ahead in range(c.ahead, -c.behind - 1, -1):
        line = ""
        for side in range(-c.side, c.side + 1):
            down, right = [(-ahead, side), (side, ahead), (ahead, -side), (-side, -ahead)][h]
            row, column = y - task.pad + down, x - task.pad + right
            inside = 0 <= row < len(rows) and 0 <= column < len(rows[0])
            letter = rows[row][column] if inside else "#"
            line += ARROWS[(ARROWS.index(letter) - h) % 4] if letter in ARROWS else letter
        found.append(line)
    row = list(found[c.ahead])
    row[c.side] = "@"
    found[c.ahead] = "".join(row)
    return found


@pytest.mark.parametrize("env_id", [GATHERING, CLEANUP])
def test_the_window_is_the_map_around_a_seat_turned_to_its_heading(env_id):
    for task in played(env_id):
        for i, at in enumerate(task.at):
            if at is not None:
                assert task.lines(task.array(task.seats[i])) == around(task, i)


def trace(env_id, skin):
    """Play at random; return what is the same in all skins, and what seats are told."""
    env, rng, seen, told = make(env_id, skin=skin), np.random.default_rng(1), [], []
    env.reset(seed=3)
    for _ in range(40):
        if not env.awaiting:
            break
        task, seat = env.task, env.agent_selection
        seen.append((task.array(seat).tolist(), task.state_array().tolist(), task.legal(seat)))
        told.append((task.rules(seat), *(env.chat(seat)[k]["content"] for k in (0, -1))))
        env.step(f"[{rng.choice(task.legal(seat))}]")
    totals = [env.episode.total(seat) for seat in env.possible_agents]
    return (seen, totals, env.episode.outcome), told


@pytest.mark.parametrize("env_id", [*WORLDS, "coevo/maze_paired-v0"])
def test_the_inverted_skin_changes_words_and_letters_and_nothing_else(env_id):
    (plain, told), (inverted, other) = (trace(env_id, skin) for skin in ("plain", "inverted"))
    assert plain == inverted
    assert all(a[1] != b[1] for a, b in zip(told, other, strict=True)), "rules"
    assert any(a[2] != b[2] for a, b in zip(told, other, strict=True)), "what is seen"
    for style in ("full", "terse"):
        env = make(env_id, skin="inverted", prompt_style=style)
        env.reset(seed=3)
        assert " an wall" not in str(env.chat(env.agent_selection))
        assert " a apple" not in str(env.chat(env.agent_selection))


def test_a_skin_is_told_consistently():
    task = make(GATHERING, skin="inverted").task
    rules = task.worded(task.rules("gatherer_0"))
    assert "enters the cell of a wall takes it and gets 1 point" in rules
    assert "an apple or another stops you" in rules
    assert "a is an apple, # is a wall" in rules
    task.reset(np.random.default_rng(0), {})
    array = task.array("gatherer_0")
    facts = task.facts_in(array)
    assert np.array_equal(task.encoded(task.lines(array), facts), array)


@pytest.mark.parametrize("env_id", WORLDS)
def test_text_and_array_tell_the_same(env_id):
    for task in played(env_id):
        for seat in task.to_move():
            array = task.array(seat)
            assert task.array_space.contains(array)
            said = task.situation(seat)
            window = "\n".join(" ".join(line) for line in task.lines(array))
            assert said.startswith(f"{task.in_words(task.facts_in(array))}\n{window}\n")
            assert task.encoded(task.lines(array), task.facts_in(array)).tolist() == array.tolist()
        assert task.state_space.contains(task.state_array())


@pytest.mark.parametrize("env_id", WORLDS)
def test_arrays_without_text_are_the_text_environment(env_id):
    fast, slow = grid_env(env_id), parallel_array_env(env_id)
    rng = np.random.default_rng(3)
    (seen, _), (also, _) = fast.reset(seed=5), slow.reset(seed=5)
    while fast.agents:
        asked = slow.text.awaiting
        for seat in asked:
            assert (seen[seat]["observation"] == also[seat]["observation"]).all()
            assert (seen[seat]["action_mask"] == also[seat]["action_mask"]).all()
        actions = {a: int(rng.choice(np.flatnonzero(s["action_mask"]))) for a, s in seen.items()}
        seen, paid, over, _, _ = fast.step(actions)
        also, earned, ended, _, _ = slow.step({a: actions[a] for a in asked})
        assert paid == earned and over == ended
    assert not slow.agents


@pytest.mark.parametrize("env_id", WORLDS)
def test_pettingzoo_accepts_the_arrays(env_id):
    parallel_api_test(grid_env(env_id), num_cycles=40)
    parallel_seed_test(lambda: grid_env(env_id), num_cycles=10)


def set_out(env_id, places, **options):
    """Return a task on an open map whose seats are at cells with headings."""
    task = make(env_id, map=ROOM, **options).task
    task.reset(np.random.default_rng(0), {})
    for i in range(len(places)):
        task.take(i)
    for i, (row, column, heading) in enumerate(places):
        task.heading[i] = HEADINGS.index(heading)
        task.put(i, (task.pad + row, task.pad + column))
    return task


def do(task, *moves):
    return task.play(dict(zip(task.seats, moves, strict=True)))


def cell(task, i):
    return None if task.at[i] is None else tuple(n - task.pad for n in task.at[i])


def test_moves_follow_the_heading_and_stop_at_walls_and_others():
    task = set_out(GATHERING, [(1, 1, "east"), (1, 3, "south")], gatherers=2)
    do(task, "left", "stay")
    assert cell(task, 0) == (1, 1)
    do(task, "forward", "forward")
    assert (cell(task, 0), cell(task, 1)) == ((1, 2), (2, 3))
    do(task, "turn right", "right")
    assert task.heading[0] == HEADINGS.index("south") and cell(task, 1) == (2, 2)
    do(task, "forward", "stay")
    assert cell(task, 0) == (1, 2), "another is there"
    do(task, "stay", "back")
    assert cell(task, 1) == (2, 2)


def test_a_beam_sends_the_first_one_it_meets_out_for_a_while():
    places = [(1, 1, "east"), (1, 3, "north"), (1, 5, "west")]
    task = set_out(GATHERING, places, timeout=2, hits=2)
    do(task, "beam", "stay", "stay")
    assert cell(task, 1) == (1, 3), "two hits are wanted"
    do(task, "beam", "stay", "stay")
    assert (cell(task, 1), cell(task, 2)) == (None, (1, 5))
    assert task.to_move() == ("gatherer_0", "gatherer_2")
    assert set(task.array("gatherer_1")[: len(task.ground) + 4].ravel()) == {0.0}
    task.play({"gatherer_0": "stay", "gatherer_2": "stay"})
    assert cell(task, 1) is None
    task.play({"gatherer_0": "stay", "gatherer_2": "stay"})
    assert task.at[1] in task.starts and task.outcome()["peace"] == 3 - 2 / 4


def test_an_apple_is_back_after_its_time():
    task = set_out(GATHERING, [(3, 2, "east")], gatherers=1, respawn=3)
    assert do(task, "forward") == {"gatherer_0": 1.0}
    assert [do(task, "stay")["gatherer_0"] for _ in range(4)] == [0, 0, 1, 0]


RIVER = "######\n#RRP.#\n#RRPA#\n######"


def test_nothing_grows_from_the_limit_of_waste_on_and_cleaning_costs_what_it_costs():
    options = {"map": RIVER, "agents": 2, "growth": 1.0, "pollution": 0.0}
    task = make(CLEANUP, dirty=0.5, clean_cost=1.0, cleaners=0, **options).task
    task.reset(np.random.default_rng(1), {})
    for _ in range(20):
        do(task, "stay", "stay")
    assert task.dirt == 0.5 and not task.plane("apple").any()
    for i in range(2):
        task.take(i)
        task.heading[i] = HEADINGS.index("west")
    for i in range(2):
        task.put(i, task.starts[i])
    assert do(task, "clean", "clean") == {"agent_0": -1.0, "agent_1": -1.0}
    assert task.dirt == 0 and task.plane("apple").sum() == 1
    assert "equality" not in task.outcome(), "undefined where the sum is negative"
    assert make(CLEANUP, clean_cost=1.0, hit_cost=50.0).payoff_range[0] == -(40 + 7 * 50)


def test_metrics_of_a_trace_by_hand():
    task = set_out(GATHERING, [(1, 1, "east"), (1, 3, "north")], gatherers=2)
    task.step, task.earned, task.paid_at, task.steps_out = 10, [3.0, 1.0], [[1, 2, 6], [9]], 5
    found = task.outcome()
    assert (found["efficiency"], found["peace"]) == (0.4, 1.5)
    assert (found["equality"], found["sustainability"]) == (0.75, 6.0)


def test_maps_and_seats_that_do_not_fit_are_refused():
    with pytest.raises(UnknownNameError, match="unknown map 'smal'"):
        make(GATHERING, map="smal")
    with pytest.raises(ConfigError, match="12 gatherers need as many places P, the map has 4"):
        make(GATHERING, gatherers=12)
    for wrong, why in (
        ("###\n#P\n###", "not equal"),
        ("####\n#PP.\n####", "edge"),
        ("####\n#PX#\n####", r"'X' must be one of"),
    ):
        with pytest.raises(ConfigError, match=why):
            make(GATHERING, map=wrong, gatherers=1)


def test_pictures_have_a_tile_for_each_cell():
    env = make(CLEANUP, render_mode="rgb_array")
    env.reset(seed=0)
    shown = env.render()
    assert shown.shape == (9 * 24, 12 * 24, 3) and shown.dtype == np.uint8
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) >= 6


@functools.cache
def self_play(env_id, skill, games):
    """Mean return of a seat, without text."""
    task, returns = make(env_id).task, []
    for seed in range(games):
        rng = np.random.default_rng(seed)
        task.reset(np.random.default_rng(10**6 + seed), {})
        paid = dict.fromkeys(task.seats, 0.0)
        while movers := task.to_move():
            moves = {}
            for seat in movers:
                replies, odds = task.expert(seat, skill)
                moves[seat] = replies[int(rng.choice(len(odds), p=odds))][1:-1]
            for seat, amount in task.play(moves).items():
                paid[seat] += amount
        returns.append(np.mean(list(paid.values())))
    return float(np.mean(returns)), float(np.std(returns) / games**0.5)


@pytest.mark.parametrize("env_id", GRIDS)
def test_references(env_id):
    found = spec(env_id).refs
    for skill, name, games in ((0.0, "random", 60), (1.0, "oracle", 40)):
        mean, error = self_play(env_id, skill, games)
        assert mean == pytest.approx(found[name], abs=3 * error + 0.01)
