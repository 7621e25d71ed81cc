"""Literal vectors for centres, scales and modifiers of published estimators, 4 decimals."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.advantage import AdvantageConfig, advantages, estimate
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    ActiveShare,
    AddStateGroup,
    AddTree,
    AddTurnReward,
    Align,
    AnyNormalisation,
    BatchStd,
    BatchWhiten,
    BestOfGroup,
    BetaPdf,
    BlendGlobal,
    ConstantBaseline,
    Decoupled,
    DropNegatives,
    ExpWeight,
    FilterSigma,
    GreedyBaseline,
    LogMeanExp,
    MergeEdges,
    NoBaseline,
    NoNormalisation,
    ShareSet,
    Sharpen,
    Shift,
    ToGo,
    WeighPrompts,
    beta_shape,
)
from coevo.trainers.components.normalisations import unit_interval
from coevo.trainers.estimate import Estimate
from tests.trainers.components.closeness import close

OUTCOMES = [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0], [1.0]]
LENGTHS = [[2], [3], [1], [4], [1], [2], [2], [3]]
PROMPTS = Batch.from_lists(OUTCOMES, LENGTHS, group=[0] * 4 + [1] * 4)
DR_GRPO = AdvantageConfig(normalise=NoNormalisation())


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        (
            "GPG",
            replace(DR_GRPO, transform=(ActiveShare(of="reward"),)),
            [1.3333, -1.3333, -1.3333, 1.3333, -0.6667, -0.6667, -0.6667, 2.0],
        ),
        (
            "BNPO",
            replace(DR_GRPO, normalise=BetaPdf()),
            [0.3409, -0.3409, -0.3409, 0.3409, -0.1728, -0.1728, -0.1728, 0.5185],
        ),
        (
            "OPMD, tau 1",
            replace(DR_GRPO, baseline=LogMeanExp(tau=1.0)),
            [0.3799, -0.6201, -0.6201, 0.3799, -0.3574, -0.3574, -0.3574, 0.6426],
        ),
        (
            "OPMD, tau .1",
            replace(DR_GRPO, baseline=LogMeanExp(tau=0.1)),
            [0.0693, -0.9307, -0.9307, 0.0693, -0.8614, -0.8614, -0.8614, 0.1386],
        ),
        (
            "AsymRE, beta .1",
            replace(DR_GRPO, transform=(Shift(beta=0.1),)),
            [0.6, -0.4, -0.4, 0.6, -0.15, -0.15, -0.15, 0.85],
        ),
        (
            "RED-Weight, T 1",
            replace(DR_GRPO, transform=(ExpWeight(temperature=1.0),)),
            [0.8244, -0.3033, -0.3033, 0.8244, -0.1947, -0.1947, -0.1947, 1.5878],
        ),
    ],
)
def test_prompt_groups(name, spec, expected):
    assert close(estimate(spec, PROMPTS).y, expected), name


def test_opo_is_the_group_centre_with_token_weights_and_no_option_of_its_own():
    opo = estimate(replace(DR_GRPO, weights="token"), PROMPTS).y
    lengths, rewards = torch.tensor(LENGTHS).view(2, 4), torch.tensor(OUTCOMES).view(2, 4)
    baseline = (lengths * rewards).sum(1, keepdim=True) / lengths.sum(1, keepdim=True)
    assert close(opo, (rewards - baseline).flatten())
    assert close(opo, [0.4, -0.6, -0.6, 0.4, -0.375, -0.375, -0.375, 0.625])


def test_the_soft_maximum_lies_between_mean_and_maximum():
    def soft(tau):
        return estimate(replace(DR_GRPO, baseline=LogMeanExp(tau=tau)), PROMPTS).y

    rewards = torch.tensor(OUTCOMES).flatten()
    assert close(soft(1e6), estimate(DR_GRPO, PROMPTS).y, 1e-5)
    assert close(soft(1e-4), rewards - 1.0, 2e-4)


def test_bnpo_shape():
    assert close(torch.tensor(beta_shape(torch.tensor([0.5, 0.25]))), [1.8125, 2.3542])


def test_red_drop_keeps_one_negative_of_the_second_prompt():
    a_B = estimate(replace(DR_GRPO, transform=(DropNegatives(),)), PROMPTS).y
    assert close(a_B[:4], [0.5, -0.5, -0.5, 0.5])
    assert a_B[7] == 0.5
    assert sorted(a_B[4:7].tolist()) == [-0.5, 0.0, 0.0]


def test_pass_at_k_pays_the_best_row_only():
    batch = Batch.from_lists([[1.0], [0.0], [0.5], [0.2]])
    assert close(estimate(AdvantageConfig(transform=(BestOfGroup(),)), batch).y, [1.1496, 0, 0, 0])
    plain = AdvantageConfig(transform=(BestOfGroup(std=False),))
    assert close(estimate(plain, batch).y, [0.5, 0, 0, 0])
    tie = Batch.from_lists([[1.0], [1.0], [0.5]])
    assert estimate(plain, tie).y.tolist() == [0.0] * 3


def paid(rewards, groups):
    """Build rows with several reward components in one turn."""
    reward_BTK = torch.tensor(rewards, dtype=torch.float64).unsqueeze(1)
    one = Batch.from_lists([[0.0]] * len(rewards), group=groups)
    names = tuple("abc"[: reward_BTK.shape[-1]])
    return replace(one, reward_BTK=reward_BTK, components=names)


GDPO = AdvantageConfig(compose=Decoupled(), eps=1e-4)
PAIRS = [(0, 0), (1, 0), (0, 0), (1, 1)]
EIGHT = [(1, 1), (1, 0), (0, 1), (0, 0), (1, 1), (1, 1), (0, 1), (1, 1)]


def test_gdpo_tells_pairs_apart_that_a_sum_does_not():
    batch = paid(PAIRS, [0, 0, 1, 1])
    summed = estimate(AdvantageConfig(), batch).y
    assert close(summed, [-0.7071, 0.7071, -0.7071, 0.7071])
    apart = estimate(replace(GDPO, eps=1e-6), batch).y
    assert close(apart, [-0.7071, 0.7071, -1.4142, 1.4142])


def test_gdpo_before_and_after_the_batch_norm():
    batch = paid(EIGHT, [0] * 4 + [1] * 4)
    before = [1.7318, 0, 0, -1.7318, 0.4999, 0.4999, -1.4997, 0.4999]
    assert close(estimate(GDPO, batch).y, before)
    after = [1.5274, 0, 0, -1.5274, 0.4409, 0.4409, -1.3227, 0.4409]
    assert close(estimate(replace(GDPO, transform=(BatchWhiten(),)), batch).y, after)
    summed = [1.2246, 0, 0, -1.2246, 0.4999, 0.4999, -1.4997, 0.4999]
    assert close(estimate(AdvantageConfig(eps=1e-4), batch).y, summed)


SURPRISE = replace(
    Batch.from_lists([[1.0], [0.0], [0.0], [1.0]]),
    logp_old_CL=torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]], dtype=torch.float64),
)


def test_xrpo_pays_unlikely_successes_and_never_charges_a_failure():
    a_B = estimate(AdvantageConfig(transform=(Sharpen(lam=2.5, kap=0.5),)), SURPRISE).y
    assert close(a_B, [0.8660, -0.8660, -0.8660, 1.2990])
    uncapped = estimate(AdvantageConfig(transform=(Sharpen(kap=10.0),)), SURPRISE).y
    assert close(uncapped[3] - 0.8660, 0.5530)


COPO = Batch.from_lists(
    [[1.0]] * 4 + [[1.0], [0.0], [0.0], [1.0]] + [[0.0]] * 4,
    group=[0] * 4 + [1] * 4 + [2] * 4,
    answer=[5] * 4 + [1, 2, 3, 1] + [9] * 4,
)


def test_copo_weighs_groups_by_the_entropy_of_their_answers():
    a_B = estimate(replace(AdvantageConfig(ddof=0), transform=(BlendGlobal(),)), COPO).y
    assert close(a_B[:4], [(1 - 0.0759) * 1.2247] * 4, 2e-4)
    assert close(a_B[8:], [-(1 - 0.0759) * 1.2247] * 4, 2e-4)
    # entropy of counts (2, 1, 1) is 1.0397, w .9369; its global advantage is 0
    assert close(a_B[4:8], [0.9369, -0.9369, -0.9369, 0.9369], 2e-4)


def test_copo_can_spare_groups_without_a_right_answer():
    spared = BlendGlobal(global_only_if_any_correct=True)
    a_B = estimate(replace(AdvantageConfig(), transform=(spared,)), COPO).y
    assert a_B[8:].tolist() == [0.0] * 4
    assert bool((a_B[:4] > 0).all())


# s0-a-s1-a (1), s0-a-s1-b (0), s0-b-s2-a (0)
PATHS = replace(
    Batch.from_lists([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], tokens=[[1, 2]] * 3),
    state_BT=torch.tensor([[0, 1], [0, 1], [0, 2]]),
    action_BT=torch.tensor([[0, 0], [0, 1], [1, 0]]),
)


@pytest.mark.parametrize(
    ("scale", "mode", "expected"),
    [
        (
            "no_normalisation",
            "mean_norm",
            [[1.2667, 1.1667], [-0.6333, -0.8333], [-0.6333, -0.3333]],
        ),
        (
            "group_std",
            "mean_std_norm",
            [[2.3094, 1.8618], [-1.1547, -1.2845], [-1.1547, -0.5773]],
        ),
    ],
)
def test_gigpo(scale, mode, expected):
    step = AddStateGroup(w=1.0, gamma=0.9, mode=mode)
    spec = AdvantageConfig(normalise=read(AnyNormalisation, {"name": scale}), transform=(step,))
    assert close(estimate(spec, PATHS).y, expected)
    spread_BS = advantages(spec, PATHS)[0].advantage_CL
    assert close(spread_BS, [[a, b, b] for a, b in expected])


def test_salt_gives_a_shared_edge_the_mean():
    a_BT = estimate(AdvantageConfig(transform=(MergeEdges(),)), PATHS).y
    assert close(a_BT, [[0.2887, 1.1547], [0.2887, -0.5773], [-0.5773, -0.5773]])


def test_an_action_pays_its_own_price():
    """MasHost: z of the outcomes 1 and 0 over the group, and each turn's cost as it is."""
    batch = replace(
        Batch.from_lists([[0.0, 1.0], [0.0, 0.0]]),
        reward_BTK=torch.tensor(
            [[[0.0, -0.1], [1.0, 0.0]], [[0.0, -0.2], [0.0, -0.1]]], dtype=torch.float64
        ),
        components=("payoff", "cost"),
    )
    spec = AdvantageConfig(reward_weights={"cost": 0.0}, transform=(AddTurnReward(w=0.5),))
    z = 0.5**0.5
    assert close(estimate(spec, batch).y, [[z - 0.05, z], [-z - 0.1, -z - 0.05]])


