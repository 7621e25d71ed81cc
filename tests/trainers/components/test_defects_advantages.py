"""Points where released code or a plausible reading goes wrong; one named test for each."""

import math
from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.advantage import AdvantageConfig, advantages, estimate
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AddStateGroup,
    AddTree,
    AddTurnReward,
    AgentMean,
    Align,
    AnyBaseline,
    AnyCredit,
    AnyTransform,
    BatchStd,
    BetaPdf,
    BlendGlobal,
    Decoupled,
    DropNegatives,
    ExpWeight,
    FilterSigma,
    GrpoFallback,
    LeaveOneOut,
    LogMeanExp,
    MergeEdges,
    NoBaseline,
    NoNormalisation,
    PairGate,
    ShareSet,
    Sharpen,
    Shift,
    ToGo,
    TokenStd,
    beta_shape,
)
from coevo.trainers.tensors import rank_in_group

DR_GRPO = AdvantageConfig(normalise=NoNormalisation())
RAW = AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation())
TURNS = replace(DR_GRPO, credit=ToGo())


def a_of(spec, batch, state=None):
    return estimate(spec, batch, state).y


def rows(*rewards, **keys):
    return Batch.from_lists([[r] for r in rewards], **keys)


def test_3_a_group_of_one_and_a_group_of_equals_get_nothing_from_any_comparison():
    batch = replace(
        Batch.from_lists(
            [[5.0], [0.3], [0.3], [0.3]], group=[0, 1, 1, 1], answer=[0] * 4, branch=[0] * 4
        ),
        state_BT=torch.zeros(4, 1).long(),
        logp_old_CL=torch.randn(4, 1, generator=torch.Generator().manual_seed(0)),
    )
    compare = ("best_of_group", "sharpen", "add_tree", "grpo_fallback", "add_state_group")
    for name in compare:
        assert (
            a_of(AdvantageConfig(transform=(read(AnyTransform, {"name": name}),)), batch)
            .flatten()
            .tolist()
            == [0.0] * 4
        ), name
    for spec in (
        replace(DR_GRPO, baseline=LogMeanExp(tau=0.01)),
        replace(DR_GRPO, normalise=BetaPdf(low=0.0, high=5.0)),
        replace(DR_GRPO, transform=(DropNegatives(),)),
    ):
        assert a_of(spec, batch).flatten().tolist() == [0.0] * 4


def test_3_gigpo_episode_statistics_of_a_group_of_one_are_not_the_raw_reward():
    batch = replace(Batch.from_lists([[0.0, 7.0]]), state_BT=torch.tensor([[0, 0]]))
    gigpo = replace(AdvantageConfig(), transform=(AddStateGroup(w=0.0),))
    assert a_of(gigpo, batch).tolist() == [[0.0, 0.0]]


def test_4_batch_std_of_raw_and_of_centred_rewards_differ():
    batch = rows(1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, group=[0] * 4 + [1] * 4)
    raw = a_of(AdvantageConfig(normalise=BatchStd(of="raw")), batch)
    centred = a_of(AdvantageConfig(normalise=BatchStd(of="centred")), batch)
    assert float(0.5 / raw[0]) == pytest.approx(0.5175, abs=1e-4)
    assert float(0.5 / centred[0]) == pytest.approx(0.5, abs=1e-4)


def test_5_reinforce_pp_baseline_centres_again_with_token_weights():
    batch = Batch.from_lists(
        [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0], [1.0]],
        tokens=[[2], [3], [1], [4], [1], [2], [2], [3]],
        group=[0] * 4 + [1] * 4,
    )
    a_BS = advantages(AdvantageConfig(normalise=TokenStd()), batch)[0].advantage_CL
    centred_BS = advantages(DR_GRPO, batch)[0].advantage_CL
    assert float(centred_BS[batch.token_mask_BS].mean()) == pytest.approx(0.1111, abs=1e-4)
    assert float(a_BS[batch.token_mask_BS].mean()) == pytest.approx(0.0, abs=1e-9)


def test_10_returns_are_summed_before_they_are_centred():
    batch = Batch.from_lists([[0.1, 0.0, 1.0], [0.1, -1.0]])
    centre_last = a_of(replace(TURNS, baseline=AgentMean()), batch)
    assert centre_last[0].tolist() == pytest.approx([0.86, 0.76, 0.76])


