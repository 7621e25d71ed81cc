"""Points at which released code or re-implementations of losses go wrong, one test each."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators import (
    AGGREGATE,
    LossInputs,
    LossSpec,
    count,
    from_tokens,
    kept_mask,
    kl_term,
    option,
    policy_loss,
    survey,
)
from coevo.trainers.estimators.hapo import entropy_scale
from coevo.trainers.estimators.surrogate_clip import ppo_clip

TOKENS = option("token_mean")


def gradient(spec, x, denom=None, of="logp_BL"):
    """Give the gradient of a loss over all rows in one of its inputs."""
    leaf_BL = getattr(x, of).detach().clone().requires_grad_()
    out = policy_loss(spec, replace(x, **{of: leaf_BL}), denom or count(x.mask_BL, 8))
    return torch.autograd.grad(out.loss, leaf_BL)[0]


def rows(lengths, width=8):
    """Build rows of given lengths with A = 1, 2, 3, ..., on policy."""
    mask_BL = torch.arange(width).expand(len(lengths), width) < torch.tensor(lengths).unsqueeze(1)
    a_B = torch.arange(1.0, len(lengths) + 1).double()
    logp_BL = torch.full(mask_BL.shape, -1.0, dtype=torch.float64)
    return from_tokens(logp_BL, a_B, mask_BL=mask_BL)


def part(x, at):
    named = {n: t[at] for n, t in x.tensors().items()}
    return LossInputs(**named)


# 1. Denominators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", sorted(AGGREGATE))
def test_denominators_are_those_of_the_update_and_not_of_a_micro_batch(aggregate):
    x, spec = rows([1, 8, 3]), LossSpec(kind=option("pg"), aggregate=option(aggregate))
    denom = count(x.mask_BL, 8)
    whole = policy_loss(spec, x, denom).loss.item()
    accumulated = sum(policy_loss(spec, part(x, [i]), denom).loss.item() for i in range(3))
    assert accumulated == pytest.approx(whole)
    local = [
        policy_loss(spec, part(x, [i]), count(x.mask_BL[[i]], 8)).loss.item() for i in range(3)
    ]
    wrong = {"mean of local means": sum(local) / 3, "divided by the parts": accumulated / 3}
    right = {"seq_mean_token_mean", "seq_mean_token_sum", "const"}  # equal rows: means agree
    assert wrong["divided by the parts"] != pytest.approx(whole)
    assert (wrong["mean of local means"] == pytest.approx(whole)) is (aggregate in right)


# 2. Constant denominators -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 20])
def test_constant_denominators_know_neither_padding_nor_each_other(width):
    x = rows([2, 4], width)
    for aggregate, expected in (("const", 1 / (2 * 16)), ("sum_norm", 1 / 16)):
        spec = LossSpec(kind=option("pg"), aggregate=option(aggregate))
        slope_BL = gradient(spec, x, count(x.mask_BL, 16))
        assert slope_BL[0, 0].item() == pytest.approx(-expected)
        assert slope_BL[1, 3].item() == pytest.approx(-2 * expected)


# 7. GSPO ------------------------------------------------------------------------------------------


def test_the_gradient_of_the_sequence_ratio_is_divided_by_the_length_once():
    x = rows([4])
    spec = LossSpec(ratio_level=option("seq_geo"))
    ours_BL = gradient(spec, x)
    assert ours_BL[0, :4].tolist() == pytest.approx([-0.25] * 4)

    logp_BL = x.logp_BL.clone().requires_grad_()
    log_BL = torch.where(x.mask_BL, logp_BL - x.logp_old_BL, 0.0)
    naive_BL = (log_BL.sum(1, keepdim=True) / 4).exp().expand_as(logp_BL)
    naive = AGGREGATE["seq_mean_token_sum"](-naive_BL / 16, x.mask_BL, count(x.mask_BL, 8))
    (naive_slope_BL,) = torch.autograd.grad(naive, logp_BL)
    assert naive_slope_BL[0, :4].tolist() == pytest.approx([-0.25 / 4] * 4)


def test_clip_bounds_of_a_token_never_clip_a_sequence():
    moved = torch.randn(4, 200, generator=torch.Generator().manual_seed(0)).double() * 0.05 + 0.001
    x = from_tokens(moved - 1.0, [1.0] * 4, torch.full_like(moved, -1.0))
    level = option("seq_geo")
    for eps_lo, eps_hi, clipped in ((0.2, 0.2, False), (3e-4, 4e-4, True)):
        kind = option("ppo_clip", eps_lo=eps_lo, eps_hi=eps_hi)
        stats = policy_loss(LossSpec(kind=kind, ratio_level=level), x, count(x.mask_BL, 200)).stats
        assert bool(stats["clip_fraction"] > 0) is clipped


# 8. KL as a loss ----------------------------------------------------------------------------------


def test_k3_as_a_loss_is_the_other_divergence_and_k1_is_none():
    logits = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64, requires_grad=True)
    log_ref = torch.tensor([0.1, 0.5, -0.4], dtype=torch.float64).log_softmax(-1)
    log_pi = logits.log_softmax(-1)
    forward = (log_pi.exp() * (log_pi - log_ref)).sum()
    reverse = (log_ref.exp() * (log_ref - log_pi)).sum()
    slopes = {
        kind: torch.autograd.grad(
            (log_pi.exp().detach() * kl_term(kind, log_pi, log_ref)).sum(),
            logits,
            retain_graph=True,
        )[0]
        for kind in ("k1", "k2", "k3", "k2grad_k3value")
    }
    to_ref, from_ref = (
        torch.autograd.grad(v, logits, retain_graph=True)[0] for v in (forward, reverse)
    )
    assert torch.allclose(slopes["k1"], torch.zeros(3, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(slopes["k2"], to_ref)
    assert torch.allclose(slopes["k2grad_k3value"], to_ref)
    assert torch.allclose(slopes["k3"], from_ref)
    assert not torch.allclose(to_ref, from_ref, atol=1e-2)


# 9. Dual clip -------------------------------------------------------------------------------------


def test_the_second_clip_is_a_ceiling_for_bad_tokens_only():
    ratio_BL = torch.tensor([[0.5, 1.0, 2.0, 9.0]], dtype=torch.float64)
    for advantage, slopes in ((1.0, [-0.5, -1.0, 0.0, 0.0]), (-1.0, [0.0, 1.0, 2.0, 0.0])):
        x = from_tokens(ratio_BL.log(), [advantage], torch.zeros_like(ratio_BL))
        spec = LossSpec(kind=option("dual_clip", c=3.0), aggregate=TOKENS)
        assert (4 * gradient(spec, x))[0].tolist() == pytest.approx(slopes)
        worse = ppo_clip(ratio_BL, x).loss_BL >= -advantage * ratio_BL
        assert worse.all()  # the first clip is pessimistic for both signs


# 11. Sampler correction ---------------------------------------------------------------------------


def test_a_correction_is_refused_where_the_ratio_corrects_already():
    with pytest.raises(ConfigError, match=r"anchor='roll' and loss.correct='token_tis' count"):
        LossSpec(anchor="roll", correct=option("token_tis"))
    with pytest.raises(ConfigError, match=r"kind='remix' and loss.correct='seq_mis' count"):
        LossSpec(kind=option("remix"), correct=option("seq_mis"))


@pytest.mark.parametrize("correct", ["token_tis", "token_mis", "seq_tis", "seq_mis"])
def test_a_correction_weight_is_a_constant_even_where_old_is_now(correct):
    """With one step per batch logp_old is the current pass, gradient and all."""
    logp_BL = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    roll_BL = torch.tensor([[-1.2, -1.9]], dtype=torch.float64)
    ones_BL = torch.ones_like(roll_BL)
    mask_BL, turn_BL = torch.ones(1, 2).bool(), torch.zeros(1, 2).long()
    x = LossInputs(logp_BL, logp_BL, ones_BL, mask_BL, turn_BL, logp_roll_BL=roll_BL)
    spec = LossSpec(correct=option(correct), aggregate=TOKENS)
    (slope_BL,) = torch.autograd.grad(policy_loss(spec, x, count(mask_BL, 2)).loss, logp_BL)
    weight_BL = survey(spec, x)["correct/weight"]
    assert torch.allclose(slope_BL, -weight_BL / 2)
    assert not torch.allclose(weight_BL, ones_BL, atol=1e-2)


def test_rejected_tokens_leave_the_denominator():
    x = replace(rows([4]), logp_roll_BL=torch.full((1, 8), -1.0).double())
    x.logp_roll_BL[0, 3] = -9.0
    spec = LossSpec(correct=option("token_mis"), aggregate=TOKENS)
    kept_BL = kept_mask(spec, x.logp_old_BL, x.logp_roll_BL, x.mask_BL)
    slope_BL = gradient(spec, x, count(kept_BL, 8))
    assert slope_BL[0, :4].tolist() == pytest.approx([-1 / 3] * 3 + [0.0])


# 13. Defects of released code ---------------------------------------------------------------------


def test_the_entropy_score_has_a_negative_side():
    """The released HAPO code gives (1, .5, .1505, 1, 0): its low-entropy branch never runs."""
    entropy_N = torch.tensor([0.01, 0.1, 0.5, 2.0, 1.0])
    got = entropy_scale(entropy_N).score(entropy_N).tolist()
    assert got == pytest.approx([-1.0, -0.5, -0.1505, 1.0, 0.0], abs=6e-5)


def test_the_reported_penalty_of_epo_is_a_constant_and_the_hinge_is_not():
    entropy_BL = torch.tensor([[0.1, 1.0, 4.0]], dtype=torch.float64)
    state = {"epo/mean": [1.0], "epo/seen": [1]}
    x = replace(from_tokens(torch.zeros(1, 3), [0.0], entropy_BL=entropy_BL), state=state)

    def slope(chosen):
        return gradient(LossSpec(regularise=(chosen,)), x, of="entropy_BL")

    bounds = {"coef": 0.01, "kappa_l": 0.5, "kappa_r": 2.0}
    bonus = slope(option("entropy", coef=0.01))
    assert torch.equal(slope(option("epo", mode="reported", **bounds)), bonus)
    back_BL = (slope(option("epo", mode="hinge", **bounds)) - bonus) / (0.01 / 3)
    assert back_BL[0].tolist() == pytest.approx([-0.1, 0.0, 0.1])


def test_log_ratios_are_limited_before_the_exponential():
    """StableReinforce: exp first and clip afterwards is infinite, and infinity times 0 is NaN."""
    x = from_tokens([[800.0, 800.0]], [-1.0], [[0.0, 0.0]])
    assert x.logp_BL.exp().isinf().all()
    spec = LossSpec(kind=option("preclip"), aggregate=TOKENS)
    out = policy_loss(spec, x, count(x.mask_BL, 2))
    assert out.loss.item() == pytest.approx(1000.0)
    assert gradient(spec, x).tolist() == [[0.0, 0.0]]


# 14. Clip-Cov and KL-Cov --------------------------------------------------------------------------


def test_covariance_thresholds_suppose_advantages_of_unit_variance():
    noise = torch.Generator().manual_seed(0)
    logp_BL = -torch.rand(40, 10, generator=noise).double() * 2
    reward_B = (torch.rand(40, generator=noise) < 0.1).double()
    centred_B = reward_B - reward_B.mean()
    spec = LossSpec(gates=(option("clip_cov", ratio=1.0),))
    for a_B, silenced in ((centred_B, False), (centred_B / reward_B.std(), True)):
        keep_BL = survey(spec, from_tokens(logp_BL, a_B))["clip_cov"]
        assert bool((~keep_BL).any()) is silenced


def test_kl_cov_is_inert_on_the_first_step():
    spec = LossSpec(kind=option("ratio"), regularise=(option("kl_cov", frac=1.0),))
    bare = LossSpec(kind=option("ratio"))
    fresh = rows([3, 5])
    assert torch.equal(gradient(spec, fresh), gradient(bare, fresh))
    moved = replace(fresh, logp_old_BL=fresh.logp_BL - 0.1)
    assert not torch.allclose(gradient(spec, moved), gradient(bare, moved))


# 15. Replayed rows --------------------------------------------------------------------------------


def test_every_row_is_clipped_around_its_own_behaviour_policy():
    log = torch.tensor([1.0, 1.5, 0.5], dtype=torch.float64).log()  # pi_old / pi_roll by row
    x = from_tokens([[0.0]] * 3, [1.0] * 3, logp_roll_BL=-log.unsqueeze(1))
    x = replace(x, logp_BL=torch.full((3, 1), 1.3, dtype=torch.float64).log())
    spec = LossSpec(kind=option("remix"), aggregate=option("sum_norm"))
    rows_ = [policy_loss(spec, part(x, [i]), count(x.mask_BL, 1)).loss.item() for i in range(3)]
    # r = 1.3 c is clipped at c + .2 where .3 c > .2
    assert rows_ == pytest.approx([-1.2, -1.7, -0.65])
    shared = policy_loss(LossSpec(aggregate=option("sum_norm")), x, count(x.mask_BL, 1)).loss.item()
    assert shared == pytest.approx(-3.6)  # one clip for all is another loss


# 16. Names ----------------------------------------------------------------------------------------


def test_no_aggregation_is_called_bnpo():
    """TRL's loss_type "bnpo" is a local token mean and has nothing to do with the paper."""
    assert not {"bnpo", "grpo", "dapo", "dr_grpo"} & set(AGGREGATE)
