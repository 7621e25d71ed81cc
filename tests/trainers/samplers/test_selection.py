"""Which groups are learnt from, and the episodes it takes to find enough of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.errors import ConfigError
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components import GroupStd
from coevo.trainers.samplers.selection import KeepAll, KeepDynamic, Refilled, RefillError, refill

MIX = np.array([0.0, 0.05, 0.5, 0.95, 1.0])


def test_only_groups_between_none_and_all_correct_are_kept():
    score = [0, 0, 1, 1, 1, 0, 0.5, 0.5]
    group = [9, 9, 4, 4, 7, 7, 1, 1]
    assert KeepDynamic()(score, group).tolist() == [7]
    assert KeepAll()(score, group).tolist() == [1, 4, 7, 9]


def test_a_group_of_one_is_not_informative():
    assert KeepDynamic()([1.0, 0.0], [0, 1]).tolist() == []


def test_narrower_bounds_drop_nearly_solved_starts():
    score = [*(1, 1, 1, 0), *(1, 0, 0, 0), *(1, 0, 1, 0)]
    group = np.repeat([0, 1, 2], 4)
    assert KeepDynamic()(score, group).tolist() == [0, 1, 2]
    assert KeepDynamic(low=0.25, high=0.75)(score, group).tolist() == [2]


def test_seats_are_judged_apart_where_they_are_normalised_apart():
    # Zero-sum play of two seats: in group 0 the first seat always wins.
    score = [1, -1, 1, -1, 1, -1, -1, 1]
    group, seat = [0, 0, 0, 0, 1, 1, 1, 1], [0, 1] * 4
    assert KeepDynamic(low=-1.0)(score, group).tolist() == [0, 1]
    assert KeepDynamic(low=-1.0)(score, group, seat).tolist() == [1]


def test_a_payoff_needs_its_own_bounds():
    with pytest.raises(ConfigError, match=r"outcome -1.0 is no accuracy.*low=-1"):
        KeepDynamic()([1, -1], [0, 0])
    assert KeepDynamic(low=-1.0)([1, -1], [0, 0]).tolist() == [0]
    assert KeepDynamic(low=0.0, high=5.0)([5, 2], [0, 0]).tolist() == [0]


@pytest.mark.parametrize(
    ("score", "group", "options", "message"),
    [
        ([1, 0], [0, 0], {"low": 1.0}, "low=1.0 must be below high=1.0"),
        ([1, 0], [0, 0], {"tries": 0}, "tries=0"),
        ([1, 0, 1], [0, 0], {}, "must be one"),
        ([np.nan, 0], [0, 0], {}, "not a finite number"),
    ],
)
def test_bad_input_is_refused(score, group, options, message):
    with pytest.raises(ConfigError, match=message):
        KeepDynamic(**options)(score, group)


OUTCOMES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.1 + 0.2, 1.0])), min_size=1
)


@given(OUTCOMES, st.randoms(use_true_random=False))
def test_the_order_of_trajectories_does_not_matter(episodes, shuffle):
    def kept(rows):
        return KeepDynamic()([s for _, s in rows], [g for g, _ in rows]).tolist()

    moved = list(episodes)
    shuffle.shuffle(moved)
    assert kept(moved) == kept(episodes)
    varied = {g for g, _ in episodes if len({s for k, s in episodes if k == g}) > 1}
    assert set(kept(episodes)) == varied


# ---- Refill -----------------------------------------------------------------------------------


def generation(rng, groups, size):
    """Play groups of tasks whose success rates are those of the mix; an episode is its outcome."""
    rates = rng.choice(MIX, groups)
    return [(rng.random(size) < p).astype(float).tolist() for p in rates]


def informative(groups):
    score = np.concatenate(groups)
    kept = KeepDynamic()(score, np.repeat(np.arange(len(groups)), [len(g) for g in groups]))
    return np.isin(np.arange(len(groups)), kept)


def test_every_kept_group_has_an_advantage_and_the_waste_is_reported():
    rng, size, needed = np.random.default_rng(0), 8, 400
    found = refill(lambda batch: generation(rng, 400, size), needed, informative, tries=10)
    assert len(found.groups) == needed
    rows = [[r] for group in found.groups for r in group]
    keys = np.repeat(np.arange(needed), size).tolist()
    spec = AdvantageConfig(normalise=GroupStd())
    a = advantages(spec, Batch.from_lists(rows, group=keys))[0].advantage_CL.reshape(needed, size)
    assert bool((a.abs().amax(1) > 0).all())
    chance = float(np.mean(1 - MIX**size - (1 - MIX) ** size))  # of an informative group: 0.333
    assert found.metrics()["select/dropped_groups"] == pytest.approx(1 - chance, abs=0.03)
    assert found.wasted == pytest.approx(1 - needed * size / (found.drawn * size))
    assert found.wasted >= found.metrics()["select/dropped_groups"]
    assert found.batches == found.drawn / 400 and found.batches > 1


def test_surplus_is_cut_off_in_the_order_of_play():
    found = refill(lambda b: [(b, k) for k in range(4)], 5, lambda gs: [k > 0 for _, k in gs], 3)
    assert found.groups == ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2))
    assert (found.kept, found.drawn, found.batches, found.episodes) == (6, 8, 2, 16)
    assert found.wasted == pytest.approx(1 - 10 / 16)
    assert found.metrics() == {
        "select/wasted": found.wasted,
        "select/dropped_groups": 0.25,
        "select/batches": 2.0,
    }


def test_no_further_batch_is_played_than_needed():
    asked = []

    def draw(batch):
        asked.append(batch)
        return ["ab"]

    refill(draw, 3, lambda groups: [True], 9)
    assert asked == [0, 1, 2]


def test_giving_up_names_the_counts():
    with pytest.raises(
        RefillError, match=r"only 2 of the 4 .* after 2 .* \(6 groups, 24 episodes\)"
    ):
        refill(lambda b: [[0] * 4] * 3, 4, lambda gs: [True, False, False], 2)
    assert issubclass(RefillError, ConfigError)
    assert str(pickle.loads(pickle.dumps(RefillError("few")))) == "few"


def test_refill_checks_what_it_is_given():
    with pytest.raises(ConfigError, match="needed=0"):
        refill(lambda b: ["a"], 0, lambda gs: [True], 1)
    with pytest.raises(ValueError, match="zip"):
        refill(lambda b: ["a", "b"], 1, lambda gs: [True], 1)


def test_nothing_played_wastes_nothing():
    assert Refilled((), 0, 0, 0, 0).wasted == 0.0


def test_tries_are_those_of_the_option():
    assert KeepDynamic().tries == 10
    assert KeepDynamic(tries=3).tries == 3
    assert KeepAll().tries == 1
