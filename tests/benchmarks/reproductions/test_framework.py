import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import torch

import coevo.benchmarks.reproductions as package
from coevo.benchmarks.reproductions import REPRODUCTIONS, Outcome, Row, near
from coevo.benchmarks.reproductions.tabular import (
    SoftmaxTable,
    episodes,
    generators,
    moves,
    normal,
    uniform,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    Denominators,
    LossConfig,
    NoNormalisation,
    PolicyGradient,
    PpoClip,
    advantages,
    count,
)

ROOT = Path(__file__).parents[3]
MODULES = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
PG = LossConfig(surrogate=PolicyGradient())


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_reproduction_says_what_it_shows(name):
    one = REPRODUCTIONS[name]
    assert one.name == name
    assert one.property.endswith(".")
    assert one.property.count(". ") == 0
    assert 0 < one.minutes <= (30 if one.on == "model" else 15)


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_stranger_can_follow_its_source(name):
    """A paper by its number or address, and a script that exists and imports nothing of ours."""
    source = REPRODUCTIONS[name].source
    assert re.search(r"arXiv \d{4}\.\d{5}|https://", source)
    for path in re.findall(r"studies/\w+\.py", source):
        assert not re.search(r"coevo|torch", (ROOT / path).read_text())


# ---- rows and outcomes -----------------------------------------------------------------------


def test_the_mean_over_seeds_is_held_to_the_bounds():
    assert Row("x", (0.0, 1.0), low=0.5, high=0.5).holds
    assert not Row("x", (0.0, 1.0), low=0.51).holds
    assert not Row("x", (0.0, 1.0), high=0.49).holds


def test_what_is_not_a_number_holds_no_bound():
    assert not Row("x", (float("nan"),), low=0.0).holds
    assert not Row("x", (float("nan"),)).holds


def test_spread_needs_two_seeds():
    assert Row("x", (1.0,)).spread is None
    assert Row("x", (0.0, 2.0)).spread == pytest.approx(2**0.5)


def test_near_is_closed_on_both_sides():
    assert near("x", [0.6], 0.5, 0.1).holds
    assert near("x", [0.4], 0.5, 0.1).holds
    assert not near("x", [0.61], 0.5, 0.1).holds


def test_bounds_are_written():
    assert Row("x", (1.0,), low=0.5).bound == ">= 0.5"
    assert Row("x", (1.0,), high=0.5).bound == "<= 0.5"
    assert Row("x", (1.0,), 0.7, 0.5, 2.0).bound == "0.5 to 2"
    assert Row("x", (1.0,)).bound == ""


def test_an_outcome_holds_with_all_its_figures():
    good, bad, seen = Row("x", (1.0,), low=0.0), Row("x", (1.0,), high=0.0), Row("x", (1.0,))
    assert Outcome((good, seen)).holds
    assert not Outcome((good, bad)).holds
    assert not Outcome((seen,)).holds
    assert not Outcome(()).holds


# ---- tabular policies ------------------------------------------------------------------------


def test_arms_come_up_as_often_as_the_policy_plays_them():
    policy = SoftmaxTable(torch.tensor([[0.3, 0.6, 0.1], [0.0, 0.5, 0.5]]).log())
    arm_CG = policy.draw(uniform(generators([0]), 2, 20_000)[0])
    shares = torch.stack([(arm_CG == k).double().mean(1) for k in range(3)], dim=1)
    assert shares == pytest.approx(policy.probabilities_CA(), abs=0.015)
    assert shares[1, 0] == 0


def test_repeated_rows_give_the_expected_gradient():
    """Ten rows in the shares .3, .6, .1 give sum_a b(a) A(a) (1[a] - pi)."""
    policy = SoftmaxTable(torch.tensor([[0.2, 0.5, -0.1]]))
    arm_B = torch.tensor([0] * 3 + [1] * 6 + [2])
    reward_A, odds_A = torch.tensor([0.0, 0.8, 1.0]).double(), torch.tensor([0.3, 0.6, 0.1])
    a_BL = advantages(
        AdvantageConfig(normalise=NoNormalisation()), episodes(reward_A[arm_B])
    ).advantage_BS
    played, pi_A = moves(torch.zeros_like(arm_B), arm_B), policy.probabilities_CA()[0]
    before = policy.logits_CA.detach().clone()
    policy.update(PG, played, a_BL, count(played.mask_CL, 1), lr=0.5)
    weight_A = odds_A * (reward_A - 0.58)
    expected_A = 0.5 * (weight_A - pi_A * weight_A.sum())
    assert (policy.logits_CA.detach() - before)[0] == pytest.approx(expected_A, abs=1e-7)


def test_epochs_keep_the_probabilities_of_the_start():
    """With PPO's clip the ratio stops at its bound, counted from the start of the update."""
    policy = SoftmaxTable(torch.zeros(1, 2))
    played = moves(torch.tensor([0]), torch.tensor([0]))
    ones, spec = torch.ones(1, 1).double(), LossConfig(surrogate=PpoClip())
    policy.update(spec, played, ones, Denominators(1, 1, 1), lr=0.01, epochs=200)
    assert float(policy.probabilities_CA()[0, 0]) == pytest.approx(0.6, abs=0.005)


def test_a_seed_gives_the_same_numbers_alone():
    for draw in (uniform, normal):
        assert torch.equal(draw(generators([0, 7]), 3)[1], draw(generators([7]), 3)[0])


def test_plays_of_several_components_and_turns():
    batch = episodes(torch.zeros(2, 3), ("a", "b", "c"), group=torch.tensor([4, 5]))
    assert batch.reward_BTK.shape == (2, 1, 3)
    assert batch.key_B("group").tolist() == [0, 1]
    cut = torch.tensor([[True, True], [True, False]])
    assert episodes(torch.zeros(2, 2, 1), mask_BT=cut).turn_of_BS.tolist() == [[0, 1], [0, -1]]
