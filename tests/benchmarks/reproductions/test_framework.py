import re
from pathlib import Path

import pytest
import torch

from coevo.agents.models.folders import is_made
from coevo.benchmarks.reproductions import NAMES, claim
from coevo.benchmarks.reproductions.claim import ON, Arm, Claim, Expect, Figure, Once, Outcome, near
from coevo.benchmarks.reproductions.tabular import (
    SoftmaxTable,
    credited,
    episodes,
    generators,
    moves,
    normal,
    uniform,
)
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.registry import ENVS
from coevo.trainers import components as c

ROOT = Path(__file__).parents[3]
PG = {"surrogate": c.PolicyGradient()}


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_says_what_it_shows(name):
    one = claim(name)
    assert one.name == name
    assert one.property.endswith(".")
    assert one.property.count(". ") == 0
    assert one.setting and one.measured and one.chosen
    pretrained = one.world is not None and one.world.taught is not None
    assert 0 < one.minutes <= (120 if pretrained else 30 if one.on == "model" else 15)
    assert any(Figure("", (), None, e.low, e.high).bounded for e in one.expect)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_claim_names_is_there(name):
    """Arms and measures of its figures, as far as they are known without training."""
    one = claim(name)
    for expect in one.expect:
        if isinstance(expect.of, str):
            for part in re.split(" - | / ", expect.of):
                assert part.rpartition(".")[0] in one.arms, part


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_is_shown_where_it_says(name):
    """`model`, `table` and `net`: in environments that `coevo envs` lists, `toy` in others."""
    one = claim(name)
    assert one.on in ON
    worlds = [arm.world or one.world for arm in one.arms.values() if isinstance(arm, Arm)]
    for world in worlds:
        assert one.on == "model" or is_made(world.settings.get("model", "table"))
        assert ENVS[world.env].listed == (one.on in ("model", "table", "net"))
    assert not worlds or one.on != "formula"


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_can_follow_its_source(name):
    """A paper by its number or address, and a script that exists and imports nothing of ours."""
    source = claim(name).source
    assert re.search(r"arXiv \d{4}\.\d{5}|https://|^ours\b", source)
    assert ("our" in source and "experiment" in source) <= ("studies/" in source)
    for path in re.findall(r"studies/\w+\.py", source):
        assert not re.search(r"import coevo|from coevo|torch", (ROOT / path).read_text())


# ---- The record --------------------------------------------------------------------------------


def made(arms, *expect, **fields):
    texts = dict.fromkeys(("property", "source", "setting", "measured", "chosen"), "x\n    y")
    return Claim(name="n", minutes=1.0, on="formula", arms=arms, expect=expect, **texts, **fields)


def test_arms_are_measured_with_every_seed_or_once():
    one = made(
        {"each": lambda seed: {"x": 2.0 * seed}, "once": Once(lambda seed: {"x": 1.0})},
        Expect("gap", "each.x - once.x"),
        Expect("own", lambda found: [sum(found["each"]["x"])], low=0.0),
        seeds=2,
    )
    gap, own = one.run([1, 2, 3]).figures
    assert (gap.measured, own.measured) == ((1.0, 3.0), (6.0,))
    assert one.setting == "x y"


def test_arms_that_train_need_a_world():
    with pytest.raises(ConfigError, match="need a world"):
        made({"arm": Arm("grpo")})


def test_the_mean_over_seeds_is_held_to_the_bounds():
    assert Figure("x", (0.0, 1.0), low=0.5, high=0.5).holds
    assert not Figure("x", (0.0, 1.0), low=0.51).holds
    assert not Figure("x", (0.0, 1.0), high=0.49).holds


def test_what_is_not_a_number_holds_no_bound():
    assert not Figure("x", (float("nan"),), low=0.0).holds
    assert not Figure("x", (float("nan"),)).holds


def test_spread_needs_two_seeds():
    assert Figure("x", (1.0,)).spread is None
    assert Figure("x", (0.0, 2.0)).spread == pytest.approx(2**0.5)


@pytest.mark.parametrize(("measured", "holds"), [(0.6, True), (0.4, True), (0.61, False)])
def test_near_is_closed_on_both_sides(measured, holds):
    assert near("x", "a.x", 0.5, 0.1).figure({"a": {"x": (measured,)}}).holds == holds


def test_bounds_are_written():
    assert Figure("x", (1.0,), low=0.5).bound == ">= 0.5"
    assert Figure("x", (1.0,), high=0.5).bound == "<= 0.5"
    assert Figure("x", (1.0,), 0.7, 0.5, 2.0).bound == "0.5 to 2"
    assert Figure("x", (1.0,)).bound == ""


def test_an_outcome_holds_with_all_its_figures():
    good, bad = Figure("x", (1.0,), low=0.0), Figure("x", (1.0,), high=0.0)
    seen = Figure("x", (1.0,))
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
    a_BL = credited({"normalise": c.NoNormalisation()}, reward_A[arm_B])
    played, pi_A = moves(torch.zeros_like(arm_B), arm_B), policy.probabilities_CA()[0]
    before = policy.logits_CA.detach().clone()
    policy.update(PG, played, a_BL, lr=0.5)
    weight_A = odds_A * (reward_A - 0.58)
    expected_A = 0.5 * (weight_A - pi_A * weight_A.sum())
    assert (policy.logits_CA.detach() - before)[0] == pytest.approx(expected_A, abs=1e-7)


def test_epochs_keep_the_probabilities_of_the_start():
    """With PPO's clip the ratio stops at its bound, counted from the start of the update."""
    policy = SoftmaxTable(torch.zeros(1, 2))
    played = moves(torch.tensor([0]), torch.tensor([0]))
    ones, spec = torch.ones(1, 1).double(), {"surrogate": c.PpoClip()}
    policy.update(spec, played, ones, lr=0.01, epochs=200)
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
