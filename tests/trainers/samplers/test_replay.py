"""Old episodes that come back: whose, how many, with which advantage, and after a restart."""

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from coevo.envs.core.config import read
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.trainers.build import build
from coevo.trainers.samplers.kept import Kept, alone
from coevo.trainers.samplers.replay import Replay, ReplayBuffer, recalibrate


def turn(seat, token, paid=None, version=3):
    written = Turn(seat, ({"role": "user", "content": "go"},), str(token), None, Status.LEGAL, None)
    written.player, written.version = "policy", version
    written.prompt_ids, written.token_ids, written.logprobs = [1, 2], [token, 0], [-0.5, -0.25]
    written.pay("payoff", paid or {})
    return written


def episode(*seats, token=5, reward=1.0):
    turns = [turn(s, token + i, {s: reward} if i == 0 else None) for i, s in enumerate(seats)]
    return Episode("coevo/some-v0", 0, {}, tuple(dict.fromkeys(seats)), turns=turns)


def play(reward=1.0, advantage=0.5, group=0, step=1, token=5, seat=""):
    return Kept(episode("a", token=token, reward=reward), group, step, reward, advantage, seat)


def update(step, groups=4, size=2, **rest):
    """Return an update: `size` episodes of each group, every one with a token of its own."""
    return [
        play(group=g, step=step, token=1000 * step + 10 * g + i, **rest)
        for g in range(groups)
        for i in range(size)
    ]


def rng(seed=0):
    return np.random.default_rng(seed)


def make(name, **options):
    return read(Replay, {"name": name, **options}).buffer() if name != "none" else ReplayBuffer()


# ---- None -------------------------------------------------------------------------------------


def test_without_replay_everything_is_fresh():
    buffer = make("none")
    buffer.add(update(0))
    mix = buffer.mix(6, 1, rng())
    assert (mix.fresh, mix.replayed) == (6, ())
    assert buffer.extra(1, rng()) is None
    assert mix.join(["e"], [3]) == (["e"], [3])
    buffer.load_state_dict(json.loads(json.dumps(buffer.state_dict())))
    with pytest.raises(DataError, match="without memory"):
        buffer.load_state_dict({"items": []})


# ---- ReMix ------------------------------------------------------------------------------------


def test_remix_brings_back_whole_groups_of_the_last_updates_only():
    buffer = make("remix_replay", share=1.0, last=2)
    for step in range(5):
        buffer.add(update(step))
    mix = buffer.mix(20, 5, rng())
    assert mix.fresh == 20 - 8
    assert {k.step for g in mix.replayed for k in g} == {3, 4}
    assert all(len(g) == 2 and len({(k.step, k.group) for k in g}) == 1 for g in mix.replayed)
    assert len({(g[0].step, g[0].group) for g in mix.replayed}) == 8
    assert make("remix_replay", share=0.0).mix(20, 5, rng()).replayed == ()


def test_remix_never_brings_back_the_update_that_is_being_played():
    buffer = make("remix_replay", share=1.0)
    buffer.add(update(4))
    assert buffer.mix(4, 4, rng()).fresh == 4
    assert buffer.mix(4, 5, rng()).fresh == 1  # one group of an update is always fresh
    assert buffer.mix(9, 6, rng()).fresh == 5
    assert buffer.mix(4, 7, rng()).fresh == 4


def test_remix_replays_the_share_that_was_asked_for():
    buffer = make("remix_replay", share=0.4, last=2)
    for step in (8, 9):
        buffer.add(update(step, groups=100, size=1))
    counts = [len(buffer.mix(100, 10, rng(seed)).replayed) for seed in range(200)]
    assert np.mean(counts) == pytest.approx(40, abs=1.5)
    assert np.std(counts) == pytest.approx(np.sqrt(100 * 0.4 * 0.6), rel=0.2)


def test_remix_ends_with_the_reincarnation():
    buffer = make("remix_replay", share=1.0, until=6)
    buffer.add(update(4))
    assert buffer.mix(4, 5, rng()).fresh == 1
    learner = Mock()
    for step in range(9):
        buffer.before_update(step, [learner])
        assert learner.move_reference.call_count == (step >= 6)
    assert buffer.mix(4, 6, rng()).fresh == 4
    buffer.add(update(6))
    assert buffer.mix(4, 7, rng()).fresh == 4
    assert buffer.state_dict() == {"items": []}


def test_remix_keeps_no_more_than_it_can_use():
    buffer = make("remix_replay", last=3)
    for step in range(10):
        buffer.add(update(step, groups=2))
    assert {item["step"] for item in buffer.state_dict()["items"]} == {7, 8, 9}


