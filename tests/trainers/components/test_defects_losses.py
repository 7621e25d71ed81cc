"""Points at which released code or re-implementations of losses go wrong, one test each."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AnyAggregation,
    AnyCorrection,
    ClipCov,
    DualClip,
    Entropy,
    Epo,
    KlCov,
    PolicyGradient,
    PpoClip,
    Preclip,
    RemixClip,
    SeqGeoRatio,
    SeqMeanTokenSum,
    SumNorm,
    TokenMean,
    TokenMis,
    TokenTis,
    Unclipped,
    entropy_scale,
    kl_term,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, batch_statistics, kept_mask, policy_loss
from tests.trainers.forms import loss_inputs

TOKENS = TokenMean()


def gradient(spec, x, denom=None, of="logp_CL"):
    """Return the gradient of a loss over all rows in one of its inputs."""
    leaf_CL = getattr(x, of).detach().clone().requires_grad_()
    out = policy_loss(spec, replace(x, **{of: leaf_CL}), denom or Denominators.of(x.mask_CL, 8))
    return torch.autograd.grad(out[0], leaf_CL)[0]


def rows(lengths, width=8):
    """Build rows of given lengths with A = 1, 2, 3, ..., on policy."""
    mask_CL = torch.arange(width).expand(len(lengths), width) < torch.tensor(lengths).unsqueeze(1)
    a_B = torch.arange(1.0, len(lengths) + 1).double()
    logp_CL = torch.full(mask_CL.shape, -1.0, dtype=torch.float64)
    return Batch.from_tokens(logp_CL, a_B, mask_CL=mask_CL)


def part(x, at):
    return x.chosen(torch.tensor(at))


# 1. Denominators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", sorted(components(AnyAggregation)))
def test_denominators_are_those_of_the_update_and_not_of_a_micro_batch(aggregate):
    x, spec = (
        rows([1, 8, 3]),
        LossConfig(surrogate=PolicyGradient(), aggregate=read(AnyAggregation, {"name": aggregate})),
    )
    denom = Denominators.of(x.mask_CL, 8)
    whole = policy_loss(spec, x, denom)[0].item()
    accumulated = sum(policy_loss(spec, part(x, [i]), denom)[0].item() for i in range(3))
    assert accumulated == pytest.approx(whole)
    local = [
        policy_loss(spec, part(x, [i]), Denominators.of(x.mask_CL[[i]], 8))[0].item()
        for i in range(3)
    ]
    wrong = {"mean of local means": sum(local) / 3, "divided by the parts": accumulated / 3}
    right = {
        "seq_mean_token_mean",
        "seq_mean_token_sum",
        "constant_mean",
    }  # equal rows: means agree
    assert wrong["divided by the parts"] != pytest.approx(whole)
    assert (wrong["mean of local means"] == pytest.approx(whole)) is (aggregate in right)


# 2. Constant denominators -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 20])
def test_constant_denominators_know_neither_padding_nor_each_other(width):
    x = rows([2, 4], width)
    for aggregate, expected in (("constant_mean", 1 / (2 * 16)), ("sum_norm", 1 / 16)):
        spec = LossConfig(
            surrogate=PolicyGradient(), aggregate=read(AnyAggregation, {"name": aggregate})
        )
        slope_CL = gradient(spec, x, Denominators.of(x.mask_CL, 16))
        assert slope_CL[0, 0].item() == pytest.approx(-expected)
        assert slope_CL[1, 3].item() == pytest.approx(-2 * expected)


# 7. GSPO ------------------------------------------------------------------------------------------


def test_the_gradient_of_the_sequence_ratio_is_divided_by_the_length_once():
    x = rows([4])
    spec = LossConfig(ratio_level=SeqGeoRatio())
    ours_CL = gradient(spec, x)
    assert ours_CL[0, :4].tolist() == pytest.approx([-0.25] * 4)

    logp_CL = x.logp_CL.clone().requires_grad_()
    log_CL = torch.where(x.mask_CL, logp_CL - x.logp_old_CL, 0.0)
    naive_CL = (log_CL.sum(1, keepdim=True) / 4).exp().expand_as(logp_CL)
    naive = SeqMeanTokenSum()(-naive_CL / 16, x.mask_CL, Denominators.of(x.mask_CL, 8))
    (naive_slope_CL,) = torch.autograd.grad(naive, logp_CL)
    assert naive_slope_CL[0, :4].tolist() == pytest.approx([-0.25 / 4] * 4)


def test_clip_bounds_of_a_token_never_clip_a_sequence():
    moved = torch.randn(4, 200, generator=torch.Generator().manual_seed(0)).double() * 0.05 + 0.001
    x = Batch.from_tokens(moved - 1.0, [1.0] * 4, torch.full_like(moved, -1.0))
    level = SeqGeoRatio()
    for eps_lo, eps_hi, clipped in ((0.2, 0.2, False), (3e-4, 4e-4, True)):
        kind = PpoClip(eps_lo=eps_lo, eps_hi=eps_hi)
        stats = policy_loss(
            LossConfig(surrogate=kind, ratio_level=level), x, Denominators.of(x.mask_CL, 200)
        )[1]
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
    ratio_CL = torch.tensor([[0.5, 1.0, 2.0, 9.0]], dtype=torch.float64)
    for advantage, slopes in ((1.0, [-0.5, -1.0, 0.0, 0.0]), (-1.0, [0.0, 1.0, 2.0, 0.0])):
        x = Batch.from_tokens(ratio_CL.log(), [advantage], torch.zeros_like(ratio_CL))
        spec = LossConfig(surrogate=DualClip(c=3.0), aggregate=TOKENS)
        assert (4 * gradient(spec, x))[0].tolist() == pytest.approx(slopes)
        worse = PpoClip()(ratio_CL, x).loss_CL >= -advantage * ratio_CL
        assert worse.all()  # the first clip is pessimistic for both signs


# 11. Sampler correction ---------------------------------------------------------------------------


def test_a_correction_is_refused_where_the_ratio_corrects_already():
    with pytest.raises(
        ConfigError, match=r"anchor='behaviour' and is_correction='token_tis' count"
    ):
        LossConfig(anchor="behaviour", is_correction=TokenTis())
    with pytest.raises(ConfigError, match=r"remix_clip and is_correction='token_mis' count"):
        LossConfig(surrogate=RemixClip(), is_correction=TokenMis())


@pytest.mark.parametrize("correct", ["token_tis", "token_mis"])
def test_a_correction_weight_is_a_constant_even_where_old_is_now(correct):
    """With one step per batch logp_old is the current pass, gradient and all."""
    logp_CL = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    roll_CL = torch.tensor([[-1.2, -1.9]], dtype=torch.float64)
    ones_CL = torch.ones_like(roll_CL)
    mask_CL, turn_CL = torch.ones(1, 2).bool(), torch.zeros(1, 2).long()
    x = loss_inputs(logp_CL, logp_CL, ones_CL, mask_CL, turn_CL, logp_behaviour_CL=roll_CL)
    spec = LossConfig(is_correction=read(AnyCorrection, {"name": correct}), aggregate=TOKENS)
    (slope_CL,) = torch.autograd.grad(policy_loss(spec, x, Denominators.of(mask_CL, 2))[0], logp_CL)
    weight_CL = batch_statistics(spec, x)["is_correction/weight"]
    assert torch.allclose(slope_CL, -weight_CL / 2)
    assert not torch.allclose(weight_CL, ones_CL, atol=1e-2)


def test_rejected_tokens_leave_the_denominator():
    x = replace(rows([4]), logp_behaviour_CL=torch.full((1, 8), -1.0).double())
    x.logp_behaviour_CL[0, 3] = -9.0
    spec = LossConfig(is_correction=TokenMis(), aggregate=TOKENS)
    kept_CL = kept_mask(spec, x.logp_old_CL, x.logp_behaviour_CL, x.mask_CL)
    slope_CL = gradient(spec, x, Denominators.of(kept_CL, 8))
    assert slope_CL[0, :4].tolist() == pytest.approx([-1 / 3] * 3 + [0.0])


# 13. Defects of released code ---------------------------------------------------------------------


def test_the_entropy_score_has_a_negative_side():
    """The released HAPO code gives (1, .5, .1505, 1, 0): its low-entropy branch never runs."""
    entropy_N = torch.tensor([0.01, 0.1, 0.5, 2.0, 1.0])
    got = entropy_scale(entropy_N).score(entropy_N).tolist()
    assert got == pytest.approx([-1.0, -0.5, -0.1505, 1.0, 0.0], abs=6e-5)


def test_the_reported_penalty_of_epo_is_a_constant_and_the_hinge_is_not():
    entropy_CL = torch.tensor([[0.1, 1.0, 4.0]], dtype=torch.float64)
    state = {"epo/mean": [1.0], "epo/seen": [1]}
    x = replace(Batch.from_tokens(torch.zeros(1, 3), [0.0], entropy_CL=entropy_CL), state=state)

    def slope(chosen):
        return gradient(LossConfig(regularise=(chosen,)), x, of="entropy_CL")

    bounds = {"coef": 0.01, "kappa_l": 0.5, "kappa_r": 2.0}
    bonus = slope(Entropy(coef=0.01))
    assert torch.equal(slope(Epo(mode="reported", **bounds)), bonus)
    back_CL = (slope(Epo(mode="hinge", **bounds)) - bonus) / (0.01 / 3)
    assert back_CL[0].tolist() == pytest.approx([-0.1, 0.0, 0.1])


def test_log_ratios_are_limited_before_the_exponential():
    """StableReinforce: exp first and clip afterwards is infinite, and infinity times 0 is NaN."""
    x = Batch.from_tokens([[800.0, 800.0]], [-1.0], [[0.0, 0.0]])
    assert x.logp_CL.exp().isinf().all()
    spec = LossConfig(surrogate=Preclip(), aggregate=TOKENS)
    out = policy_loss(spec, x, Denominators.of(x.mask_CL, 2))
    assert out[0].item() == pytest.approx(1000.0)
    assert gradient(spec, x).tolist() == [[0.0, 0.0]]


# 14. Clip-Cov and KL-Cov --------------------------------------------------------------------------


def test_covariance_thresholds_suppose_advantages_of_unit_variance():
    noise = torch.Generator().manual_seed(0)
    logp_CL = -torch.rand(40, 10, generator=noise).double() * 2
    reward_B = (torch.rand(40, generator=noise) < 0.1).double()
    centred_B = reward_B - reward_B.mean()
    spec = LossConfig(token_masks=(ClipCov(ratio=1.0),))
    for a_B, silenced in ((centred_B, False), (centred_B / reward_B.std(), True)):
        keep_CL = batch_statistics(spec, Batch.from_tokens(logp_CL, a_B))["clip_cov"]
        assert bool((~keep_CL).any()) is silenced


def test_kl_cov_is_inert_on_the_first_step():
    spec = LossConfig(surrogate=Unclipped(), regularise=(KlCov(frac=1.0),))
    bare = LossConfig(surrogate=Unclipped())
    fresh = rows([3, 5])
    assert torch.equal(gradient(spec, fresh), gradient(bare, fresh))
    moved = replace(fresh, logp_old_CL=fresh.logp_CL - 0.1)
    assert not torch.allclose(gradient(spec, moved), gradient(bare, moved))


# 15. Replayed rows --------------------------------------------------------------------------------


def test_every_row_is_clipped_around_its_own_behaviour_policy():
    log = torch.tensor([1.0, 1.5, 0.5], dtype=torch.float64).log()  # pi_old / pi_roll by row
    x = Batch.from_tokens([[0.0]] * 3, [1.0] * 3, logp_behaviour_CL=-log.unsqueeze(1))
    x = replace(x, logp_CL=torch.full((3, 1), 1.3, dtype=torch.float64).log())
    spec = LossConfig(surrogate=RemixClip(), aggregate=SumNorm())
    rows_ = [
        policy_loss(spec, part(x, [i]), Denominators.of(x.mask_CL, 1))[0].item() for i in range(3)
    ]
    # r = 1.3 c is clipped at c + .2 where .3 c > .2
    assert rows_ == pytest.approx([-1.2, -1.7, -0.65])
    shared = policy_loss(LossConfig(aggregate=SumNorm()), x, Denominators.of(x.mask_CL, 1))[
        0
    ].item()
    assert shared == pytest.approx(-3.6)  # one clip for all is another loss


# 16. Names ----------------------------------------------------------------------------------------


def test_no_aggregation_is_called_bnpo():
    """TRL's loss_type "bnpo" is a local token mean and has nothing to do with the paper."""
    assert not {"bnpo", "grpo", "dapo", "dr_grpo"} & set(components(AnyAggregation))