def test_tree_grpo():
    batch = Batch.from_lists([[1.0], [0.0], [1.0], [1.0]], branch=[0, 0, 1, 1])
    a_B = estimate(AdvantageConfig(transform=(AddTree(),)), batch).y
    assert close(a_B, [1.2071, -2.2071, 0.5, 0.5])


def test_polychromic_sets():
    batch = Batch.from_lists([[1.0], [0.0], [1.0], [1.0]], answer=[0, 0, 1, 2], set=[0, 0, 1, 1])
    a_B = estimate(AdvantageConfig(transform=(ShareSet(),)), batch).y
    assert a_B.tolist() == [-0.375, -0.375, 0.375, 0.375]
    shifted = replace(batch, reward_BTK=2.0 * batch.reward_BTK - 1.0)
    spec = AdvantageConfig(transform=(ShareSet(low=-1.0, high=1.0),))
    assert close(estimate(spec, shifted).y, a_B)
    ends = {"least_B": torch.full((4,), -1.0), "most_B": torch.full((4,), 1.0)}
    spec = AdvantageConfig(transform=(ShareSet(),))
    assert close(estimate(spec, replace(shifted, **ends)).y, a_B)


def test_success_is_counted_between_what_each_environment_can_pay():
    e = Estimate.of([[3.0], [1.0], [0.5], [7.0], [0.25]], "row")
    nan = float("nan")
    ends = [[1.0, 5.0], [1.0, 5.0], [0.0, 1.0], [2.0, 2.0], [nan, nan]]
    least_B, most_B = torch.tensor(ends).unbind(1)
    e = replace(e, batch=replace(e.batch, least_B=least_B, most_B=most_B))
    unit, width = unit_interval(e, None, None, "")
    assert unit.tolist() == [0.5, 0.0, 0.5, 1.0, 0.25]
    assert width.tolist() == [4.0, 4.0, 1.0, 1.0, 1.0]
    with pytest.raises(ConfigError, match=r"low=0.0 and high=1.0, one is 7"):
        unit_interval(e, 0.0, None, "")


