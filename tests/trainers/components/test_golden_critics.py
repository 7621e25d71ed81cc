"""Credits that read a critic, and discounts that look further ahead as play improves."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.advantage import AdvantageConfig, advantages, estimate
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    Ads,
    Decoupled,
    Gae,
    NoBaseline,
    NoNormalisation,
    TdCritic,
    TdTable,
    ads_gamma,
)
from coevo.trainers.components.critic_credits import gae_recursion
from coevo.trainers.learners.utterance_critic import polyak, q_target, v_target

RAW = AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation())
# Turns of 3, 2 and 1 tokens, the reward of a turn on its last token.
SPOKEN = replace(
    Batch.from_lists([[0.3, -0.2, 1.0]], tokens=[[3, 2, 1]]),
    value_CL=torch.tensor([[0.10, 0.25, 0.40, 0.55, 0.70, 0.85]], dtype=torch.float64),
)


def bilevel(gamma, lam, gamma_turn):
    return Gae(level="bilevel", gamma=gamma, lam=lam, gamma_turn=gamma_turn)


def by_hand(gamma, lam, gamma_turn):
    """Both recursions of the VAGEN paper, one token after the other, for SPOKEN."""
    value, ends, reward = [0.10, 0.25, 0.40, 0.55, 0.70, 0.85], [2, 4, 5], [0.3, -0.2, 1.0]
    out, ahead, value_ahead = [0.0] * 6, 0.0, 0.0
    for end, paid in zip(reversed(ends), reversed(reward), strict=True):
        ahead = paid + gamma_turn * value_ahead - value[end] + gamma_turn * lam * ahead
        out[end], value_ahead = ahead, value[end]
    for first, end in ((0, 2), (3, 4), (5, 5)):
        for t in range(end - 1, first - 1, -1):
            out[t] = gamma * value[t + 1] - value[t] + gamma * lam * out[t + 1]
    return out


@pytest.mark.parametrize("params", [(1.0, 0.95, 1.0), (0.99, 0.9, 0.95), (1.0, 0.5, 0.8)])
def test_bilevel_gae(params):
    got = advantages(replace(RAW, credit=bilevel(*params)), SPOKEN)
    assert got[0].advantage_CL[0].tolist() == pytest.approx(by_hand(*params))
    assert torch.allclose(got[0].return_CL, got[0].advantage_CL + SPOKEN.value_CL)


def test_bilevel_gae_in_numbers():
    # turns: .15; -.2 + .9 .85 - .7 + .45 .15 = -.0675; .3 + .63 - .4 + .45 (-.0675) = .499625
    a_BS = advantages(replace(RAW, credit=bilevel(1.0, 0.5, 0.9)), SPOKEN)[0].advantage_CL
    expected = [0.34990625, 0.3998125, 0.499625, 0.11625, -0.0675, 0.15]
    assert a_BS[0].tolist() == pytest.approx(expected)


def test_credit_runs_from_seat_to_seat_of_a_team():
    """Two rounds of two seats, then one round in which the second seat is cut off; MARFT's code."""
    keys = {"seat": [0, 1, 0], "episode": [0, 0, 1]}
    batch = replace(
        Batch.from_lists([[0.0, 0.0], [0.0, 1.0], [2.0]], **keys),
        value_CL=torch.tensor([[0.2, 0.4], [0.5, 0.1], [0.3, 0.0]], dtype=torch.float64),
        place_BT=torch.tensor([[0, 2], [1, 3], [0, -1]]),
    )
    a_BT = estimate(replace(RAW, credit=Gae(level="team", gamma=1.0, lam=1.0)), batch).y
    assert a_BT.tolist() == [pytest.approx(row) for row in ([0.8, 0.6], [0.5, 0.9], [1.7, 0.0])]
    a_BT = estimate(replace(RAW, credit=Gae(level="team", gamma=0.5, lam=0.0)), batch).y
    expected = [0.25 - 0.2, 0.05 - 0.4], [0.2 - 0.5, 1 - 0.1], [1.7, 0.0]
    assert a_BT.tolist() == [pytest.approx(row) for row in expected]
    cut_BT = estimate(replace(RAW, credit=Gae(level="turn", gamma=1.0, lam=1.0)), batch).y
    assert cut_BT[0].tolist() == pytest.approx([-0.2, -0.4])
    with pytest.raises(ConfigError, match="needs place_BT"):
        estimate(replace(RAW, credit=Gae(level="team")), replace(batch, place_BT=None))


