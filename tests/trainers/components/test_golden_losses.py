"""Literal vectors for surrogates, aggregation, corrections and KL terms, 4 decimals."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.components import (
    AnyAggregation,
    AnyRatio,
    AnyRegulariser,
    DualClip,
    Entropy,
    Kl,
    MagnetKl,
    PolicyGradient,
    PpoClip,
    SeqGeoRatio,
    SeqProdRatio,
    TokenMean,
    TokenMis,
    TokenTis,
    TurnRatio,
    exact_entropy,
    exact_kl,
    kl_term,
    top_k_kl,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, kept_mask, merge_stats, policy_loss, value_loss
from tests.trainers.forms import loss_inputs

RHO = torch.tensor([[1.25, 1.5, 0.7], [0.7, 4.0, 1.0]], dtype=torch.float64)
OLD = torch.tensor([[-1.0, -2.0, -0.5], [-1.5, -3.0, 0.0]], dtype=torch.float64)
ADVANTAGE = torch.tensor([[1.0] * 3, [-0.5] * 3], dtype=torch.float64)
MASK = torch.tensor([[True, True, True], [True, True, False]])
TURNS = torch.where(MASK, 0, -1)
CLIP = PpoClip(eps_lo=0.2, eps_hi=0.2)
HIGHER = PpoClip(eps_lo=0.2, eps_hi=0.28)


def run(kind=CLIP, aggregate="token_mean", max_length=4, **rest):
    logp_CL = (OLD + RHO.log()).requires_grad_()
    extra = {k: rest.pop(k) for k in list(rest) if k.endswith("_CL")}
    inputs = loss_inputs(logp_CL, OLD, ADVANTAGE, MASK, TURNS, **extra)
    spec = LossConfig(surrogate=kind, aggregate=read(AnyAggregation, {"name": aggregate}), **rest)
    out = policy_loss(spec, inputs, Denominators.of(MASK, max_length))
    (gradient_CL,) = torch.autograd.grad(out[0], logp_CL)
    return out[0].item(), gradient_CL, out[1]


@pytest.mark.parametrize(
    ("kind", "aggregate", "expected"),
    [
        (CLIP, "token_mean", -0.14),
        (CLIP, "seq_mean_token_sum", -0.35),
        (CLIP, "seq_mean_token_mean", 0.0833),
        (CLIP, "constant_mean", -0.0875),
        (CLIP, "sum_norm", -0.175),
        (HIGHER, "token_mean", -0.166),
        (HIGHER, "seq_mean_token_sum", -0.415),
        (HIGHER, "seq_mean_token_mean", 0.0617),
        (DualClip(c=3.0), "token_mean", -0.24),
        (DualClip(eps_hi=0.28, c=3.0), "token_mean", -0.266),
        (PolicyGradient(), "token_mean", 0.2986),
    ],
)
def test_loss_values(kind, aggregate, expected):
    assert run(kind, aggregate)[0] == pytest.approx(expected, abs=6e-5)


def test_the_gradient_of_a_clipped_token_is_zero():
    _, gradient_CL, stats = run(DualClip(eps_hi=0.28, c=3.0))
    expected_CL = torch.tensor([[-0.25, 0.0, -0.14], [0.0, 0.0, 0.0]], dtype=torch.float64)
    assert torch.allclose(gradient_CL, expected_CL)
    assert float(stats["clip_fraction"]) == pytest.approx(3 / 5)
    _, gradient_CL, stats = run(HIGHER)
    assert float(gradient_CL[1, 1]) == pytest.approx(4.0 * 0.5 / 5)
    assert float(stats["clip_fraction"]) == pytest.approx(2 / 5)


def test_the_ceiling_of_the_dual_clip_spares_good_tokens():
    with_ceiling, _, _ = run(DualClip(eps_hi=9.0, eps_lo=1.0, c=1.4))
    # row 2 (A = -.5): .35 below the ceiling, 2 becomes .7; row 1 keeps 1.5 above c
    assert with_ceiling == pytest.approx((-1.25 - 1.5 - 0.7 + 0.35 + 0.7) / 5)


@pytest.mark.parametrize(("lo", "hi", "expected"), [(3e-4, 4e-4, -0.0819), (0.2, 0.28, -0.1291)])
def test_sequence_ratio_is_the_geometric_mean(lo, hi, expected):
    kind = PpoClip(eps_lo=lo, eps_hi=hi)
    got = run(kind, "seq_mean_token_mean", ratio_level=SeqGeoRatio())[0]
    assert got == pytest.approx(expected, abs=6e-5)


def test_sequence_ratio_gradient_is_the_ratio_times_the_score():
    _, gradient_CL, stats = run(HIGHER, "seq_mean_token_mean", ratio_level=SeqGeoRatio())
    expected_CL = torch.tensor([[-0.1825] * 3, [0.2092, 0.2092, 0.0]], dtype=torch.float64)
    assert torch.allclose(gradient_CL, expected_CL, atol=6e-5)
    assert float(stats["ratio/max"]) == pytest.approx(1.6733, abs=6e-5)


def test_product_ratio_with_token_sum_is_the_importance_sampled_gradient():
    wide = PpoClip(eps_lo=1.0, eps_hi=99.0)
    _, gradient_CL, _ = run(wide, "seq_mean_token_sum", ratio_level=SeqProdRatio())
    product_1, product_2 = 1.25 * 1.5 * 0.7, 0.7 * 4.0
    expected_CL = torch.tensor(
        [[-product_1 / 2] * 3, [0.5 * product_2 / 2] * 2 + [0.0]], dtype=torch.float64
    )
    assert torch.allclose(gradient_CL, expected_CL)


def test_turn_ratio_lies_between_token_and_sequence():
    logp_CL = (OLD + RHO.log()).requires_grad_()
    turn_CL = torch.tensor([[0, 0, 1], [0, 1, -1]])
    inputs = loss_inputs(logp_CL, OLD, ADVANTAGE, MASK, turn_CL)
    wide = PpoClip(eps_lo=1.0, eps_hi=99.0)
    spec = LossConfig(surrogate=wide, ratio_level=TurnRatio(), aggregate=TokenMean())
    loss = policy_loss(spec, inputs, Denominators.of(MASK, 3))[0]
    pair = (1.25 * 1.5) ** 0.5
    assert loss.item() == pytest.approx((-2 * pair - 0.7 + 0.35 + 2.0) / 5)
    product = LossConfig(surrogate=wide, ratio_level=TurnRatio(mean=False))
    first = float(policy_loss(product, inputs, Denominators(5, 1, 3))[1]["ratio/max"])
    assert first == pytest.approx(4.0)


def test_ratio_levels_agree_where_they_must():
    one_token_CL = torch.tensor([[True], [True]])
    for level in ("token_ratio", "turn_ratio", "seq_geo_ratio", "seq_prod_ratio"):
        logp_CL = torch.tensor([[-1.0], [-0.5]], requires_grad=True)
        inputs = loss_inputs(
            logp_CL, torch.full((2, 1), -0.9), torch.ones(2, 1), one_token_CL, TURNS[:, :1]
        )
        out = policy_loss(
            LossConfig(ratio_level=read(AnyRatio, {"name": level})),
            inputs,
            Denominators.of(one_token_CL, 1),
        )
        expected = -(torch.exp(torch.tensor(-0.1)) + 1.2) / 2
        assert out[0].item() == pytest.approx(float(expected), abs=1e-6)


def test_on_policy_pg_and_clip_have_one_gradient():
    gradients = []
    for kind in (PolicyGradient(), CLIP, DualClip()):
        logp_CL = OLD.clone().requires_grad_()
        inputs = loss_inputs(logp_CL, OLD, ADVANTAGE, MASK, TURNS)
        loss = policy_loss(LossConfig(surrogate=kind), inputs, Denominators.of(MASK, 3))[0]
        gradients.append(torch.autograd.grad(loss, logp_CL)[0])
    assert torch.allclose(gradients[0], gradients[1])
    assert torch.allclose(gradients[0], gradients[2])


@pytest.mark.parametrize(
    ("aggregate", "short", "long"),
    [
        ("seq_mean_token_mean", 0.05, 0.005),
        ("token_mean", 1 / 110, 1 / 110),
        ("constant_mean", 1 / 256, 1 / 256),
        ("seq_mean_token_sum", 0.5, 0.5),
        ("sum_norm", 1 / 128, 1 / 128),
    ],
)
def test_weight_of_a_token_in_a_short_and_a_long_row(aggregate, short, long):
    mask_CL = torch.arange(120).expand(2, 120) < torch.tensor([[10], [100]])
    loss_CL = torch.zeros(2, 120, requires_grad=True)
    read(AnyAggregation, {"name": aggregate})(
        loss_CL, mask_CL, Denominators.of(mask_CL, 128)
    ).backward()
    assert float(loss_CL.grad[0, 0]) == pytest.approx(short)
    assert float(loss_CL.grad[1, 0]) == pytest.approx(long)
    assert float(loss_CL.grad[0, 10]) == 0.0


LOG_W = torch.tensor([[0.1, -0.2, 1.0]])
ALL = torch.ones(1, 3).bool()


def test_mismatch_weights():
    zero_CL = torch.zeros(1, 3)
    tis = TokenTis(cap=2.0)(LOG_W, zero_CL, ALL)
    assert torch.allclose(tis.weight_CL, torch.tensor([[1.1052, 0.8187, 2.0]]), atol=6e-5)
    assert tis.keep_CL.all()
    mis = TokenMis(lo=0.5, hi=2.0)(LOG_W, zero_CL, ALL)
    assert torch.allclose(mis.weight_CL, torch.tensor([[1.1052, 0.8187, 0.0]]), atol=6e-5)
    assert mis.keep_CL.tolist() == [[True, True, False]]


def test_mismatch_weight_multiplies_the_loss_once_and_carries_no_gradient():
    logp_CL = LOG_W.clone().requires_grad_()
    roll_CL = torch.zeros(1, 3, requires_grad=True)
    inputs = loss_inputs(
        logp_CL, LOG_W, torch.ones(1, 3), ALL, torch.zeros(1, 3).long(), logp_behaviour_CL=roll_CL
    )
    spec = LossConfig(is_correction=TokenMis(lo=0.5, hi=2.0), aggregate=TokenMean())
    kept_CL = kept_mask(spec, LOG_W, roll_CL, ALL)
    out = policy_loss(spec, inputs, Denominators.of(kept_CL, 3))
    out[0].backward()
    assert out[0].item() == pytest.approx(-(1.1052 + 0.8187) / 2, abs=6e-5)
    assert torch.allclose(logp_CL.grad, torch.tensor([[-0.5526, -0.4094, 0.0]]), atol=6e-5)
    assert roll_CL.grad is None
    assert float(out[1]["tokens"]) == 2.0
    assert float(out[1]["tokens/rejected"]) == 1.0


LOGP = torch.tensor([-1.0, -0.5], dtype=torch.float64)
REF = torch.tensor([-1.2, -0.1], dtype=torch.float64)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("k1", [0.2, -0.4]),
        ("k2", [0.02, 0.08]),
        ("k3", [0.0187, 0.0918]),
        ("k2grad_k3value", [0.0187, 0.0918]),
    ],
)
def test_kl_estimates(kind, expected):
    got = kl_term(kind, LOGP, REF)
    assert torch.allclose(got, torch.tensor(expected, dtype=torch.float64), atol=6e-5)


PI = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
Q = torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64)


def expected_gradient(kind):
    """Gradient in the logits of a KL estimate used as a loss, exactly averaged over samples."""
    logits = PI.log().requires_grad_()
    terms = kl_term(kind, logits.log_softmax(-1), Q.log())
    (gradient,) = torch.autograd.grad((PI * terms).sum(), logits)
    return gradient


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("k1", [0.0, 0.0, 0.0]),
        ("k2", [0.0989, -0.0939, -0.0051]),
        ("k3", [0.1, -0.1, 0.0]),
        ("k2grad_k3value", [0.0989, -0.0939, -0.0051]),
    ],
)
def test_gradient_of_a_kl_estimate_as_a_loss(kind, expected):
    want = torch.tensor(expected, dtype=torch.float64)
    assert torch.allclose(expected_gradient(kind), want, atol=6e-5)


def test_means_of_the_kl_estimates_and_the_exact_value():
    means = [float((PI * kl_term(k, PI.log(), Q.log())).sum()) for k in ("k1", "k2", "k3")]
    assert means == pytest.approx([0.0253, 0.0249, 0.0253], abs=6e-5)
    assert float(exact_kl(PI.log(), Q.log())) == pytest.approx(0.0253, abs=6e-5)
    logits = PI.log().requires_grad_()
    (gradient,) = torch.autograd.grad(exact_kl(logits.log_softmax(-1), Q.log()), logits)
    want = torch.tensor([0.0989, -0.0939, -0.0051], dtype=torch.float64)
    assert torch.allclose(gradient, want, atol=6e-5)


def test_joining_ids_bounds_the_exact_value_from_below():
    p, q = PI, Q
    bound = {
        1: p[0] * (p[0] / q[0]).log() + (1 - p[0]) * ((1 - p[0]) / (1 - q[0])).log(),
        2: (p * (p / q).log()).sum(),
    }
    found = {k: float(top_k_kl(p.log(), q.log(), k)) for k in (1, 2, 3, 9)}
    assert found[1] == pytest.approx(float(bound[1])) and found[1] < found[2]
    assert found[2] == found[3] == found[9] == pytest.approx(float(bound[2]))


@given(st.integers(0, 999))
def test_more_ids_told_apart_never_lower_the_divergence(seed):
    noise = torch.Generator().manual_seed(seed)
    log_pi, log_ref = torch.randn(2, 4, 9, generator=noise).double().log_softmax(-1)
    rising = torch.stack([top_k_kl(log_pi, log_ref, k) for k in range(1, 10)])
    assert bool((rising.diff(dim=0) > -1e-12).all()) and bool((rising > -1e-12).all())
    assert torch.allclose(rising[-1], exact_kl(log_pi, log_ref))


def test_exact_terms_ignore_what_the_policy_rules_out():
    logits = torch.tensor([0.0, 0.0, -torch.inf], requires_grad=True)
    log_pi = logits.log_softmax(-1)
    log_ref = torch.tensor([0.5, 0.25, 0.25]).log()
    total = exact_kl(log_pi, log_ref) + exact_entropy(log_pi)
    total.backward()
    expected = 0.5 * torch.tensor(2.0).log() + torch.tensor(2.0).log()
    assert float(total.detach()) == pytest.approx(float(expected), abs=1e-6)
    assert bool(logits.grad.isfinite().all())
    blocked = torch.tensor([1.0, 0.0]).log()
    assert float(exact_kl(torch.tensor([0.5, 0.5]).log(), blocked)) == float("inf")


def test_a_kl_is_aggregated_like_the_policy_loss_and_an_entropy_is_a_token_mean():
    entropy_CL = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 99.0]], dtype=torch.float64)
    ref_CL, magnet_CL = OLD - 1.0, entropy_CL / 10
    terms = (
        Entropy(coef=0.1),
        Kl(coef=0.2, kind="k1"),
        MagnetKl(coef=0.5),
    )
    k1_CL = OLD + RHO.log() - ref_CL
    for aggregate in components(AnyAggregation):
        bare = run(aggregate=aggregate)[0]
        full, _, stats = run(
            aggregate=aggregate,
            regularise=terms,
            entropy_CL=entropy_CL,
            logp_ref_CL=ref_CL,
            kl_magnet_CL=magnet_CL,
        )
        k1 = float(read(AnyAggregation, {"name": aggregate})(k1_CL, MASK, Denominators.of(MASK, 4)))
        assert full - bare == pytest.approx(-0.1 * 3.0 + 0.2 * k1 + 0.5 * 0.3)
        assert float(stats["entropy"]) == pytest.approx(3.0)
        assert float(stats["kl"]) == pytest.approx(float(k1_CL[MASK].mean()))


@pytest.mark.parametrize("name", ["kl", "entropy", "magnet_kl", "reference_kl"])
def test_a_regulariser_without_its_input_says_which(name):
    with pytest.raises(ConfigError, match=f"'{name}' needs"):
        run(regularise=(read(AnyRegulariser, {"name": name}),))


def test_a_correction_without_the_sampler_says_so():
    with pytest.raises(ConfigError, match="needs logp_behaviour_CL"):
        run(is_correction=TokenTis())


def test_inputs_of_different_shapes_are_refused():
    with pytest.raises(ConfigError, match=r"logp_old_CL has shape \(2, 2\)"):
        policy_loss(
            LossConfig(),
            loss_inputs(OLD, OLD[:, :2], ADVANTAGE, MASK, TURNS),
            Denominators(5, 2, 3),
        )
    with pytest.raises(ConfigError, match="expected bool and int64"):
        inputs = loss_inputs(OLD, OLD, ADVANTAGE, MASK.float(), TURNS)
        policy_loss(LossConfig(), inputs, Denominators(5, 2, 3))


def test_a_dual_clip_that_starves_on_policy_tokens_is_refused():
    with pytest.raises(ConfigError, match=r"c=1.0 must be greater than 1"):
        run(DualClip(c=1.0))


def test_huge_log_ratios_stay_finite():
    logp_CL = torch.full((1, 2), 500.0, requires_grad=True)
    mask_CL, turn_CL = torch.ones(1, 2).bool(), torch.zeros(1, 2).long()
    for level in ("token_ratio", "turn_ratio", "seq_geo_ratio", "seq_prod_ratio"):
        inputs = loss_inputs(logp_CL, torch.zeros(1, 2), -torch.ones(1, 2), mask_CL, turn_CL)
        out = policy_loss(
            LossConfig(ratio_level=read(AnyRatio, {"name": level})),
            inputs,
            Denominators.of(mask_CL, 2),
        )
        assert bool(out[0].isfinite())
        assert float(out[1]["ratio/max"]) == pytest.approx(float(torch.tensor(20.0).exp()))


def test_the_value_loss_takes_the_worse_of_the_two_errors():
    v_CL = torch.tensor([[1.0, 0.1, 7.0]], requires_grad=True)
    old_CL, target_CL = torch.zeros(1, 3), torch.tensor([[2.0, 1.0, 0.0]])
    mask_CL = torch.tensor([[True, True, False]])
    out = value_loss(v_CL, old_CL, target_CL, mask_CL, Denominators.of(mask_CL, 3), clip=0.2)
    out[0].backward()
    assert out[0].item() == pytest.approx(0.5 * (1.8**2 + 0.9**2) / 2)
    assert torch.allclose(v_CL.grad, torch.tensor([[0.0, -0.45, 0.0]]))
    assert float(out[1]["value/clip_fraction"]) == pytest.approx(0.5)
    free = value_loss(
        v_CL, old_CL, target_CL, mask_CL, Denominators.of(mask_CL, 3), clip=float("inf")
    )
    assert free[0].item() == pytest.approx(0.5 * (1.0 + 0.81) / 2)
    with pytest.raises(ConfigError, match="value_loss got the shapes"):
        value_loss(v_CL, old_CL[:, :2], target_CL, mask_CL, Denominators.of(mask_CL, 3))


def test_merged_stats_weigh_micro_batches_by_tokens():
    parts = [
        {"tokens": torch.tensor(n), "ratio/mean": torch.tensor(m), "ratio/max": torch.tensor(m)}
        | {"loss/policy": torch.tensor(0.5)}
        for n, m in ((1.0, 4.0), (3.0, 2.0))
    ]
    merged = merge_stats(parts)
    assert merged == {"tokens": 4.0, "ratio/mean": 2.5, "ratio/max": 4.0, "loss/policy": 1.0}
    assert merge_stats([]) == {}