ALIGN = Batch.from_lists([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], seat=[0, 1], episode=[0, 0])
RAW = AdvantageConfig(credit=ToGo(gamma=0.0), baseline=NoBaseline(), normalise=NoNormalisation())


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"gamma": 1.0}, [1.0, -0.8, 0.5]),
        ({"gamma": 0.9}, [1.0, -0.838, 0.5324]),
        ({"form": "sum"}, [1.0, -0.8, 0.5]),
        ({"form": "sum", "mean": "now"}, [1.0, -0.9, 0.5]),
        # with the present: 1; .9 - 1; .81 - .9 + .5
        ({"form": "inclusive"}, [1.5, -1.02, 0.336]),
        ({"gamma": 1.0, "beta": 2.0}, [1.0, -0.6, 0.5]),
    ],
)
def test_advantage_alignment(params, expected):
    a_BT = estimate(replace(RAW, transform=(Align(**params),)), ALIGN).y
    assert close(a_BT[0], expected)


def test_alignment_of_three_seats_reads_the_sum_of_the_others():
    rewards = [[1.0, -1.0], [0.5, 0.2], [0.25, 0.4]]
    batch = Batch.from_lists([*rewards, [3.0, 3.0]], seat=[0, 1, 2, 0], episode=[0, 0, 0, 1])
    a_BT = estimate(replace(RAW, transform=(Align(form="sum"),)), batch).y
    assert close(a_BT[0], [1.0, -1.0 + 1.0 * (0.2 + 0.4)])
    assert close(a_BT[2], [0.25, 0.4 + 0.25 * (-1.0 + 0.2)])
    assert a_BT[3].tolist() == [3.0, 3.0]


