"""Edge cases, and the claims that tell one estimator from its neighbours."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AgentMean,
    AnyBaseline,
    AnyCredit,
    AnyNormalisation,
    BatchMean,
    DistinctMean,
    Gae,
    GroupMean,
    LeaveOneOut,
    MarsCode,
    NoBaseline,
    NoNormalisation,
    Outcome,
    SeatEma,
    ToGo,
    TokenStd,
)
from coevo.trainers.tensors import group_stats

NONE = NoBaseline()
PAPER = AdvantageConfig(credit=ToGo(), baseline=AgentMean(), normalise=NoNormalisation())
POOLED = replace(PAPER, baseline=BatchMean())
CODE = AdvantageConfig(
    credit=MarsCode(),
    baseline=DistinctMean(by="seat"),
    normalise=TokenStd(),
)
# These compare with something other than the batch.
CENTRES = sorted(
    set(components(AnyBaseline))
    - {"no_baseline", "seat_ema", "greedy_baseline", "constant_baseline"}
)
SCALES = sorted(set(components(AnyNormalisation)) - {"no_normalisation"})


@pytest.mark.parametrize("credit", ["outcome", "to_go"])
@pytest.mark.parametrize("center", CENTRES)
@pytest.mark.parametrize("scale", sorted(components(AnyNormalisation)))
def test_groups_of_one_and_equal_rewards_give_exactly_zero(credit, center, scale):
    chosen = AdvantageConfig(
        credit=read(AnyCredit, {"name": credit}),
        baseline=read(AnyBaseline, {"name": center}),
        normalise=read(AnyNormalisation, {"name": scale}),
    )
    alone = Batch.from_lists([[0.1]])
    equal = Batch.from_lists([[0.1]] * 7)  # seven times 0.1 does not sum to 0.7 in floating point
    for batch in (alone, equal):
        assert advantages(chosen, batch)[0].advantage_CL.tolist() == [[0.0]] * len(batch.turn_of_BS)


@pytest.mark.parametrize("scale", SCALES)
def test_no_variance_gives_exactly_zero_even_without_a_centre(scale):
    chosen = AdvantageConfig(baseline=NONE, normalise=read(AnyNormalisation, {"name": scale}))
    assert advantages(chosen, Batch.from_lists([[0.1]] * 3))[0].advantage_CL.tolist() == [[0.0]] * 3


def test_a_group_of_one_does_not_keep_its_raw_reward_beside_others():
    batch = Batch.from_lists([[5.0], [1.0], [0.0]], group=[0, 1, 1])
    for center in ("group_mean", "leave_one_out"):
        got_BS = advantages(AdvantageConfig(baseline=read(AnyBaseline, {"name": center})), batch)[
            0
        ].advantage_CL
        assert got_BS[0].tolist() == [0.0]
        assert got_BS[1, 0] > 0


def test_too_few_observations_for_the_ddof_give_zero_not_nan():
    stats = group_stats(
        torch.tensor([1.0, 2.0]), torch.zeros(2).long(), torch.full((2,), 0.5), ddof=1
    )
    assert stats.std.tolist() == [0.0, 0.0]
    assert stats.constant.tolist() == [False, False]


def test_group_stats_never_reads_an_entry_of_weight_zero():
    y, key = torch.tensor([1.0, float("nan"), 3.0]), torch.tensor([4, 4, 4])
    stats = group_stats(y, key, torch.tensor([1.0, 0.0, 1.0]))
    assert stats.mean.tolist() == [2.0] * 3
    assert stats.total.tolist() == [2.0] * 3
    with pytest.raises(ConfigError, match="must agree"):
        group_stats(y, key[:2], y)


def test_an_empty_batch_gives_empty_advantages():
    got = advantages(AdvantageConfig(), Batch.from_lists([]))
    assert got[0].advantage_CL.shape == (0, 0)
    assert got[2] == {}


def test_leave_one_out_leaves_out_the_whole_trajectory():
    batch = Batch.from_lists([[1.0, 1.0], [0.0, 4.0], [3.0]])
    chosen = AdvantageConfig(credit=ToGo(), baseline=LeaveOneOut(), normalise=NoNormalisation())
    got_BS = advantages(chosen, batch)[0].advantage_CL
    # returns [2, 1], [4, 4], [3]: the baseline of row 0 is mean(4, 4, 3)
    assert got_BS[0].tolist() == pytest.approx([2 - 11 / 3, 1 - 11 / 3])
    assert float(got_BS[2, 0]) == pytest.approx(3 - 11 / 4)


def test_leave_one_out_is_the_group_centre_stretched():
    batch = Batch.from_lists([[1.0], [0.0], [0.5], [2.0]])
    loo, plain = (
        advantages(
            AdvantageConfig(baseline=read(AnyBaseline, {"name": c}), normalise=NoNormalisation()),
            batch,
        )[0].advantage_CL
        for c in ("leave_one_out", "group_mean")
    )
    assert torch.allclose(loo, plain * 4 / 3)


def test_to_go_of_a_final_reward_is_the_outcome():
    batch = Batch.from_lists([[0.0, 0.0, 1.0], [0.0, -1.0]])
    got = [
        advantages(AdvantageConfig(credit=credit), batch)[0].advantage_CL
        for credit in (Outcome(), ToGo(), ToGo(level="token"))
    ]
    as_outcome = replace(AdvantageConfig(), credit=ToGo(), weights="trajectory")
    assert torch.allclose(got[0], advantages(as_outcome, batch)[0].advantage_CL)
    assert torch.allclose(got[1], got[2])


def test_gae_with_full_lambda_and_no_value_is_the_return():
    batch = Batch.from_lists([[0.5, 1.0], [0.25, -1.0]], tokens=[[2, 1], [1, 1]])
    batch = replace(batch, value_CL=torch.zeros(batch.turn_of_BS.shape))
    for level in ("turn", "token"):
        pair = [
            advantages(
                AdvantageConfig(credit=credit, baseline=NONE, normalise=NoNormalisation()), batch
            )[0].advantage_CL
            for credit in (Gae(level=level, lam=1.0), ToGo(level=level))
        ]
        assert torch.allclose(*pair)


SELF_PLAY = [[0.05, 1.05], [0.05, -0.95], [0.05, 0.05, -0.95], [0.05, 0.05, 1.05]]


def offset(c):
    """Four trajectories, seats 0 1 0 1; seat 0's last reward rises by c, seat 1's falls by c."""
    rewards = [[*row[:-1], row[-1] + (-c if i % 2 else c)] for i, row in enumerate(SELF_PLAY)]
    return Batch.from_lists(rewards, seat=[0, 1, 0, 1])


@pytest.mark.parametrize("c", [-3.0, 0.5, 10.0])
def test_only_the_seat_mean_of_returns_is_blind_to_a_seat_offset(c):
    paper, pooled, code = (
        [advantages(chosen, offset(x))[0].advantage_CL for x in (0.0, c)]
        for chosen in (PAPER, POOLED, CODE)
    )
    assert torch.allclose(*paper, atol=1e-12)
    shift_BS = pooled[1] - pooled[0]
    mask_BS = offset(c).token_mask_BS
    assert torch.allclose(shift_BS[0::2][mask_BS[0::2]], torch.tensor(c, dtype=torch.float64))
    assert torch.allclose(shift_BS[1::2][mask_BS[1::2]], torch.tensor(-c, dtype=torch.float64))
    assert not torch.allclose(*code, atol=1e-3)


def test_distinct_values_are_told_apart_in_single_precision():
    assert 0.1 + 0.2 != 0.3
    batch = Batch.from_lists([[0.1, 0.2], [0.3], [1.0]])
    got_BS = advantages(
        AdvantageConfig(baseline=DistinctMean(), normalise=NoNormalisation()), batch
    )
    assert got_BS[0].advantage_CL[:, 0].tolist() == pytest.approx([-0.35, -0.35, 0.35])


RAE = AdvantageConfig(baseline=SeatEma(decay=0.95), normalise=NoNormalisation())


def test_the_running_mean_is_read_before_it_is_updated():
    got = advantages(RAE, Batch.from_lists([[1.0]]))
    assert got[0].advantage_CL.tolist() == [[1.0]]
    after = got[1]["seat_ema/0"]
    assert after == pytest.approx(0.05)
    # Reading after the update would scale the advantage by exactly 1 - 0.05.
    assert 1.0 - after == pytest.approx((1 - 0.05) * 1.0)


def test_the_running_mean_follows_batch_order_per_agent():
    rewards, agents = [1.0, -1.0, 0.0, 2.0, 1.0], [5, 9, 5, 5, 9]
    mean, expected = {5: 0.3, 9: 0.0}, []
    for reward, agent in zip(rewards, agents, strict=True):
        expected.append(reward - mean[agent])
        mean[agent] = 0.95 * mean[agent] + 0.05 * reward
    batch = Batch.from_lists([[r] for r in rewards], agent=agents)
    got = advantages(RAE, batch, {"seat_ema/5": 0.3, "other": 1.0})
    assert got[0].advantage_CL[:, 0].tolist() == pytest.approx(expected)
    assert got[1] == pytest.approx({"other": 1.0, "seat_ema/5": mean[5], "seat_ema/9": mean[9]})


def test_the_state_that_comes_in_is_not_changed_and_two_batches_equal_one():
    rewards = [[1.0], [0.0], [2.0], [-1.0]]
    whole = advantages(RAE, Batch.from_lists(rewards))
    start = {}
    first = advantages(RAE, Batch.from_lists(rewards[:2]), start)
    second = advantages(RAE, Batch.from_lists(rewards[2:]), first[1])
    assert start == {}
    halves = torch.cat([first[0].advantage_CL, second[0].advantage_CL])
    assert torch.allclose(halves, whole[0].advantage_CL)
    assert second[1] == pytest.approx(whole[1])


def test_a_seat_offset_is_learned_by_the_running_mean():
    state, tail = {}, []
    for match in range(200):
        noise = 1.0 if match % 3 else -1.0
        got = advantages(RAE, Batch.from_lists([[10.0 + noise], [-noise]], seat=[0, 1]), state)
        state = got[1]
        tail.append(got[0].advantage_CL[:, 0])
    assert abs(state["seat_ema/0"] - 10.0) < 1.0
    assert torch.stack(tail[-60:]).mean(0).abs().max() < 0.1


def test_turn_credit_keeps_the_noise_of_an_earlier_turn_out():
    noise = [1.0, -1.0, 1.0, -1.0]
    batch = Batch.from_lists([[first, 1.0] for first in noise])
    turn_BS = advantages(PAPER, batch)[0].advantage_CL
    row_BS = advantages(AdvantageConfig(normalise=NoNormalisation()), batch)[0].advantage_CL
    assert float(turn_BS[:, 1].var()) == pytest.approx(0.0)
    assert float(row_BS[:, 1].var()) == pytest.approx(4 / 3)


def test_weights_count_what_they_name():
    batch = Batch.from_lists([[0.0, 0.0], [3.0]], tokens=[[1, 1], [4]])
    expected = {"row": 1.0, "turn": 1.0, "trajectory": 1.5, "token": 2.0}
    for weights, mean in expected.items():
        chosen = replace(POOLED, weights=weights)
        assert float(advantages(chosen, batch)[0].advantage_CL[0, 0]) == pytest.approx(-mean)
    token = replace(POOLED, credit=ToGo(level="token"))
    for weights, mean in {**expected, "row": 2.0}.items():
        chosen = replace(token, weights=weights)
        assert float(advantages(chosen, batch)[0].advantage_CL[0, 0]) == pytest.approx(-mean)
    rows = replace(POOLED, credit=Outcome())
    for weights, mean in {**expected, "row": 1.5}.items():
        chosen = replace(rows, weights=weights)
        assert float(advantages(chosen, batch)[0].advantage_CL[0, 0]) == pytest.approx(-mean)


def test_advantages_carry_no_gradient_and_report_dead_groups():
    batch = Batch.from_lists([[1.0], [1.0], [0.0], [1.0]], group=[0, 0, 1, 1])
    batch = replace(batch, value_CL=torch.zeros(4, 1, requires_grad=True))
    got = advantages(AdvantageConfig(credit=Gae()), batch)
    assert not got[0].advantage_CL.requires_grad
    plain = advantages(AdvantageConfig(), batch)
    assert plain[2]["credit/constant_groups"] == 0.5
    assert plain[2]["advantage/zero"] == 0.5
    assert plain[0].return_CL is None


def test_dead_groups_are_those_of_the_baseline():
    """Two plays of a proposer (role 0) and two solvers; the solvers of the first one agree."""
    keys = {"group": [0] * 6, "episode": [0, 0, 0, 1, 1, 1], "role": [0, 1, 1, 0, 1, 1]}
    batch = Batch.from_lists([[0.0], [1.0], [1.0], [0.5], [1.0], [0.0]], **keys)
    assert advantages(AdvantageConfig(), batch)[2]["credit/constant_groups"] == 0.0
    apart = AdvantageConfig(baseline=GroupMean(by="episode+role", single="keep"))
    assert advantages(apart, batch)[2]["credit/constant_groups"] == 0.5


def test_a_parameter_out_of_range_is_refused():
    for gamma in (1.5, float("nan")):
        with pytest.raises(ConfigError, match="gamma="):
            ToGo(gamma=gamma)
    with pytest.raises(ConfigError, match=r"decay=2.0"):
        SeatEma(decay=2.0)
