"""Payoffs decide what tables learn: short runs of what `coevo reproduce` does in full."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions import (
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
from coevo.envs.societies.sequential_goods import equilibrium


def test_the_payoffs_have_the_paths_that_are_named():
    assert equilibrium(mac_spgg.PAPER).path == (0.4, 1.0, 1.0)
    assert equilibrium(mac_spgg.PLAIN).path == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("goods", "sign"), [(mac_spgg.PLAIN, -1), (mac_spgg.PAPER, 1)])
def test_contributions_move_to_the_equilibrium(goods, sign):
    found = [sum(update) for update in mac_spgg.course(goods, seed=0, steps=14)]
    assert sign * (found[-1] - found[0]) > 0.4


@pytest.mark.parametrize(
    ("mechanisms", "low", "high"),
    [
        ((), 0.0, 0.2),
        ((punishment.PAID,), 0.8, 1.0),
        ((replace(punishment.PAID, fine=0.0),), 0.0, 0.2),
    ],
    ids=["none", "paid", "without a fine"],
)
def test_strangers_cooperate_where_a_fine_is_paid(monkeypatch, mechanisms, low, high):
    monkeypatch.setattr(punishment, "ROUNDS", 1)
    found = punishment.course(mechanisms, seed=0, steps=30)
    assert low <= found[-1]["cooperation"] <= high


def test_more_brackets_are_worth_more_to_the_planner():
    flat, two = (two_level.economy(b) for b in (two_level.FLAT, two_level.BRACKETS))
    untaxed = two_level.planned(flat, (0.0,))
    assert two_level.optimum(two)[0] - 3 > two_level.optimum(flat)[0] > untaxed + 3
    # A worker of skill 2 without taxes maximises 2 L - 0.02 L^2 at 50 hours.
    assert two_level.best_hours(flat, (0.0,))[2] == 50.0


def test_the_planner_rests_while_workers_adapt():
    found = two_level.course(two_level.FLAT, seed=0, steps=24)
    first, drawn = found[0], found[-1]
    workers = [f"return/worker_{i}" for i in range(4)]
    assert sum(drawn[w] for w in workers) > sum(first[w] for w in workers) + 20
    assert abs(drawn["tax_rate"] - 0.5) < 0.15  # drawn evenly from five rates


def test_citizens_learn_what_their_signals_are_worth():
    case = steering.CASES["altruist, belief 0.3"]
    found = steering.course(case, seed=0, steps=40)
    assert found[-1]["errors"] < found[0]["errors"] - 0.05


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


def test_norms_spread_where_they_are_copied():
    copied = cultural_evolution.course(Levels(), seed=0)
    fresh = cultural_evolution.course(Levels(), seed=0, shown=0)
    assert copied[-1] > copied[0] + 0.5 > fresh[-1] + 0.4
    assert copied[0] == fresh[0], "the first generation is drawn in both"


def test_without_knowing_what_others_gave_donations_fall():
    found = cultural_evolution.course(Levels(), seed=0, options={"trace": 0})
    assert found[-1] < found[0] - 0.2


def test_numeric_rules_fall():
    found = cultural_evolution.course(Numbers(), seed=0, generations=15, levels=21)
    assert found[-1] < found[0] - 0.2
