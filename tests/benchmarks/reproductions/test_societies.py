"""Payoffs decide what tables learn: short runs of what `coevo reproduce` does in full."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions import mac_spgg, punishment
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
