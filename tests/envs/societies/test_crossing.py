"""Crossings against their closed forms, for few travellers and many."""

from itertools import product

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.crossing import (
    WAYS,
    CrossingConfig,
    equilibrium,
    expected_minutes,
    exploitability,
    minutes,
    potential,
)

ID, EVEN = "coevo/crossing-v0", np.full(3, 1 / 3)
RIVERS = [CrossingConfig(), CrossingConfig(base=(3.0, 0.0, 1.0), slow=(0.1, 2.0, 0.7))]


def alike(odds_R, travellers):
    return np.tile(odds_R, (travellers, 1))


def worth(config, odds_R, travellers):
    """Return what a traveller expects to be paid where all draw alike."""
    return -float(odds_R @ expected_minutes(config, alike(odds_R, travellers))[0])


@pytest.mark.parametrize("river", RIVERS)
@pytest.mark.parametrize("travellers", [2, 3, 6, 12, 50])
def test_no_traveller_gains_in_equilibrium(river, travellers):
    odds_R = equilibrium(river, travellers)
    assert odds_R.sum() == pytest.approx(1) and odds_R.min() >= 0
    assert exploitability(river, alike(odds_R, travellers)) == pytest.approx(0, abs=1e-9)
    assert exploitability(river, alike(EVEN, travellers)) > 0.05


@pytest.mark.parametrize("river", RIVERS)
def test_who_changes_ways_changes_the_potential_by_what_it_gains(river):
    rng = np.random.default_rng(0)
    for _ in range(50):
        taken = rng.integers(3, size=7)
        i, way = int(rng.integers(7)), int(rng.integers(3))
        before, other = np.bincount(taken, minlength=3), taken.copy()
        other[i] = way
        after = np.bincount(other, minlength=3)
        gain = minutes(river, before)[taken[i]] - minutes(river, after)[way]
        assert potential(river, before) - potential(river, after) == pytest.approx(gain)


def test_the_references_are_exact():
    refs, river = spec(ID).refs, CrossingConfig()
    assert refs["random"] == pytest.approx(worth(river, EVEN, 6))
    assert refs["equilibrium"] == pytest.approx(worth(river, equilibrium(river, 6), 6))
    every = [n for n in product(range(7), repeat=3) if sum(n) == 6]
    least = min(every, key=lambda n: n @ minutes(river, n))
    assert least == (2, 3, 1) and refs["oracle"] == -(least @ minutes(river, least)) / 6


def test_games_pay_minutes_and_say_what_could_have_been_saved():
    task = make(ID).task
    task.reset(np.random.default_rng(0), {})
    moves = dict(zip(task.seats, ["bridge"] * 3 + ["ferry"] * 2 + ["tunnel"], strict=True))
    paid = task.play(moves)
    assert list(paid.values()) == [-4.0] * 3 + [-3.0] * 2 + [-5.25]
    assert task.outcome() == {
        "minutes": pytest.approx(23.25 / 6),
        "potential": (2 + 3 + 4) + (2.5 + 3) + 5.25,
        "regret": 1.75,  # from the tunnel to the ferry
    }
    assert task.to_move() == () and task.draw() == "bridge: 3, ferry: 2, tunnel: 1"


def test_how_many_travel_is_drawn_or_named_and_may_be_kept_from_them():
    open_, kept = (make(ID, travellers=(2, 4), known=known).task for known in (True, False))
    assert open_.difficulties == (2, 4) and make(ID).task.difficulties == ()
    found = set()
    for seed in range(10):
        open_.reset(np.random.default_rng(seed), {})
        found.add(len(open_.to_move()))
    assert found == {2, 4}
    prompts, arrays = set(), set()
    for count in (2, 4):
        for task in (open_, kept):
            task.reset(np.random.default_rng(0), {"difficulty": count})
            assert task.to_move() == task.seats[:count]
        assert f"{count} travel" in open_.situation("player_0")
        prompts.add(kept.situation("player_0") + kept.terse("player_0") + kept.rules("player_0"))
        arrays.add(tuple(kept.array("player_0").tolist()))
    assert len(prompts) == len(arrays) == 1
    with pytest.raises(ConfigError, match="one of 2, 4"):
        kept.reset(np.random.default_rng(0), {"difficulty": 3})
    with pytest.raises(ConfigError, match="must grow"):
        CrossingConfig(travellers=(4, 2))


def test_experts_draw_as_in_equilibrium():
    task = make(ID).task
    task.reset(np.random.default_rng(0), {})
    replies = task.expert("player_0", 1.0)
    odds = dict(zip(*replies, strict=True))
    assert [odds[f"[{way}]"] for way in WAYS] == pytest.approx([0.4, 0.6, 0.0])