def test_both_levels_without_discount_are_the_token_level():
    one = advantages(replace(RAW, credit=bilevel(1.0, 1.0, 1.0)), SPOKEN)[0].advantage_CL
    other = advantages(replace(RAW, credit=Gae(lam=1.0)), SPOKEN)[0].advantage_CL
    assert torch.allclose(one, other)
    apart = advantages(replace(RAW, credit=bilevel(1.0, 1.0, 0.9)), SPOKEN)[0].advantage_CL
    assert not torch.allclose(apart, other, atol=0.05)


def test_a_later_turn_reaches_an_earlier_one_through_its_last_token_only():
    credit = bilevel(1.0, 0.0, 0.0)  # both chains cut: a turn sees its own reward only
    moved = replace(SPOKEN, reward_BTK=SPOKEN.reward_BTK + torch.tensor([0.0, 0.0, 5.0])[:, None])
    before, after = (estimate(replace(RAW, credit=credit), b).y[0] for b in (SPOKEN, moved))
    assert before[:5].tolist() == after[:5].tolist()
    assert float(after[5] - before[5]) == pytest.approx(5.0)


@pytest.mark.parametrize("gamma", [0.0, 0.37, 0.9, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.8, 1.0])
def test_long_recursions_with_holes_equal_a_loop(gamma, lam):
    noise = torch.Generator().manual_seed(1)
    draw = (torch.randn(3, 2500, generator=noise, dtype=torch.float64) for _ in range(2))
    reward_BL, value_BL = draw
    mask_BL = torch.rand(3, 2500, generator=noise) < 0.7
    got_BL, _ = gae_recursion(reward_BL, value_BL, mask_BL, gamma, lam)
    for row in range(3):
        ahead = value_ahead = 0.0
        for t in reversed(range(2500)):
            if not mask_BL[row, t]:
                assert got_BL[row, t] == 0
                continue
            delta = float(reward_BL[row, t]) + gamma * value_ahead - float(value_BL[row, t])
            ahead, value_ahead = delta + gamma * lam * ahead, float(value_BL[row, t])
            assert float(got_BL[row, t]) == pytest.approx(ahead, abs=1e-9)


def test_equal_rows_of_a_long_batch_stay_equal_to_the_last_bit():
    noise = torch.Generator().manual_seed(0)
    row_1L = torch.randn(1, 777, generator=noise, dtype=torch.float64)
    rows_BL = row_1L.repeat(131, 1)
    a_BL, _ = gae_recursion(rows_BL, rows_BL, torch.ones(131, 777).bool(), 0.99, 0.95)
    assert bool((a_BL == a_BL[:1]).all())


def test_td_critic_takes_the_lower_of_two_critics_on_both_sides():
    batch = replace(
        Batch.from_lists([[0.0, 1.0], [0.5]]),
        q_BTC=torch.tensor([[[1.0, 0.75], [0.5, 2.0]], [[0.25, 0.5], [torch.nan] * 2]]),
        v_BTC=torch.tensor([[[0.5, 0.25], [1.0, 1.5]], [[0.5, 0.5], [torch.nan] * 2]]),
    )
    a_BT = estimate(replace(RAW, credit=TdCritic()), batch).y
    assert a_BT.tolist() == [[0.5, -0.5], [-0.25, 0.0]]


def test_td_critic_needs_its_critics():
    with pytest.raises(ConfigError, match="'td_critic' needs q_BTC"):
        estimate(replace(RAW, credit=TdCritic()), Batch.from_lists([[1.0]]))
    with pytest.raises(ConfigError, match=r"v_BTC has shape \(1, 2\)"):
        replace(Batch.from_lists([[1.0]]), v_BTC=torch.zeros(1, 2)).checked()