def test_stable_reinforce_drops_what_lies_beyond_three_deviations():
    batch = Batch.from_lists([[0.0]] * 11 + [[10.0]])
    spec = AdvantageConfig(normalise=BatchStd(), ddof=0)
    assert close(estimate(spec, batch).y, [-0.3015] * 11 + [3.3166])
    dropped = estimate(replace(spec, transform=(FilterSigma(),)), batch).y
    assert close(dropped, [-0.3015] * 11 + [0.0])


def test_remax_subtracts_a_greedy_play():
    batch = replace(PROMPTS, baseline_B=torch.tensor([1.0] * 4 + [0.0] * 4))
    a_B = estimate(AdvantageConfig(baseline=GreedyBaseline(), normalise=NoNormalisation()), batch).y
    assert a_B.tolist() == [0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_unequal_groups_weigh_the_same_when_prompts_are_weighed():
    batch = Batch.from_lists([[1.0], [0.0]] + [[1.0], [0.0], [0.0]] * 2, group=[0] * 2 + [1] * 6)
    plain = estimate(DR_GRPO, batch).y
    weighed = estimate(replace(DR_GRPO, transform=(WeighPrompts(),)), batch).y
    assert close(weighed, torch.cat([plain[:2] * 2.0, plain[2:] * 4 / 6]))


def test_gpg_of_the_advantage_makes_up_for_dead_groups():
    batch = Batch.from_lists([[1.0], [0.0], [1.0], [1.0]], group=[0, 0, 1, 1])
    a_B = estimate(replace(DR_GRPO, transform=(ActiveShare(of="group"),)), batch).y
    assert a_B.tolist() == [1.0, -1.0, 0.0, 0.0]


def test_constant_baseline():
    spec = replace(DR_GRPO, baseline=ConstantBaseline(value=0.5))
    assert estimate(spec, PROMPTS).y[:2].tolist() == [0.5, -0.5]