SURPRISE = replace(
    rows(1.0, 0.0, 0.0, 1.0),
    logp_old_CL=torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]], dtype=torch.float64),
)


def test_13_xrpo_neither_deepens_failures_nor_rewards_novel_wrong_answers():
    """min(., kap A) with A < 0 gives -1.2990; a cap of kap |A| pays a failure that is unlikely."""
    sharpen = AdvantageConfig(transform=(Sharpen(),))
    assert a_of(sharpen, SURPRISE)[1:3].tolist() == pytest.approx([-0.8660, -0.8660], abs=6e-5)
    unlikely = replace(SURPRISE, logp_old_CL=torch.tensor([[-0.1], [-5.0], [-0.1], [-0.1]]))
    before, after = a_of(AdvantageConfig(), unlikely), a_of(sharpen, unlikely)
    assert after[1] == before[1]


def test_13_stable_reinforce_filters_around_zero_and_not_around_the_raw_mean():
    """The released filter keeps z within raw mean +- 3: with rewards near 100 it drops all rows."""
    batch = rows(*[100.0] * 11, 110.0)
    spec = AdvantageConfig(normalise=BatchStd(), ddof=0, transform=(FilterSigma(),))
    a_B = a_of(spec, batch)
    assert bool((a_B[:11] < 0).all())
    assert a_B[11] == 0.0


def paid(reward_BTK, group):
    one = Batch.from_lists([[0.0]] * len(reward_BTK), group=group)
    return replace(one, reward_BTK=reward_BTK.double().unsqueeze(1), components=("acc", "fmt"))


def test_13_bnpo_decomposes_over_components_without_the_total():
    acc, fmt = torch.tensor([1, 0, 0, 1, 0, 0, 0, 1.0]), torch.tensor([1, 1, 0, 1, 0, 1, 0, 0.0])
    group, scale = [0] * 4 + [1] * 4, BetaPdf()
    batch = paid(torch.stack([acc, fmt], 1), group)
    spec = AdvantageConfig(
        compose=Decoupled(), normalise=scale, reward_weights={"acc": 0.5, "fmt": 0.5}
    )
    alone = [
        a_of(AdvantageConfig(normalise=scale), rows(*r.tolist(), group=group)) for r in (acc, fmt)
    ]
    assert torch.allclose(a_of(spec, batch), (alone[0] + alone[1]) / 2)


def test_bnpo_falls_back_to_centring_without_variance_between_prompts():
    same = rows(1.0, 0.0, 0.0, 1.0, group=[0, 0, 1, 1])
    one = rows(1.0, 0.0, 0.0)
    for batch in (same, one):
        bnpo = a_of(replace(DR_GRPO, normalise=BetaPdf()), batch)
        assert torch.allclose(bnpo, a_of(DR_GRPO, batch))


def test_bnpo_is_grpo_times_an_eighth_of_pi_where_both_shapes_are_three_halves():
    batch = rows(*[1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0], group=[0] * 4 + [1] * 4 + [2] * 4)
    assert beta_shape(torch.tensor([0.25, 0.75, 0.5])) == pytest.approx((1.5, 1.5))
    bnpo = a_of(replace(DR_GRPO, normalise=BetaPdf()), batch)
    grpo = a_of(AdvantageConfig(ddof=0, eps=0.0), batch)
    assert torch.allclose(bnpo, grpo * math.pi / 8)


