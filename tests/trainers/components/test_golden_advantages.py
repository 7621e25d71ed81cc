"""Literal vectors for the credit, centre and scale of published estimators, 4 decimals."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import plain, read
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    BatchStd,
    BatchWhiten,
    ClipAdvantage,
    DistinctMean,
    Gae,
    GroupMean,
    GroupStd,
    MarsCode,
    NoBaseline,
    ToGo,
)
from coevo.trainers.components.critic_credits import gae_recursion
from tests.trainers.components.closeness import close

# Two prompts with four responses each, and the token counts of the responses.
OUTCOMES = [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0], [1.0]]
LENGTHS = [[2], [3], [1], [4], [1], [2], [2], [3]]
PROMPTS = Batch.from_lists(OUTCOMES, LENGTHS, group=[0] * 4 + [1] * 4)
NONE = NoBaseline()


def spec(baseline, normalise="no_normalisation", credit="outcome", **rest):
    parts = {"credit": credit, "baseline": baseline, "normalise": normalise}
    chosen = {k: {"name": v} if isinstance(v, str) else plain(v) for k, v in parts.items()}
    return read(AdvantageConfig, chosen | rest)


@pytest.mark.parametrize(
    ("name", "chosen", "expected"),
    [
        (
            "batch mean",
            spec("batch_mean"),
            [0.625, -0.375, -0.375, 0.625, -0.375, -0.375, -0.375, 0.625],
        ),
        (
            "rloo",
            spec("leave_one_out"),
            [2 / 3, -2 / 3, -2 / 3, 2 / 3, -1 / 3, -1 / 3, -1 / 3, 1.0],
        ),
        (
            "grpo",
            spec("group_mean", "group_std"),
            [0.8660, -0.8660, -0.8660, 0.8660, -0.5, -0.5, -0.5, 1.5],
        ),
        (
            "grpo with the eps of TRL",
            spec("group_mean", "group_std", eps=1e-4),
            [0.8659, -0.8659, -0.8659, 0.8659, -0.4999, -0.4999, -0.4999, 1.4997],
        ),
        (
            "grpo, ddof 0",
            spec("group_mean", "group_std", ddof=0),
            [1, -1, -1, 1, -0.5773, -0.5773, -0.5773, 1.7320],
        ),
        ("dr_grpo", spec("group_mean"), [0.5, -0.5, -0.5, 0.5, -0.25, -0.25, -0.25, 0.75]),
        (
            "lite_ppo",
            spec("group_mean", "batch_std", eps=1e-4),
            [0.9659, -0.9659, -0.9659, 0.9659, -0.4830, -0.4830, -0.4830, 1.4489],
        ),
        (
            "deviation of the centred rewards",
            spec("group_mean", BatchStd(of="centred")),
            [1, -1, -1, 1, -0.5, -0.5, -0.5, 1.5],
        ),
        (
            "reinforce++ with group baseline",
            spec("group_mean", "token_std"),
            [0.7752, -1.2182, -1.2182, 0.7752, -0.7199, -0.7199, -0.7199, 1.2736],
        ),
        (
            "reinforce++",
            spec("no_baseline", "token_std", credit=ToGo(level="token")),
            [0.9718, -0.9718, -0.9718, 0.9718, -0.9718, -0.9718, -0.9718, 0.9718],
        ),
        (
            "length-weighted baseline (OPO)",
            spec("group_mean", weights="token"),
            [0.4, -0.6, -0.6, 0.4, -0.375, -0.375, -0.375, 0.625],
        ),
        (
            "token group average (HAPO)",
            spec("group_mean", "group_std", weights="token", ddof=0),
            [0.8165, -1.2247, -1.2247, 0.8165, -0.7746, -0.7746, -0.7746, 1.2910],
        ),
    ],
)
def test_prompt_groups(name, chosen, expected):
    got_BS = advantages(chosen, PROMPTS)[0].advantage_CL
    assert close(got_BS[:, 0], expected), name
    spread_BS = torch.where(PROMPTS.token_mask_BS, got_BS[:, :1], 0.0)
    assert torch.equal(got_BS, spread_BS)


# Self-play turns: player 0 in rows 0 and 1, player 1 in rows 2 and 3.
PLAYERS = Batch.from_lists(
    [[0.1, 0.0, 1.0], [0.1, -1.0], [0.0, -1.0], [0.1, 1.0]], seat=[0, 0, 1, 1]
)


@pytest.mark.parametrize(
    ("center", "row_0", "row_1", "row_2", "row_3"),
    [
        ("agent_mean", [0.86, 0.76, 0.76], [-1.14, -1.24], [-1.025, -1.025], [1.075, 0.975]),
        (
            "batch_mean",
            [0.9556, 0.8556, 0.8556],
            [-1.0444, -1.1444],
            [-1.1444] * 2,
            [0.9556, 0.8556],
        ),
        (
            "distinct_mean",
            *([1.05, 0.95, 0.95], [-0.95, -1.05]),
            *([-1.3667, -1.3667], [0.7333, 0.6333]),
        ),
        (
            DistinctMean(padding_zero=True),
            *([1.06, 0.96, 0.96], [-0.94, -1.04]),
            *([-1.275, -1.275], [0.825, 0.725]),
        ),
    ],
)
def test_turn_returns_of_players(center, row_0, row_1, row_2, row_3):
    got_BS = advantages(spec(center, credit="to_go"), PLAYERS)[0].advantage_CL
    for row, expected in enumerate([row_0, row_1, row_2, row_3]):
        assert close(got_BS[row, : len(expected)], expected)


def test_sum_then_centre_is_not_centre_then_sum():
    wrong = advantages(spec("no_baseline", credit=MarsCode(whiten=False)), PLAYERS)
    assert close(wrong[0].advantage_CL[0], [0.98, 0.92, 0.96])
    assert close(wrong[0].advantage_CL[1, :2], [-0.98, -1.04])


# One seat, two games, with two tokens in every turn.
MARS = Batch.from_lists([[0.05, 1.05], [0.05, 0.05, -0.95]], tokens=[[2, 2], [2, 2, 2]])


def test_mars_in_the_form_of_the_paper():
    got_BS = advantages(spec("agent_mean", credit="to_go"), MARS)[0].advantage_CL
    assert close(got_BS[0, :4], [1.21, 1.21, 1.16, 1.16])
    assert close(got_BS[1], [-0.74, -0.74, -0.79, -0.79, -0.84, -0.84])


def test_mars_in_the_form_of_the_code_up_to_the_sum():
    summed_BS = advantages(spec("no_baseline", credit=MarsCode(whiten=False)), MARS)
    assert close(summed_BS[0].advantage_CL[0, :4], [1.0] * 4)
    assert close(summed_BS[0].advantage_CL[1], [-1.0] * 6)
    # r' = 0, 1 and 0, 0, -1 on 10 tokens: mean 0, variance 2 / 9
    whitened_BS = advantages(spec("no_baseline", credit="mars_code"), MARS)[0].advantage_CL
    assert close(whitened_BS[1], [-((9 / 2) ** 0.5)] * 6)


def test_all_five_steps_of_the_mars_code():
    chosen = spec(DistinctMean(by="seat", padding_zero=True), "token_std", credit="mars_code")
    got_BS = advantages(chosen, MARS)[0].advantage_CL
    # Step 5 undoes any shift and scale of R = 1 (4 tokens), -1 (6 tokens): mean -0.2, var 9.6/9.
    deviation = (9.6 / 9) ** 0.5
    assert close(got_BS[0, :4], [1.2 / deviation] * 4)
    assert close(got_BS[1], [-0.8 / deviation] * 6)


AGENTS = Batch.from_lists(
    [[1.0], [1.0], [0.0], [1.0], [0.2], [0.0], [0.1], [0.1]], seat=[0] * 4 + [1] * 4
)


def test_dr_mas_groups_by_prompt_and_agent():
    by = "group+agent"
    chosen = spec(GroupMean(by=by), GroupStd(by=by))
    got_B = advantages(chosen, AGENTS)[0].advantage_CL[:, 0]
    assert close(got_B, [0.5, 0.5, -1.5, 0.5, 1.2247, -1.2247, 0.0, 0.0])
    assert torch.equal(
        got_B, advantages(spec("agent_mean", "agent_std"), AGENTS)[0].advantage_CL[:, 0]
    )


def test_dr_mas_pooled_statistics_and_their_second_moments():
    got_B = advantages(spec("group_mean", "group_std"), AGENTS)[0].advantage_CL[:, 0]
    pooled = [1.1971, 1.1971, -0.8848, 1.1971, -0.4684, -0.8848, -0.6766, -0.6766]
    assert close(got_B, pooled)
    square_B = (
        advantages(spec("group_mean", "group_std", ddof=0), AGENTS)[0].advantage_CL[:, 0] ** 2
    )
    assert close(square_B.reshape(2, 4).mean(1), [1.4520, 0.5480])


# a1 a2 [observation] a3 a4
GAE_REWARD = torch.tensor([[0.0, 0.2, 0.0, 0.0, 1.0]])
GAE_VALUE = torch.tensor([[0.5, 0.4, 9.0, 0.6, 0.8]])
GAE_MASK = torch.tensor([[True, True, False, True, True]])


@pytest.mark.parametrize(
    ("mask", "gamma", "lam", "expected"),
    [
        (GAE_MASK, 1.0, 1.0, [0.7, 0.8, 0.0, 0.4, 0.2]),
        (GAE_MASK, 0.9, 0.8, [0.2417, 0.5301, 0.0, 0.2640, 0.2]),
        (torch.ones(1, 5).bool(), 0.9, 0.8, [1.2609, 1.9457, -8.2699, 0.2640, 0.2]),
    ],
    ids=["monte_carlo", "discounted", "negative control: the observation bootstraps"],
)
def test_gae_recursion(mask, gamma, lam, expected):
    a_BL, return_BL = gae_recursion(GAE_REWARD, GAE_VALUE, mask, gamma, lam)
    assert close(a_BL[0], expected)
    assert close((return_BL - GAE_VALUE)[mask], torch.tensor(expected)[mask[0]])


TWO_TURNS = replace(
    Batch.from_lists([[0.2, 1.0]], tokens=[[2, 2]]), value_CL=torch.tensor([[0.5, 0.4, 0.6, 0.8]])
)


def test_gae_over_tokens_has_no_place_for_observations():
    credit = Gae(gamma=0.9, lam=0.8)
    got = advantages(spec("no_baseline", credit=credit), TWO_TURNS)
    assert close(got[0].advantage_CL[0], [0.2417, 0.5301, 0.2640, 0.2])
    assert close(got[0].return_CL[0], [0.7417, 0.9301, 0.8640, 1.0])
    assert got[0].return_mask_CL.all()


@pytest.mark.parametrize(
    ("gamma", "lam", "advantage", "targets"),
    [(1.0, 1.0, [0.7, 0.4], [1.2, 1.0]), (0.9, 0.8, [0.528, 0.4], [1.028, 1.0])],
)
def test_gae_over_turns_reads_the_value_before_the_turn(gamma, lam, advantage, targets):
    credit = Gae(level="turn", gamma=gamma, lam=lam)
    got = advantages(spec("no_baseline", credit=credit), TWO_TURNS)
    assert close(got[0].advantage_CL[0], [advantage[0]] * 2 + [advantage[1]] * 2)
    assert got[0].return_mask_CL.tolist() == [[True, False, True, False]]
    assert close(got[0].return_CL[0][got[0].return_mask_CL[0]], targets)


def test_the_first_token_of_an_only_turn_carries_its_value():
    batch = replace(
        Batch.from_lists([[1.0]], tokens=[[2]]),
        value_CL=torch.tensor([[0.25, 0.5]], dtype=torch.float64),
    )
    got = advantages(spec("no_baseline", credit=Gae(level="turn")), batch)
    assert got[0].advantage_CL.tolist() == [[0.75, 0.75]]
    assert got[0].return_mask_CL.tolist() == [[True, False]]


def test_kl_in_the_reward_is_charged_per_token_and_summed_per_row():
    old_BS = torch.tensor([[-1.0, -0.5, -1.0, -0.5]])
    batch = replace(TWO_TURNS, logp_old_CL=old_BS, logp_ref_CL=old_BS - 1.0)
    tokens = spec("no_baseline", credit=ToGo(level="token"), kl_in_reward=0.1)
    assert close(advantages(tokens, batch)[0].advantage_CL[0], [0.8, 0.9, 0.8, 0.9])
    turns = spec("no_baseline", credit="to_go", kl_in_reward=0.1)
    assert close(advantages(turns, batch)[0].advantage_CL[0], [0.8, 0.8, 0.8, 0.8])
    row = spec("no_baseline", kl_in_reward=0.1)
    assert close(advantages(row, batch)[0].advantage_CL[0], [0.8] * 4)


def test_modifiers_apply_left_to_right():
    clip, whiten = ClipAdvantage(bound=0.6), BatchWhiten()
    first, second = (
        advantages(spec("batch_mean", transform=order), PROMPTS)[0].advantage_CL[:, 0]
        for order in ((clip, whiten), (whiten, clip))
    )
    assert close(second.abs(), [0.6] * 8)
    # clipped to .6 and -.375 (3 and 5 rows), mean -.0094, deviation .5046
    assert close(first[:2], [1.2076, -0.7246])
