import pytest

from coevo.benchmarks.tournament.schedule import (
    BLOCK_PLAYS,
    Schedule,
    episodes_per_task,
    first_of,
    lineups,
    pairs,
)

TWO, THREE = ("player_0", "player_1"), ("player_0", "player_1", "player_2")


def schedule(**changes):
    settings = {"seats": TWO, "pairs": (("a", "b"), ("a", "c")), "tasks": 100, "seed": 3}
    return Schedule(**settings | changes)


def all_matches(plan):
    return {
        (pair, task, match.stream): match
        for pair in plan.pairs
        for number in range(plan.blocks_per_pair)
        for task, match in plan.specs(plan.block(pair, number))
    }


def test_the_order_of_the_agents_does_not_matter():
    assert pairs(["c", "a", "b"], self_play=True) == pairs(["a", "b", "c"], self_play=True)


def test_both_seat_orders_share_a_task_and_pairs_share_none():
    found = all_matches(schedule())
    assert len(found) == 2 * 100 * 2
    for (pair, task, stream), match in found.items():
        assert match.seed == found[pair, task, 1 - stream].seed
        assert dict(match.players) == dict(zip(TWO, pair[:: 1 - 2 * stream], strict=True))
    seeds = {(pair, match.seed) for (pair, _, _), match in found.items()}
    assert len({seed for _, seed in seeds}) == len(seeds) == 200


def test_more_tasks_begin_with_the_same_ones():
    few, many = all_matches(schedule(tasks=10)), all_matches(schedule(tasks=300))
    assert all(many[key] == match for key, match in few.items())


def test_the_seed_changes_every_task():
    one, two = all_matches(schedule(seed=1)), all_matches(schedule(seed=2))
    assert not {m.seed for m in one.values()} & {m.seed for m in two.values()}


def test_blocks_cover_every_task_once_and_stay_small():
    for changes in ({}, {"adaptive": True}, {"seats": THREE}, {"tasks": 1}):
        plan = schedule(**changes)
        blocks = [plan.block(("a", "b"), n) for n in range(plan.blocks_per_pair)]
        assert [d for b in blocks for d in b.tasks] == list(range(plan.tasks))
        assert max(len(plan.specs(b)) for b in blocks) <= BLOCK_PLAYS


def test_sampling_depends_on_block_agent_and_root():
    plan = schedule()
    block, other = plan.block(("a", "b"), 0), plan.block(("a", "b"), 1)
    seeds = [block.seed(0, "a"), block.seed(0, "b"), block.seed(1, "a"), other.seed(0, "a")]
    seeds.append(plan.block(("a", "c"), 0).seed(0, "a"))
    assert len(set(seeds)) == 5
    assert block.seed(0, "a") == schedule().block(("a", "b"), 0).seed(0, "a")


def test_among_three_seats_each_agent_sits_alone_everywhere_once():
    found = lineups(THREE, ("a", "b"))
    assert len(found) == episodes_per_task(3) == 6
    alone = [
        (first_of(line), next(s for s in THREE if line[s] == first_of(line))) for line in found
    ]
    assert sorted(alone) == [(name, seat) for name in "ab" for seat in THREE]


def test_self_play_needs_one_play_per_task():
    plan = schedule(pairs=(("a", "a"),), tasks=7)
    assert plan.episodes == len(all_matches(plan)) == 7


@pytest.mark.parametrize(("seats", "plays"), [(TWO, 400), (THREE, 1200)])
def test_plays_are_counted(seats, plays):
    assert schedule(seats=seats).episodes == plays == len(all_matches(schedule(seats=seats)))