def test_targets_and_slow_copies_of_archer_find_the_value_of_every_turn():
    """Three turns, 1 at the end, gamma .9; tables that move half way to their target."""
    reward_BT, mask_BT = torch.tensor([[0.0, 0.0, 1.0, 9.0]]), torch.tensor([[True] * 3 + [False]])
    q_BTC, v_BTC = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2)
    slow_q_BTC, slow_v_BTC = torch.zeros(1, 4, 2), torch.full((1, 4, 2), 7.0)
    for _ in range(300):
        q_BTC.lerp_(q_target(reward_BT, slow_v_BTC, mask_BT, 0.9), 0.5)
        v_BTC.lerp_(v_target(slow_q_BTC, mask_BT), 0.5)
        polyak([slow_q_BTC, slow_v_BTC], [q_BTC, v_BTC], tau=0.1)
    for critic in (q_BTC, v_BTC):
        assert critic[0, :, 0].tolist() == pytest.approx([0.81, 0.9, 1.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(
    ("k", "gamma"), [(1, 0.2), (10, 0.8513), (20, 0.9227), (50, 0.9683), (100, 0.9840)]
)
def test_ads_discounts(k, gamma):
    assert ads_gamma(k) == pytest.approx(gamma, abs=6e-5)
    steps = Ads(milestones="reward", horizon=200)
    batch = Batch.from_lists([[0.0, 1.0]])
    made = estimate(replace(RAW, credit=steps), batch, {"ads/k": k})
    assert float(made.y[0, 0]) == pytest.approx(gamma, abs=6e-5)


def milestones(*reached):
    """Play eight turns; the first `reached` of them each reach a milestone, in every row."""
    return Batch.from_lists([[1.0] * n + [0.0] * (8 - n) for n in reached])


ADS = replace(RAW, credit=Ads(milestones="reward", horizon=8))


def test_ads_looks_further_ahead_as_milestones_are_reached():
    start = estimate(ADS, milestones(0, 0))
    assert float(start.y[0, 0]) == 0.0
    # k = 2 asks for int(.9 2) = 1 milestone in two turns
    assert start.state == {"ads/k": 2}
    assert estimate(ADS, milestones(1, 1)).state == {"ads/k": 3}  # k = 3 asks for 2
    assert estimate(ADS, milestones(0, 2)).state == {"ads/k": 3}  # a mean of one
    assert estimate(ADS, milestones(8, 8)).state == {"ads/k": 7}  # five steps at most
    assert estimate(ADS, milestones(8, 8), {"ads/k": 7}).state == {"ads/k": 8}
    assert estimate(ADS, milestones(8, 8), {"ads/k": 8}).state == {"ads/k": 8}


def test_ads_scores_the_batch_with_the_discount_that_it_had_before():
    made = estimate(ADS, milestones(2), {"ads/k": 4, "other": 1})
    assert float(made.y[0, 0]) == pytest.approx(1 + 0.2**0.25)
    assert made.state == {"ads/k": 4, "other": 1}


@pytest.mark.parametrize(
    ("credit", "state", "message"),
    [
        (Ads, {}, "progress"),
        (lambda: Ads(alpha=1.0), {}, "must be less than 1"),
        (lambda: Ads(milestones="reward"), {"ads/k": 0.5}, "whole number"),
        (lambda: Ads(horizon=0), {}, "horizon=0"),
    ],
)
def test_ads_refuses(credit, state, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        estimate(replace(RAW, credit=credit()), Batch.from_lists([[1.0]]), state)


def test_rewards_kept_apart_have_a_table_of_values_each():
    """Two rewards, one turn: each state value moves by half of its own reward, and is taken off."""
    reward_BTK = torch.tensor([[[1.0, 4.0]]], dtype=torch.float64)
    mask_BT = torch.ones(1, 1, dtype=torch.bool)
    made = Batch.from_rewards(reward_BTK, ("a", "b"), mask_BT, mask_BT.long() - 1, {})
    batch = replace(made, state_BT=torch.tensor([[7]]))
    config = AdvantageConfig(
        compose=Decoupled(),
        credit=TdTable(rate=0.5),
        baseline=NoBaseline(),
        normalise=NoNormalisation(),
    )
    first = estimate(config, batch)
    assert first.state == {"td_table/a/0/7": 0.5, "td_table/b/0/7": 2.0}
    assert first.y.tolist() == [[5.0]]
    assert estimate(config, batch, first.state).y.tolist() == [[2.5]]
