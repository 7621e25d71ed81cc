"""Payoffs decide what tables learn: short runs of what `coevo reproduce` does in full."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions.claims import (
    cultural_evolution,
    mac_spgg,
    punishment,
    steering,
    two_level,
)
from coevo.benchmarks.reproductions.donor_sentences import (
    Levels,
    Numbers,
    carried_out,
    level_sentence,
    number_sentence,
    stands,
)
from coevo.benchmarks.reproductions.run import trained
from coevo.envs.societies.sequential_goods import equilibrium


def log(claim, arm, steps, **options):
    """Return the metrics of the updates of a short run."""
    made = claim.arms[arm]
    made = replace(made, options={**made.options, **options})
    with trained(claim.world, made, 0, claim.changes, steps) as end:
        return end.log


def test_the_payoffs_have_the_paths_that_are_named():
    assert equilibrium(mac_spgg.GOODS["paper"][1]).path == (0.4, 1.0, 1.0)
    assert equilibrium(mac_spgg.GOODS["plain"][1]).path == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("arm", "sign"), [("plain", -1), ("paper", 1)])
def test_contributions_move_to_the_equilibrium(arm, sign):
    first, *_, last = log(mac_spgg.CLAIM, arm, 14)
    assert sign * sum(last[name] - first[name] for name in mac_spgg.GIVEN) > 0.4


@pytest.mark.parametrize(
    ("mechanisms", "low", "high"),
    [
        ((), 0.0, 0.2),
        ((punishment.PAID,), 0.8, 1.0),
        ((replace(punishment.PAID, fine=0.0),), 0.0, 0.2),
    ],
    ids=["none", "paid", "without a fine"],
)
def test_strangers_cooperate_where_a_fine_is_paid(mechanisms, low, high):
    options = punishment._with(*mechanisms).options
    found = log(punishment.CLAIM, "without", 30, rounds=1, **options)
    assert low <= found[-1]["outcome/cooperation"] <= high


def test_more_brackets_are_worth_more_to_the_planner():
    untaxed = two_level._planned(two_level.FLAT, (0.0,))
    assert two_level.BEST_TWO - 3 > two_level.BEST_FLAT > untaxed + 3
    # A worker of skill 2 without taxes maximises 2 L - 0.02 L^2 at 50 hours.
    assert two_level._best_hours(two_level.FLAT, (0.0,))[2] == 50.0


def test_the_planner_rests_while_workers_adapt():
    first, *_, drawn = log(two_level.CLAIM, "flat", 24)
    workers = [f"return/worker_{i}" for i in range(4)]
    assert sum(drawn[w] for w in workers) > sum(first[w] for w in workers) + 20
    assert abs(drawn["outcome/tax_rate"] - 0.5) < 0.15  # drawn evenly from five rates


def test_citizens_learn_what_their_signals_are_worth():
    first, *_, last = log(steering.CLAIM, "altruist, belief 0.3", 40)
    assert last["outcome/errors"] < first["outcome/errors"] - 0.05


def test_sentences_say_what_is_given():
    half, excused = level_sentence(50), level_sentence(50, standing=True)
    assert [carried_out(half, t) for t in ([], [0.5], [1.0, 0.0], [0.25, 0.0])] == [0.5] * 3 + [0]
    assert [carried_out(excused, t) for t in ([], [0.25, 0.0], [0.0, 0.5])] == [0.5, 0.5, 0]
    # Third link: the first refused a defector, who is judged by what it did to somebody unknown.
    assert stands([0.0, 0.0, 1.0], 0.5) and not stands([0.0, 0.0, 0.0], 0.5)
    assert carried_out(level_sentence(0), [1.0]) == 0
    assert carried_out(number_sentence(0.3, 0.2, -0.5), []) == 0.3
    assert carried_out(number_sentence(0.3, 0.2, -0.5), [0.2]) == pytest.approx(0.1)
    assert carried_out(number_sentence(0.3, 0.9, 0.5), [1.0]) == 1


@pytest.fixture
def evolved(monkeypatch):
    monkeypatch.setattr(cultural_evolution, "POPULATIONS", 1)
    return lambda by, **settings: cultural_evolution.evolved(by, **settings)(0)


def test_norms_spread_where_they_are_copied(evolved):
    copied, fresh = evolved(Levels()), evolved(Levels(), shown=0)
    assert copied["last"] > copied["first"] + 0.5 > fresh["last"] + 0.4
    assert copied["first"] == fresh["first"], "the first generation is drawn in both"


def test_without_knowing_what_others_gave_donations_fall(evolved):
    assert evolved(Levels(), trace=0)["rise"] < -0.2


def test_numeric_rules_fall(evolved):
    assert evolved(Numbers(), generations=15, levels=21)["rise"] < -0.2