def test_bnpo_dead_prompts_stay_at_zero_beside_an_inverse_density_at_its_limit():
    rewards = [1, 1, 1, 1, 0, 0, 0, 0] + [1, 0, 1, 0] * 30
    groups = [0] * 4 + [1] * 4 + [2 + i // 4 for i in range(120)]
    a_B = a_of(replace(DR_GRPO, normalise=BetaPdf()), rows(*rewards, group=groups))
    assert a_B[:8].tolist() == [0.0] * 8
    assert bool(a_B.isfinite().all())


def test_bnpo_needs_the_range_of_the_reward():
    batch = rows(1.0, -1.0, 0.0, 1.0, group=[0, 0, 1, 1])
    with pytest.raises(ConfigError, match=r"low=0\.0 and high=1\.0, one is -1"):
        a_of(replace(DR_GRPO, normalise=BetaPdf()), batch)
    mapped = a_of(replace(DR_GRPO, normalise=BetaPdf(low=-1.0, high=1.0)), batch)
    unit = rows(1.0, 0.0, 0.5, 1.0, group=[0, 0, 1, 1])
    assert torch.allclose(mapped, a_of(replace(DR_GRPO, normalise=BetaPdf()), unit))


def test_bnpo_shape_minimises_the_variance_that_it_claims_to():
    def cost(alpha, beta, a=2.4375, b=4.0625):
        """Log of B(a + 3 - 2 alpha, b + 3 - 2 beta) B(alpha, beta)^2."""

        def log_beta(x, y):
            return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

        return log_beta(a + 3 - 2 * alpha, b + 3 - 2 * beta) + 2 * log_beta(alpha, beta)

    grid = [(1 + i / 80, 1 + j / 80) for i in range(120) for j in range(160)]
    best = min(grid, key=lambda shape: cost(*shape))
    assert best == pytest.approx(beta_shape(torch.tensor([0.5, 0.25])), abs=1.1 / 80)


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(2.4375, 4.0625, 0.1219), (1.0, 5.0, 0.0561), (4.0, 12.0, 0.0512)]
)
def test_bnpo_variance_over_drawn_prompts(a, b, expected):
    """E[p (1 - p) / f^2] for p ~ Beta(a, b), from advantages of a batch with two rows a prompt."""
    noise = torch.Generator().manual_seed(0)
    x = torch._standard_gamma(torch.full((15_000,), a, dtype=torch.float64), generator=noise)
    y = torch._standard_gamma(torch.full((15_000,), b, dtype=torch.float64), generator=noise)
    p = x / (x + y)
    off = torch.minimum(p, 1 - p) / 2
    batch = Batch.from_lists([[0.0]] * 30_000)
    batch = replace(
        batch,
        reward_BTK=torch.stack([p - off, p + off], 1).reshape(-1, 1, 1),
        keys={**batch.keys, "group": torch.arange(30_000) // 2},
    )
    inverse = a_of(replace(DR_GRPO, normalise=BetaPdf()), batch)[1::2] / off
    assert float((p * (1 - p) * inverse**2).mean()) == pytest.approx(expected, rel=0.03)


def test_17_an_agent_that_is_called_more_often_weighs_more_unless_trajectories_are_counted():
    batch = Batch.from_lists([[0.0, 0.0, 0.0], [3.0]])
    called = replace(TURNS, baseline=AgentMean())
    assert float(a_of(called, batch)[1, 0]) == pytest.approx(3.0 - 3.0 / 4)
    once = replace(called, weights="trajectory")
    assert float(a_of(once, batch)[1, 0]) == pytest.approx(1.5)


def test_p3o_is_rloo_of_two_and_blind_to_what_a_prompt_is_worth():
    rewards = torch.tensor([1.0, 0.25, -2.0, 0.5], dtype=torch.float64)
    groups, loo = [0, 0, 1, 1], replace(RAW, baseline=LeaveOneOut())
    plain = a_of(loo, rows(*rewards.tolist(), group=groups))
    assert plain.tolist() == pytest.approx([0.75, -0.75, -2.5, 2.5])
    shifted = a_of(loo, rows(*(rewards + 100.0 * torch.tensor(groups)).tolist(), group=groups))
    assert torch.allclose(plain, shifted)


def test_leave_one_out_at_the_same_turn_leaves_out_that_turn_only():
    """Advantage Alignment's baseline: the mean of the others at the same seat and time."""
    batch = Batch.from_lists([[1.0, 2.0], [3.0, 5.0], [8.0, 1.0]])
    spec = replace(RAW, credit=ToGo(gamma=0.0), baseline=LeaveOneOut(by="group+agent+turn"))
    a_BT = a_of(spec, batch)
    assert a_BT.tolist() == [[1 - 5.5, 2 - 3.0], [3 - 4.5, 5 - 1.5], [8 - 2.0, 1 - 3.5]]
    pooled = replace(spec, baseline=LeaveOneOut(by="group+agent"))
    assert not torch.allclose(a_BT, a_of(pooled, batch))


def test_alignment_uses_the_strict_past():
    """With k <= t a seat would be paid at once for what it does not know yet."""
    batch = Batch.from_lists([[1.0, 0.0], [2.0, 0.0]], seat=[0, 1], episode=[0, 0])
    raw = replace(RAW, credit=ToGo(gamma=0.0))
    assert a_of(replace(raw, transform=(Align(),)), batch)[0].tolist() == [1.0, 0.0]
    with_now = replace(raw, transform=(Align(form="inclusive"),))
    assert a_of(with_now, batch)[0].tolist() == [3.0, 0.0]


def test_alignment_refuses_a_batch_without_the_other_seat():
    spec = replace(TURNS, transform=(Align(),))
    with pytest.raises(ConfigError, match="no 'episode' of the batch has two rows"):
        a_of(spec, rows(1.0, 0.0, episode=[0, 1]))
    with pytest.raises(UnknownNameError, match="trajectory key 'episode'"):
        a_of(spec, rows(1.0, 0.0))
    tokens = replace(spec, credit=ToGo(level="token"))
    with pytest.raises(ConfigError, match="works on turns"):
        a_of(tokens, rows(1.0, 0.0, episode=[0, 0]))


def test_salt_tells_ends_from_states_and_groups_from_each_other():
    batch = replace(
        Batch.from_lists([[1.0], [0.0, 0.0], [0.0]], group=[0, 0, 1]),
        state_BT=torch.tensor([[0, 0], [0, 0], [0, 0]]),
        action_BT=torch.tensor([[0, 0], [0, 1], [0, 0]]),
    )
    merged = a_of(replace(DR_GRPO, transform=(MergeEdges(),)), batch)
    # (0, a, end) of row 0 is neither (0, a, 0) of row 1 nor the same edge in another group
    assert merged.tolist() == [[0.5, 0.0], [-0.5, -0.5], [0.0, 0.0]]


def test_a_decisive_turn_stands_out_under_step_groups_and_edges():
    """Six turns, one key to pick up in turn 2: what comes later is decided by it."""
    got_key = [True, False] * 4
    batch = Batch.from_lists([[0.0] * 5 + [float(k)] for k in got_key])
    state_BT = torch.tensor([[0, 1, 2, *([3, 4, 5] if k else [6, 7, 8])] for k in got_key])
    action_BT = torch.tensor([[0, 0, int(k), 0, 0, 0] for k in got_key])
    batch = replace(batch, state_BT=state_BT, action_BT=action_BT)

    def contrast(spec):
        a_T = estimate(spec, batch).at("turn").y.abs().mean(0)
        return float(a_T[2] / (a_T.sum() - a_T[2]) * 5)

    assert contrast(AdvantageConfig()) == pytest.approx(1.0)
    gigpo = AdvantageConfig(transform=(AddStateGroup(),))
    salt = AdvantageConfig(transform=(MergeEdges(),))
    assert contrast(gigpo) > 1.2
    assert contrast(salt) > 1.2


def test_polychromic_credit_is_shared_by_failures_of_a_good_set():
    batch = rows(1.0, 0.0, 1.0, 1.0, set=[0, 0, 1, 1], first_move=[3, 4, 5, 5])
    a_B = a_of(AdvantageConfig(transform=(ShareSet(label="first_move"),)), batch)
    # f = .5 1 and 1 .5: the set with the failure is as good, for it is twice as diverse
    assert a_B.tolist() == [0.0] * 4


def test_sets_cut_from_a_group_do_not_depend_on_rows_and_move_on_with_batches():
    answers, spec = list(range(8)), AdvantageConfig(transform=(ShareSet(size=2),))
    rewards, order = (
        [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        torch.tensor([3, 1, 7, 0, 5, 2, 6, 4]),
    )
    batch = rows(*rewards, answer=answers)
    moved = rows(*[rewards[i] for i in order], answer=order.tolist(), trajectory=order.tolist())
    first = estimate(spec, batch)
    assert torch.equal(first.y[order], a_of(spec, moved))
    assert first.state == {"share_set/batches": 1}
    seen = {tuple(a_of(spec, batch, {"share_set/batches": n}).tolist()) for n in range(6)}
    assert len(seen) > 1


def test_a_scrambled_order_is_fair():
    """Every member of a group of four comes first about as often as any other."""
    ids, group = torch.arange(4), torch.zeros(4).long()
    first = torch.stack([rank_in_group(ids, group, seed) for seed in range(2000)]) == 0
    assert first.sum(1).tolist() == [1] * 2000
    assert first.double().mean(0).tolist() == pytest.approx([0.25] * 4, abs=0.04)


def test_dropped_negatives_are_drawn_anew_for_every_batch():
    batch = rows(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    spec = replace(DR_GRPO, transform=(DropNegatives(),))
    kept, state = set(), {}
    for _ in range(12):
        made = estimate(spec, batch, state)
        state = made.state
        kept.add(int(made.y[:5].argmin()))
        assert sorted(made.y.tolist()) == [-0.5, 0.0, 0.0, 0.0, 0.0, 0.5]
    assert len(kept) >= 3
    assert state == {"drop_negatives/batches": 12}


def test_pairs_of_one_kind_do_not_open_the_gate():
    """Two good rows far apart are no pair; the bad one has a partner on the other side."""
    batch = rows(1.0, 0.9, 0.8, 0.0)
    gate = PairGate(score="reward", delta=0.85)
    a_B = a_of(replace(DR_GRPO, transform=(gate,)), batch)
    assert (a_B != 0).tolist() == [True, True, False, True]


def test_hapo_falls_back_for_the_group_that_is_extreme_and_for_no_other():
    batch = Batch.from_lists(
        [[1.0], [0.0], [1.0], [0.0]], tokens=[[1], [30], [2], [2]], group=[0, 0, 1, 1]
    )
    spec = AdvantageConfig(weights="token", ddof=0, transform=(GrpoFallback(),))
    assert a_of(spec, batch).tolist() == pytest.approx([0.7071, -0.7071, 1.0, -1.0], abs=1e-4)


@pytest.mark.parametrize("name", ["gae", "td_critic", "ads"])
def test_rewards_kept_apart_cannot_share_what_knows_one_reward(name):
    with pytest.raises(ConfigError, match=f"credit='{name}' knows one"):
        AdvantageConfig(compose=Decoupled(), credit=read(AnyCredit, {"name": name}))


@pytest.mark.parametrize("name", ["greedy_baseline", "seat_ema"])
def test_rewards_kept_apart_cannot_share_a_baseline(name):
    with pytest.raises(ConfigError, match=f"baseline='{name}' knows one"):
        AdvantageConfig(compose=Decoupled(), baseline=read(AnyBaseline, {"name": name}))


@pytest.mark.parametrize(
    ("modifier", "message"),
    [
        (lambda: ExpWeight(temperature=0.0), "temperature=0.0 must be greater than 0"),
        (lambda: Shift(beta=math.inf), "beta=inf must be a finite"),
        (ShareSet, "trajectory key 'set'"),
        (BlendGlobal, "trajectory key 'answer'"),
        (AddTree, "trajectory key 'branch'"),
        (Sharpen, "'sharpen' needs logp_old_CL"),
        (AddStateGroup, "'state' needs state_BT"),
        (MergeEdges, "'merge_edges' needs state_BT"),
        (PairGate, "reward component 'score'"),
        (AddTurnReward, "reward component 'cost'"),
    ],
)
def test_what_a_modifier_lacks_is_named(modifier, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        a_of(AdvantageConfig(transform=(modifier(),)), rows(1.0, 0.0))


def test_no_exponent_overflows():
    a_B = a_of(replace(DR_GRPO, transform=(ExpWeight(temperature=1e-3),)), rows(9.0, -9.0))
    assert bool(a_B.isfinite().all())
    assert float(a_B[0]) == pytest.approx(9 * math.exp(20))
    hot = replace(rows(1.0, 0.0), logp_old_CL=torch.tensor([[0.0], [-1e5]]))
    assert bool(a_of(AdvantageConfig(transform=(Sharpen(),)), hot).isfinite().all())
    soft = a_of(replace(DR_GRPO, baseline=LogMeanExp(tau=1e-6)), rows(1e6, -1e6))
    assert soft.tolist() == pytest.approx([0.0, -2e6], abs=1e-3)
