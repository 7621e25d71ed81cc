"""Records against worked numbers: advantages, losses and rewards."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.envs.rewards.calls import calls_of
from coevo.envs.rewards.progress import redistribute
from coevo.envs.rewards.tools import tool_score
from coevo.trainers.advantage import advantages
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    BetaPdf,
    Entropy,
    Gmpo,
    NoBaseline,
    NoNormalisation,
    PpoClip,
    ShareSet,
    TokenMean,
    TokenRatio,
    ads_gamma,
    exact_kl,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import policy_loss
from coevo.trainers.samplers.tasks import TaskStats
from tests.trainers.forms import loss_inputs


def made(which, changes=None):
    name, _, variant = which.partition(":")
    return algorithm(name, variant or None, changes)


def close(actual, expected):
    return np.allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=6e-5)


PROMPTS = Batch.from_lists(
    [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0], [1.0]],
    [[2], [3], [1], [4], [1], [2], [2], [3]],
    group=[0] * 4 + [1] * 4,
)
GRPO = [0.8660, -0.8660, -0.8660, 0.8660, -0.5, -0.5, -0.5, 1.5]
WHITE = [0.9718, -0.9718, -0.9718, 0.9718, -0.9718, -0.9718, -0.9718, 0.9718]
ALONE = {"advantage.reward_weights": {}}
OUTCOMES = {
    "reinforce": [0.625, -0.375, -0.375, 0.625, -0.375, -0.375, -0.375, 0.625],
    "rloo": [2 / 3, -2 / 3, -2 / 3, 2 / 3, -1 / 3, -1 / 3, -1 / 3, 1.0],
    "grpo": GRPO,
    "rlccf": GRPO,
    "co_reward": GRPO,
    "evol_rl": GRPO,
    "arena_rl": GRPO,
    "vpl": GRPO,
    "polar": GRPO,
    "c2": GRPO,
    "dapo": GRPO,
    "gspo": GRPO,
    "gmpo": GRPO,
    "cispo": GRPO,
    "sapo": GRPO,
    "knapsack": GRPO,
    "spear": GRPO,
    "toolrl": GRPO,
    "dr_grpo": [0.5, -0.5, -0.5, 0.5, -0.25, -0.25, -0.25, 0.75],
    "topr": [0.5, -0.5, -0.5, 0.5, -0.25, -0.25, -0.25, 0.75],
    "lite_ppo": [0.9659, -0.9659, -0.9659, 0.9659, -0.4830, -0.4830, -0.4830, 1.4489],
    "reinforce_pp:no_kl": WHITE,
    "reinforce_pp_baseline": [
        *(0.7752, -1.2182, -1.2182, 0.7752),
        *(-0.7199, -0.7199, -0.7199, 1.2736),
    ],
    "opo": [0.4, -0.6, -0.6, 0.4, -0.375, -0.375, -0.375, 0.625],
    "gpg": [0.5, -0.5, -0.5, 0.5, -0.25, -0.25, -0.25, 0.75],
    "gpg:verl": [1.3333, -1.3333, -1.3333, 1.3333, -0.6667, -0.6667, -0.6667, 2.0],
    "hapo": [0.8165, -1.2247, -1.2247, 0.8165, -0.7746, -0.7746, -0.7746, 1.2910],
    "opmd:log_mean_exp": [0.3799, -0.6201, -0.6201, 0.3799, -0.3574, -0.3574, -0.3574, 0.6426],
    "asymre": [0.6, -0.4, -0.4, 0.6, -0.15, -0.15, -0.15, 0.85],
    "red_weight": [0.8244, -0.3033, -0.3033, 0.8244, -0.1947, -0.1947, -0.1947, 1.5878],
}


@pytest.mark.parametrize("which", OUTCOMES)
def test_outcomes_of_two_prompts(which):
    got_BS = advantages(made(which).advantage, PROMPTS)[0].advantage_CL
    assert close(got_BS[:, 0], OUTCOMES[which])


def test_gpg_makes_up_for_groups_that_agree():
    """One group of two is all right: the rows of the other count twice, (1, 0) / 2 * 4 / 2."""
    batch = Batch.from_lists([[1.0], [0.0], [1.05], [1.05]], group=[0, 0, 1, 1])
    for which, factor in (("gpg", 2.0), ("gpg:verl", 4 / 3)):
        got_B = advantages(made(which).advantage, batch)[0].advantage_CL[:, 0]
        assert close(got_B, [0.5 * factor, -0.5 * factor, 0, 0])


@pytest.mark.parametrize("by", ["group+agent", "group"])
def test_rloo_leaves_out_the_opponent_of_the_same_play(by):
    """R = (1, 0) and (5, 5): the first baseline is 5 whatever the opponent got."""
    batch = Batch.from_lists([[1.0], [0.0], [5.0], [5.0]], seat=[0, 1, 0, 1], episode=[0, 0, 1, 1])
    spec = made("rloo", {"advantage.baseline.by": by}).advantage
    expected = {"group+agent": [-4, -5, 4, 5], "group": [-4, -5, 4.5, 4.5]}[by]
    assert close(advantages(spec, batch)[0].advantage_CL[:, 0], expected)


def test_bnpo_on_accuracies():
    record = made("bnpo", {"advantage.normalise": BetaPdf(low=0, high=1)})
    expected = [0.3409, -0.3409, -0.3409, 0.3409, -0.1728, -0.1728, -0.1728, 0.5185]
    assert close(advantages(record.advantage, PROMPTS)[0].advantage_CL[:, 0], expected)


def test_red_drop_keeps_as_many_bad_plays_as_good_ones():
    got_B = advantages(made("red_drop").advantage, PROMPTS)[0].advantage_CL[:, 0]
    assert close(got_B[:4], [0.5, -0.5, -0.5, 0.5])
    assert sorted(got_B[4:].tolist()) == [-0.5, 0.0, 0.0, 0.5] and got_B[7] == 0.5


def test_only_the_best_answer_is_paid():
    batch = Batch.from_lists([[1.0], [0.0], [0.5], [0.2]])
    got_BS = advantages(made("grpo_passk").advantage, batch)[0].advantage_CL
    assert close(got_BS[:, 0], [1.1496, 0, 0, 0])


def test_gdpo_with_two_rewards():
    format_ = [[1.0], [1.0], [0.0], [0.0], [1.0], [1.0], [0.0], [1.0]]
    right = [[1.0], [0.0], [1.0], [0.0], [1.0], [1.0], [1.0], [1.0]]
    one, two = (Batch.from_lists(r, group=[0] * 4 + [1] * 4) for r in (format_, right))
    both_BTK = torch.cat([one.reward_BTK, two.reward_BTK], dim=-1)
    batch = replace(one, reward_BTK=both_BTK, components=("format", "accuracy"))
    got_BS = advantages(made("gdpo").advantage, batch)[0].advantage_CL
    assert close(got_BS[:, 0], [1.5274, 0, 0, -1.5274, 0.4409, 0.4409, -1.3227, 0.4409])


def test_mars_sums_first_and_centres_per_seat():
    batch = Batch.from_lists(
        [[0.1, 0.0, 1.0], [0.1, -1.0], [0.0, -1.0], [0.1, 1.0]], seat=[0, 0, 1, 1]
    )
    got_BS = advantages(made("mars").advantage, batch)[0].advantage_CL
    assert close(got_BS[0], [0.86, 0.76, 0.76])
    assert close(got_BS[1:, :2], [[-1.14, -1.24], [-1.025, -1.025], [1.075, 0.975]])


def test_dr_mas_measures_every_agent_by_itself():
    rewards = [[1.0], [1.0], [0.0], [1.0], [0.2], [0.0], [0.1], [0.1]]
    batch = Batch.from_lists(rewards, seat=[0] * 4 + [1] * 4)
    own = [0.5, 0.5, -1.5, 0.5, 1.2247, -1.2247, 0, 0]
    pooled = [1.1971, 1.1971, -0.8848, 1.1971, -0.4684, -0.8848, -0.6766, -0.6766]
    for which, expected in (("dr_mas", own), ("dr_mas:pooled", pooled)):
        got_B = advantages(made(which).advantage, batch)[0].advantage_CL[:, 0]
        assert np.allclose(got_B, expected, atol=2e-4)  # worked without eps


def test_dr_mas_charges_a_reply_for_itself_only():
    """Outcomes 1 and 0; the first reply of the second play is unreadable: Y = 1, 1 and -.1, 0."""
    payoff, format_ = ([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [-0.1, 0.0]])
    one, two = Batch.from_lists(payoff), Batch.from_lists(format_)
    both_BTK = torch.cat([one.reward_BTK, two.reward_BTK], dim=-1)
    batch = replace(one, reward_BTK=both_BTK, components=("payoff", "format"))
    got_BS = advantages(made("dr_mas").advantage, batch)[0].advantage_CL
    # mean .475, deviation (1.1075 / 3) ** .5 = .6076
    assert close(got_BS, [[0.8641, 0.8641], [-0.9464, -0.7818]])


def test_the_vanilla_baseline_of_dr_mas_compares_episodes():
    rewards = [[1.0], [1.0], [0.0], [1.0], [0.2], [0.0], [0.1], [0.1]]
    batch = Batch.from_lists(rewards, seat=[0] * 4 + [1] * 4, episode=[0, 1, 2, 3] * 2)
    got_B = advantages(made("dr_mas:vanilla").advantage, batch)[0].advantage_CL[:, 0]
    assert close(got_B, [0.6908, 0.2961, -1.4804, 0.4935] * 2)


@pytest.mark.parametrize("name", ["ppo", "turn_ppo", "spa", "mac_spgg"])
def test_the_critics_advantage_before_it_is_whitened(name):
    plain = {"advantage.normalise": NoNormalisation(), "advantage.baseline": NoBaseline()}
    inner = {"advantage.credit.gamma": 0.9, "advantage.credit.lam": 0.8}
    spec = made(name, plain | inner | ALONE).advantage
    batch = Batch.from_lists([[0.2, 1.0]], [[2, 2]])
    if name == "turn_ppo":
        value_CL, expected = [[0.5, 9.0, 0.6, 9.0]], [0.528, 0.528, 0.4, 0.4]
    else:
        value_CL, expected = [[0.5, 0.4, 0.6, 0.8]], [0.2417, 0.5301, 0.2640, 0.2]
    got = advantages(spec, replace(batch, value_CL=torch.tensor(value_CL).double()))
    assert close(got[0].advantage_CL[0], expected)


def test_the_bonus_of_xrpo_is_for_good_plays_only():
    logp_BS = torch.tensor([[-0.2], [-0.3], [-0.3], [-0.6]]).double()
    batch = replace(Batch.from_lists([[1.0], [0.0], [0.0], [1.0]]), logp_old_CL=logp_BS)
    got_BS = advantages(made("xrpo").advantage, batch)[0].advantage_CL
    assert close(got_BS[:, 0], [0.8660, -0.8660, -0.8660, 1.2990])


# Three trajectories: s0-a-s1-a earns 1, s0-a-s1-b and s0-b-s2-a earn 0.
STEPS = replace(
    Batch.from_lists([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
    state_BT=torch.tensor([[0, 1], [0, 1], [0, 2]]),
    action_BT=torch.tensor([[0, 0], [0, 1], [1, 0]]),
)


@pytest.mark.parametrize(
    ("which", "changes", "expected"),
    [
        (
            "gigpo",
            {"advantage.transform.add_state_group.gamma": 0.9},
            [[1.2667, 1.1667], [-0.6333, -0.8333], [-0.6333, -0.3333]],
        ),
        (
            "gigpo:std",
            {"advantage.transform.add_state_group.gamma": 0.9},
            [[2.3094, 1.8618], [-1.1547, -1.2845], [-1.1547, -0.5773]],
        ),
        ("salt", {}, [[0.2887, 1.1547], [0.2887, -0.5773], [-0.5773, -0.5773]]),
    ],
)
def test_steps_that_trajectories_share(which, changes, expected):
    assert close(advantages(made(which, changes).advantage, STEPS)[0].advantage_CL, expected)


def test_trees_are_compared_twice():
    batch = Batch.from_lists([[1.0], [0.0], [1.0], [1.0]], branch=[0, 0, 1, 1])
    got_BS = advantages(made("tree_grpo").advantage, batch)[0].advantage_CL
    assert close(got_BS[:, 0], [1.2071, -2.2071, 0.5, 0.5])


def test_alignment_weighs_the_others_by_the_own_past():
    batch = Batch.from_lists([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], seat=[0, 1], episode=[0, 0])
    plain = ALONE | {"advantage.credit.gamma": 0.0, "advantage.baseline": NoBaseline()}
    plain |= {"advantage.transform.align.beta": 1.0}
    got_BS = advantages(made("advantage_alignment", plain).advantage, batch)[0].advantage_CL
    assert close(got_BS[0], [1.0, -0.838, 0.5324])
    changes = plain | {"advantage.transform.align.form": "sum"}
    got_BS = advantages(made("advantage_alignment", changes).advantage, batch)[0].advantage_CL
    assert close(got_BS[0], [1.0, -0.8, 0.5])


def test_the_original_alignment_divides_the_past_by_its_turns():
    """A = (1, 2, 1) beside (.5, .2, -.4), beta .5: weights 0, 1, 3 / 2."""
    batch = Batch.from_lists([[1.0, 2.0, 1.0], [0.5, 0.2, -0.4]], seat=[0, 1], episode=[0, 0])
    plain = ALONE | {"advantage.credit.gamma": 0.0, "advantage.baseline": NoBaseline()}
    got_BS = advantages(made("advantage_alignment:original", plain).advantage, batch)[
        0
    ].advantage_CL
    assert close(got_BS[0], [1.0, 2.1, 0.7])


def test_sets_are_judged_for_success_and_diversity():
    batch = Batch.from_lists(
        [[1.0], [0.0], [1.0], [1.0]], first_move=[0, 0, 1, 2], set=[0, 0, 1, 1]
    )
    own = {"advantage.transform": (ShareSet(label="first_move", size=0, low=0, high=1),)}
    got_BS = advantages(made("polychromic", own).advantage, batch)[0].advantage_CL
    assert close(got_BS[:, 0], [-0.375, -0.375, 0.375, 0.375])


def test_outliers_of_stable_reinforce_are_dropped():
    batch = Batch.from_lists([[0.0]] * 11 + [[10.0]])
    spec = made("stable_reinforce", {"advantage.kl_in_reward": 0, "advantage.ddof": 0}).advantage
    assert close(advantages(spec, batch)[0].advantage_CL[-2:, 0], [-0.3015, 0])


def test_copo_speaks_where_grpo_is_silent():
    batch = Batch.from_lists([[1.0], [1.0], [0.0], [0.0]], group=[0, 0, 1, 1], answer=[3, 3, 4, 4])
    assert not advantages(made("grpo").advantage, batch)[0].advantage_CL.any()
    got_B = advantages(made("copo").advantage, batch)[0].advantage_CL[:, 0]
    assert close(got_B, [0.6535, 0.6535, -0.6535, -0.6535])


def test_pairs_that_hardly_differ_do_not_teach():
    batch = replace(Batch.from_lists([[1.0], [0.95], [0.0], [0.9]]), components=("payoff",))
    far = advantages(made("dagrpo").advantage, batch)[0].advantage_CL
    near = made("dagrpo", {"advantage.transform.pair_gate.delta": 0.99}).advantage
    kept_B = advantages(near, batch)[0].advantage_CL[:, 0] != 0
    assert bool((far != 0).all()) and kept_B.tolist() == [True, False, True, False]


def test_the_discount_of_ads_follows_its_milestones():
    record = made("ads")
    alpha = record.advantage.credit.alpha
    found = [ads_gamma(k, alpha=alpha) for k in (1, 10, 20, 50, 100)]
    assert close(found, [0.2, 0.8513, 0.9227, 0.9683, 0.9840])
    plain = {"advantage.baseline": NoBaseline()}
    batch = replace(Batch.from_lists([[1.0, 1.0, 1.0, 0.0]]), components=("format",))
    spec = made("ads", plain).advantage
    got = advantages(spec, batch, {"ads/k": 2})
    assert close(got[0].advantage_CL[0], 0.05 * np.array([1.6472, 1.4472, 1.0, 0.0]))
    assert got[1]["ads/k"] == 5


def test_p3o_is_the_difference_of_a_pair_whatever_the_start_pays():
    rewards = [3.0, 1.0, -2.0, 0.5]
    groups = [0, 0, 1, 1]
    plain = Batch.from_lists([[r] for r in rewards], group=groups)
    moved = Batch.from_lists(
        [[r + 100 * g] for r, g in zip(rewards, groups, strict=True)], group=groups
    )
    spec = made("p3o").advantage
    got_B = advantages(spec, plain)[0].advantage_CL[:, 0]
    assert close(got_B, [2.0, -2.0, -2.5, 2.5])
    assert torch.allclose(got_B, advantages(spec, moved)[0].advantage_CL[:, 0], atol=1e-6)


def test_knapsack_and_schedules():
    allocate = made("knapsack").collect.allocate
    rng = np.random.default_rng(0)
    found = allocate(TaskStats.of_rates([0.1, 0.5, 0.9]), 24, rng)
    assert found.tolist() == [15, 7, 2]
    found = [made("spear").after(s, 0.0).collect.replay.coef for s in (0, 50, 100, 200, 900)]
    assert close(found, [0, 0.1464, 0.5, 1, 1])


def test_rewards_of_spa_and_toolrl():
    grounding = made("spa").rewards[0].grounding
    assert close(redistribute([0.3, 0.1, 0.4], [1, 0, 1], grounding), [0.8, 0.1, 0.9])
    truth, said = calls_of("search(q=x, k=3) calc(e=1+1)"), calls_of("search(q=x, k=5)")
    assert tool_score(truth, said) == pytest.approx(-0.5)


RHO = torch.tensor([[1.25, 1.5, 0.7], [0.7, 4.0, 1.0]]).double()
OLD = torch.tensor([[-1.0, -2.0, -0.5], [-1.5, -3.0, 0.0]]).double()
MASK = torch.tensor([[True, True, True], [True, True, False]])
TOKEN = {"loss.ratio_level": TokenRatio(), "loss.aggregate": TokenMean()}
LOSSES = [
    ("grpo", {}, 0.0833),
    ("lite_ppo", {}, -0.14),
    ("reinforce_pp", {}, -0.14),
    ("stable_reinforce", {}, 0.0833),
    ("dr_grpo", {}, -0.0875),
    ("dr_grpo:verl", {}, -0.175),
    ("dapo", {}, -0.166),
    ("dapo", {"loss.surrogate.c": 3.0}, -0.266),
    ("bnpo", {}, -0.415),
    ("gspo", {}, -0.0819),
    ("gspo", {"loss.surrogate": PpoClip(eps_lo=0.2, eps_hi=0.28)}, -0.1291),
    ("cispo", {}, 0.3844),
    ("sapo", {}, -0.4159),
    ("gmpo", {"loss.surrogate": Gmpo(eps_lo=0.2, eps_hi=0.28)}, -0.0726),
    ("topr", TOKEN, 0.3543),
    ("gpg", {}, 0.2986),
    ("opmd", {}, 0.3464),
    ("opmd:kimi", {}, 0.3225),
    ("asymre:nll", {}, 0.4325),
    ("rec:oneside_nois", {}, 0.0100),
    ("rec:oneside_is", {}, -0.5255),
    ("rec:twoside_is", {}, 0.0),
    ("rec:ring_nois", {}, -0.1614),
    ("kl_cov", {"loss.regularise.kl_cov.frac": 0.2}, -0.1487),
]


def loss_of(record, advantage_B=(1.0, -0.5)):
    logp_CL = (OLD + RHO.log()).requires_grad_()
    a_BL = torch.tensor(advantage_B, dtype=torch.float64).unsqueeze(1).expand_as(OLD)
    turn_BL = torch.where(MASK, 0, -1)
    inputs = loss_inputs(
        logp_CL,
        OLD,
        a_BL,
        MASK,
        turn_BL,
        logp_behaviour_CL=OLD,
        logp_ref_CL=OLD,
        entropy_CL=-logp_CL,
    )
    loss = policy_loss(record.loss, inputs, Denominators.of(MASK, 4))[0]
    return loss.item(), torch.autograd.grad(loss, logp_CL)[0]


@pytest.mark.parametrize(("which", "changes", "expected"), LOSSES)
def test_losses_of_five_tokens(which, changes, expected):
    assert loss_of(made(which, changes))[0] == pytest.approx(expected, abs=6e-5)


def test_asymre_by_either_form_is_one_loss():
    shifted, _ = loss_of(made("asymre"), advantage_B=(1.1, -0.4))
    assert shifted == pytest.approx(loss_of(made("asymre:nll"))[0], abs=1e-9)


def test_rec_with_weights_has_the_gradient_of_the_clip():
    clip = {"loss.surrogate": PpoClip(eps_lo=0.2, eps_hi=0.2)}
    ours, theirs = loss_of(made("rec:oneside_is"))[1], loss_of(made("rec", clip))[1]
    assert torch.allclose(ours, theirs)


@pytest.mark.parametrize("sampled", [True, False])
def test_distillation_moves_along_the_slope_of_the_reverse_kl(sampled):
    """Drawn exactly as often as the student writes them, tokens give the mean of the estimate."""
    counts, teacher = torch.tensor([5, 3, 2]), torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64)
    logits = (counts / 10.0).double().log().requires_grad_()
    log_pi = logits.log_softmax(-1)
    token_B = torch.repeat_interleave(torch.arange(3), counts)
    logp_B1, ref_B1 = log_pi[token_B].unsqueeze(1), teacher.log()[token_B].unsqueeze(1)
    played = Batch.from_lists([[7.0]] * 10)  # what the task pays does not count
    played = replace(
        played, components=("payoff",), logp_old_CL=logp_B1.detach(), logp_ref_CL=ref_B1
    )
    record = algorithm("on_policy_distillation", None if sampled else "full")
    rows = advantages(record.advantage, played)[0]
    distance = exact_kl(log_pi, teacher.log())
    rows = replace(rows, logp_CL=logp_B1, kl_reference_CL=distance.expand(10, 1))
    loss, _ = policy_loss(record.loss, rows, Denominators.of(rows.mask_CL, 1))
    want, found = (torch.autograd.grad(x, logits, retain_graph=True)[0] for x in (distance, loss))
    assert close(found, want) and close(want, [0.0989, -0.0939, -0.0051])
    if sampled:
        assert close(rows.advantage_CL[::4, 0], [-0.2231, -0.2231, 0.0])


def test_the_penalty_of_epo_as_reported_has_no_gradient():
    bonus = {"loss.regularise": (Entropy(coef=0.001),)}
    state = {"epo/mean": [0.5], "epo/seen": [3]}

    def gradient(which, changes=None):
        logp_CL = (OLD + RHO.log()).requires_grad_()
        inputs = loss_inputs(logp_CL, OLD, torch.ones_like(OLD), MASK, torch.where(MASK, 0, -1))
        inputs = replace(inputs, entropy_CL=torch.nn.functional.softplus(-logp_CL), state=state)
        loss = policy_loss(made(which, changes).loss, inputs, Denominators.of(MASK, 4))[0]
        return torch.autograd.grad(loss, logp_CL)[0]

    assert torch.allclose(gradient("epo:reported"), gradient("epo", bonus), rtol=0, atol=1e-12)
    assert not torch.allclose(gradient("epo"), gradient("epo", bonus), rtol=0, atol=1e-6)


def test_replayed_rows_are_clipped_around_where_the_update_started():
    def loss(advantage):
        old_BL, roll_BL = torch.zeros(1, 1), -torch.tensor([[1.5]]).log()
        one_BL, mask_CL = torch.ones(1, 1), torch.ones(1, 1).bool()
        logp_CL = torch.tensor([[1.2]]).log()
        inputs = loss_inputs(logp_CL, old_BL, advantage * one_BL, mask_CL, torch.zeros(1, 1).long())
        inputs = replace(inputs, logp_behaviour_CL=roll_BL, logp_ref_CL=old_BL)
        spec = replace(made("remix").loss, regularise=())
        return policy_loss(spec, inputs, Denominators.of(mask_CL, 1))[0].item()

    assert loss(1.0) == pytest.approx(-1.7) and loss(-1.0) == pytest.approx(1.8)


def test_a_record_that_claims_vectors_has_one_here():
    named = {*OUTCOMES, *(which for which, _, _ in LOSSES)}
    named |= {"ppo", "spa", "ads", "gigpo", "tree_grpo", "advantage_alignment", "red_drop"}
    named |= {"grpo_passk", "gdpo", "mars", "dr_mas"}
    named |= {"ipo", "simpo"}  # their losses, in losses/test_losses.py
    covered = {which.partition(":")[0] for which in named}
    assert {a.name for a in ALGORITHMS.values() if a.status == "vectors"} <= covered