def test_mixed_groups_have_keys_of_their_own():
    buffer = make("remix_replay", share=1.0)
    buffer.add(update(0, groups=2))
    mix = buffer.mix(3, 1, rng())
    fresh = [episode("a", token=77), episode("a", token=78)]
    episodes, groups = mix.join(fresh, [7, 7])
    assert episodes[:2] == fresh and groups == [7, 7, 8, 8, 9, 9]
    assert mix.join([], [])[1] == [0, 0, 1, 1]
    tokens = [e.turns[0].token_ids[0] // 10 for e in episodes[2:]]
    assert tokens[0] == tokens[1] != tokens[2] == tokens[3]
    batch = build(episodes, groups)
    assert batch.keys["group"].tolist() == [0, 0, 1, 1, 2, 2]


# ---- SPEAR ------------------------------------------------------------------------------------


def test_rewards_are_compared_with_the_median_of_group_means():
    means = [0.2, 0.4, 0.6, 0.5]
    assert recalibrate([1.0, 0.5, 0.25], means).tolist() == pytest.approx([0.55, 0.05, -0.2])
    scaled = recalibrate([1.0, 0.5, 0.25], means, [0.1, 0.5, 0.4, 0.6])
    assert scaled.tolist() == pytest.approx([0.55 / 0.45, 0.05 / 0.45, -0.2 / 0.45], rel=1e-5)


def test_groups_that_never_vary_do_not_blow_advantages_up():
    assert recalibrate([1.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.5]).tolist() == [1.0]
    with pytest.raises(ConfigError, match="no group means"):
        recalibrate([1.0], [])


def spear(*batches, **options):
    buffer = make("spear_replay", **{"capacity": 4} | options)
    for batch in batches:
        buffer.add(batch)
    return buffer


def test_spear_waits_for_more_than_one_and_a_half_times_its_capacity():
    buffer = spear(update(1, groups=3))  # 6 = 1.5 * 4
    assert buffer.extra(1, rng()) is None
    buffer.add([play(step=2)])
    extra = buffer.extra(2, rng())
    assert extra.taken == 7 and len(extra.items) == 4
    assert buffer.extra(2, rng()) is None and buffer.state_dict()["items"] == []
    assert len(buffer.state_dict()["means"]) == 4


def test_a_pass_is_a_random_power_of_two():
    bad = [play(reward=0.0, group=100) for _ in range(13)]
    for good, size in ((2, 2), (3, 2), (5, 4), (8, 8), (15, 8)):
        won = [play(reward=1.0, group=g) for g in range(good)]
        assert len(spear(won, bad, capacity=8).extra(1, rng()).items) == size
    many = [play(group=i, token=i) for i in range(40)]
    picked = [
        [k.group for k in spear(many, capacity=c).extra(1, rng(s)).items]
        for c, s in ((26, 0), (26, 1), (10, 0), (4, 0))
    ]
    assert [len(p) for p in picked] == [16, 16, 8, 4]
    assert all(len(set(p)) == len(p) for p in picked) and set(picked[0]) != set(picked[1])


def test_stored_advantages_are_replaced_and_what_is_now_average_is_dropped():
    # A success of a bad time: .5 was far above the mean then, and is below the median now.
    old = [play(reward=0.5, advantage=0.4, group=0, step=1), play(reward=0.1, advantage=-0.4)]
    lucky = [play(reward=r, advantage=9.0, group=0, step=2) for r in (1.0, 1.0, 0.8)]
    now = [
        play(reward=r, advantage=0.1, group=1 + i, step=2) for i, r in enumerate((0.9, 0.9, 0.9))
    ]
    buffer = spear(old, lucky, now, capacity=4)
    extra = buffer.extra(2, rng())
    assert extra.baseline == pytest.approx(np.median([0.3, 2.8 / 3, 0.9, 0.9, 0.9]))
    assert extra.taken == 7 and len(extra.items) == 4
    assert all(k.advantage == pytest.approx(k.reward - 0.9) for k in extra.items)
    assert {k.reward for k in extra.items} <= {1.0, 0.9}


def test_failures_set_the_baseline_but_are_not_stored():
    fails = [play(reward=0.0, advantage=-0.1, group=0) for _ in range(20)]
    even = [play(reward=1.0, advantage=0.0, group=1) for _ in range(20)]
    buffer = spear(fails, even)
    assert buffer.state_dict() == {"items": [], "means": [0.0, 1.0], "stds": [0.0, 0.0]}
    assert buffer.extra(1, rng()) is None


def test_seats_of_one_start_are_groups_of_their_own():
    two = [
        Kept(episode("a", "b"), 0, 1, reward, reward - 0.5, seat)
        for seat, reward in (("a", 1.0), ("b", 0.0), ("a", 0.5), ("b", 0.25))
    ]
    assert spear(two).state_dict()["means"] == [0.75, 0.125]


def test_old_successes_are_dropped_and_do_not_count():
    buffer = spear(update(1, groups=4), older=5)
    assert buffer.extra(7, rng()) is None and buffer.state_dict()["items"] == []
    assert spear(update(1, groups=4), older=5).extra(6, rng()).taken == 8


def test_the_baseline_forgets_the_oldest_groups():
    buffer = spear(*([play(reward=r, advantage=0.0, group=i)] for i, r in enumerate((9, 1, 2, 3))))
    assert spear(baseline=3).state_dict()["means"] == []
    short = spear(
        *([play(reward=r, advantage=0.0, group=i)] for i, r in enumerate((9, 1, 2, 3))), baseline=3
    )
    assert buffer.state_dict()["means"] == [9, 1, 2, 3]
    assert short.state_dict()["means"] == [1, 2, 3]


def test_scaling_divides_by_the_median_deviation():
    episodes = [play(reward=r, advantage=r - 0.5, group=g) for g in range(9) for r in (0.0, 1.0)]
    extra = spear(episodes, capacity=4, scale=True).extra(1, rng())
    assert {round(k.advantage, 4) for k in extra.items} == {0.7071}


def test_when_nothing_is_good_enough_the_pass_is_empty():
    bad = [play(reward=0.1, advantage=0.1, group=0) for _ in range(7)]
    better = [play(reward=1.0, advantage=0.0, group=1 + i) for i in range(3)]
    extra = spear(bad, better).extra(1, rng())
    assert extra.taken == 7 and extra.items == () and extra.episodes() == []


def test_only_the_seat_of_an_item_learns_from_the_pass():
    won = [
        Kept(episode("a", "b", "a", token=10 * i), i, 1, 1.0, 0.5, seat)
        for i, seat in enumerate("abababa")
    ]
    lost = [Kept(episode("a", "b"), 50 + i, 1, 0.0, -0.5, "a") for i in range(9)]
    extra = spear(won, lost).extra(1, rng())
    batch = build(extra.episodes(), range(len(extra.items)), {"policy"})
    assert len(extra.items) == 4
    seats = [("a", "b")[s] for s in batch.keys["seat"].tolist()]
    assert seats == [k.seat for k in extra.items]
    assert won[0].episode.turns[1].token_ids == [1, 0]  # the stored play is untouched
    assert batch.logp_behaviour_CL[0, :2].tolist() == [-0.5, -0.25]


def test_alone_keeps_what_the_seat_is_paid_by_others():
    whole = Episode(
        "coevo/some-v0", 0, {}, ("a", "b"), turns=[turn("a", 1), turn("b", 2, {"a": 3.0, "b": 4.0})]
    )
    batch = build([alone(whole, "a")], [0])
    assert batch.reward_BTK.tolist() == [[[3.0]]]
    with pytest.raises(ConfigError, match="seat 'c' is not in the episode"):
        alone(whole, "c")


# ---- Both -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["remix_replay", "spear_replay"])
def test_a_buffer_continues_from_json_as_if_never_stopped(name):
    options = {"capacity": 8} if name == "spear_replay" else {"share": 0.6}
    whole, first, second = (make(name, **options) for _ in range(3))
    for step in (1, 2):
        for buffer in (whole, first):
            buffer.add(update(step, groups=3))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.state_dict() == whole.state_dict()
    for buffer in (whole, second):
        buffer.add(update(3, groups=3))
    assert second.mix(9, 4, rng(5)) == whole.mix(9, 4, rng(5))
    assert second.extra(4, rng(6)) == whole.extra(4, rng(6))
    assert second.state_dict() == whole.state_dict()


@pytest.mark.parametrize("name", ["remix_replay", "spear_replay"])
def test_a_state_of_another_kind_is_refused(name):
    buffer = make(name)
    with pytest.raises(DataError, match="key items"):
        buffer.load_state_dict({})
    with pytest.raises(DataError, match="not a kept play: KeyError"):
        buffer.load_state_dict({"items": [{"group": 1}], "means": [], "stds": []})


def test_a_spear_state_without_its_groups_is_refused():
    with pytest.raises(DataError, match="as many means as stds"):
        make("spear_replay").load_state_dict({"items": []})
    with pytest.raises(DataError, match="as many means as stds"):
        make("spear_replay").load_state_dict({"items": [], "means": [1.0], "stds": []})


def test_plays_without_log_probabilities_are_refused():
    short = play()
    short.episode.turns[0].logprobs = [-0.5]
    silent = replace(play(), episode=alone(episode("a", "b"), "b"), seat="a")
    for name in ("remix_replay", "spear_replay"):
        with pytest.raises(ConfigError, match="2 tokens and 1 log-probabilities"):
            make(name).add([short])
        with pytest.raises(ConfigError, match=r"kept for 'a' has tokens of the seats \[\]"):
            make(name).add([silent])


def test_a_pass_of_one_seat_needs_its_name():
    both = Kept(episode("a", "b"), 0, 1, 1.0, 0.5)
    make("remix_replay").add([both])
    with pytest.raises(ConfigError, match=r"\['a', 'b'\]; exactly one is needed"):
        make("spear_replay").add([both])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("remix_replay", {"share": 1.5}, "share=1.5"),
        ("remix_replay", {"last": 0}, "last=0"),
        ("spear_replay", {"older": 0}, "older=0"),
        ("spear_replay", {"coef": -1.0}, "coef=-1.0"),
    ],
)
def test_options_are_checked(name, options, message):
    with pytest.raises(ConfigError, match=message):
        make(name, **options)
