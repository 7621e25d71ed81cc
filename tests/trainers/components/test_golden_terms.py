"""Literal vectors for KL and entropy terms and for what moves their coefficients, 4 decimals."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AdaptiveEntropy,
    ConvexKl,
    Epo,
    Kl,
    PolicyGradient,
    convex_weight,
    exact_entropy,
    kl_term,
    phase_weight,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, control, merge_stats, policy_loss
from tests.trainers.forms import loss_inputs

LOGP = torch.tensor([[-1.0, -0.5]], dtype=torch.float64)
REF = torch.tensor([[-1.2, -0.1]], dtype=torch.float64)
PI = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
Q = torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64)


def near(values):
    return pytest.approx(values, abs=6e-5)


def term(chosen, logp=LOGP, *, state=None, **tensors):
    """Return the term alone, its gradient in the log-probabilities and the stats."""
    logp_CL = torch.as_tensor(logp, dtype=torch.float64).requires_grad_()
    old_CL = tensors.pop("old", logp_CL.detach())
    x = Batch.from_tokens(logp_CL, torch.zeros(len(logp_CL)), old_CL, **tensors)
    x = replace(x, state=state or {})
    spec = LossConfig(surrogate=PolicyGradient(), regularise=(chosen,))
    out = policy_loss(spec, x, Denominators.of(x.mask_CL, 2))
    gradient = torch.autograd.grad(out[0], logp_CL, allow_unused=True)[0]
    return out[0].item(), gradient, out[1]


# ---- KL ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "gradient"),
    [
        ("k1", [0.2, -0.4], [1.0, 1.0]),
        ("k2", [0.02, 0.08], [0.2, -0.4]),
        ("k3", [0.0187, 0.0918], [0.1813, -0.4918]),
        ("k2grad_k3value", [0.0187, 0.0918], [0.2, -0.4]),
    ],
)
def test_kl_as_a_loss(kind, value, gradient):
    loss, got, _ = term(Kl(coef=1.0, kind=kind), logp_ref_CL=REF)
    assert loss == near(sum(value) / 2)
    assert (2 * got).tolist() == [near(gradient)]


def test_importance_makes_the_gradient_that_of_the_current_policy():
    """Samples of Q, weighted by pi / Q, give the gradient that samples of pi would."""
    logits = PI.log().requires_grad_()
    ref = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log()
    logp = logits.log_softmax(-1)
    x = Batch.from_tokens(
        logp.unsqueeze(0), [0.0], Q.log().unsqueeze(0), logp_ref_CL=ref.unsqueeze(0)
    )

    def gradient(frequency, **params):
        loss_CL = Kl(coef=1.0, kind="k2", **params)(x).loss_CL
        return torch.autograd.grad((frequency * loss_CL[0]).sum(), logits, retain_graph=True)[0]

    on_policy = gradient(PI)
    assert torch.allclose(gradient(Q, importance=True), on_policy)
    assert not torch.allclose(gradient(Q), on_policy, atol=1e-2)
    capped = gradient(Q, importance=True, cap=1.0)
    assert torch.allclose(capped, gradient(torch.minimum(PI, Q)))


def test_an_estimate_is_limited_and_its_straight_through_gradient_is_not():
    far = torch.tensor([[-6.0, -1.0]], dtype=torch.float64)
    ref = torch.tensor([[-1.0, -6.0]], dtype=torch.float64)
    loss, got, _ = term(Kl(coef=1.0, kind="k3", limit=10.0), far, logp_ref_CL=ref)
    assert loss == near((10.0 + 4.0067) / 2)
    assert got[0, 0] == 0.0
    loss, got, _ = term(Kl(coef=1.0, limit=10.0), far, logp_ref_CL=ref)
    assert loss == near((10.0 + 4.0067) / 2)
    assert got.tolist() == [near([-2.5, 2.5])]
    assert kl_term("k1", far, ref, limit=3.0).tolist() == [[-3.0, 3.0]]


def test_an_unknown_estimate_is_named():
    with pytest.raises(UnknownNameError, match="k4"):
        kl_term("k4", LOGP, REF)


def test_ssp_and_the_code_of_mars_bound_the_loss_far_from_the_old_policy():
    """A = -1, s = e^5: dual clip 3 (148.4 without); k3 at d = -5: 10 (142.4 without)."""
    x = Batch.from_tokens([[5.0]], [-1.0], logp_ref_CL=torch.tensor([[10.0]]).double())
    for record, clip in ((algorithm("ssp"), 3.0), (algorithm("mars", "code"), 1.4)):
        assert record.loss.surrogate(x.logp_CL.exp(), x).loss_CL.item() == pytest.approx(clip)
        (term,) = record.loss.regularise
        assert term(x).value_CL.item() == pytest.approx(10.0)


def test_convex_weight_of_remix():
    assert [convex_weight(t) for t in (0, 50, 51, 60, 61, 100, 999)] == near(
        [1.0, 1.0, 0.9, 0.9, 0.8, 0.5, 0.5]
    )
    with pytest.raises(ConfigError, match=r"least=0.9 must not be above first=0.5"):
        ConvexKl(first=0.5, least=0.9)


def test_kl_convex_lies_between_its_two_ends():
    old = torch.tensor([[-1.5, -0.7]], dtype=torch.float64)
    chosen = ConvexKl(coef=1.0, kind="k1", first=1.0, fall=0.25, after=0, every=1)
    spec, state, seen = LossConfig(regularise=(chosen,)), {}, []
    for _ in range(4):
        loss, _, stats = term(chosen, state=state, old=old, logp_ref_CL=REF)
        seen.append((loss, float(stats["convex_kl/lam"])))
        state = control(spec, state, {})
    to_ref, to_old = -0.1, 0.35
    lams = [1.0, 0.75, 0.5, 0.5]
    assert [lam for _, lam in seen] == lams
    assert [loss for loss, _ in seen] == near([v * to_ref + (1 - v) * to_old for v in lams])
    assert state == {"convex_kl/updates": 4}


# ---- Entropy -------------------------------------------------------------------------------------


def test_first_order_law_of_entropy():
    z = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)
    pi = z.softmax(-1)
    advantage = z - (pi * z).sum()
    entropy = exact_entropy(z.log_softmax(-1))
    moved = (z + 0.01 * pi * advantage).log_softmax(-1)
    assert float(entropy) == near(0.8324)
    assert float(exact_entropy(moved) - entropy) == pytest.approx(-0.001199, abs=6e-7)
    log_pi, step = z.log_softmax(-1), pi * advantage
    predicted = (pi * log_pi * step).sum() - (pi * log_pi).sum() * (pi * step).sum()
    assert float(-0.01 * predicted) == pytest.approx(-0.001198, abs=6e-7)


def test_the_entropy_bonus_follows_its_target():
    chosen = AdaptiveEntropy(target=0.5, step=0.1, most=0.25)
    spec, state, used = LossConfig(regularise=(chosen,)), {}, []
    for entropy in (0.4, 0.5, 0.3, 0.6, 0.6, 0.2):
        tensors = {"entropy_CL": torch.full((1, 2), entropy, dtype=torch.float64)}
        loss, _, stats = term(chosen, state=state, **tensors)
        used.append(float(stats["adaptive_entropy/coef"]))
        assert loss == pytest.approx(-used[-1] * entropy)
        state = control(spec, state, merge_stats([stats]))
    # off at first; .1, .2 and .25 (the ceiling) while low; off after each 0.6
    assert used == pytest.approx([0.0, 0.1, 0.2, 0.25, 0.0, 0.0])
    assert state == {"adaptive_entropy/coef": pytest.approx(0.15), "adaptive_entropy/on": True}


def test_a_coefficient_below_zero_is_none():
    spec = LossConfig(regularise=(AdaptiveEntropy(target=0.5),))
    after = control(spec, {}, {"adaptive_entropy": 0.9})
    assert after == {"adaptive_entropy/coef": 0.0, "adaptive_entropy/on": False}
    assert control(spec, after, {}) == after


def epo(mode, state, entropy, **params):
    entropy_CL = torch.tensor([entropy], dtype=torch.float64, requires_grad=True)
    logp_CL = torch.zeros_like(entropy_CL)
    turn_CL = torch.arange(len(entropy)).unsqueeze(0) // 2
    x = loss_inputs(
        logp_CL, logp_CL, logp_CL, turn_CL >= 0, turn_CL, entropy_CL=entropy_CL, state=state
    )
    spec = LossConfig(regularise=(Epo(mode=mode, coef=1.0, **params),))
    out = policy_loss(spec, x, Denominators.of(x.mask_CL, 4))
    (gradient,) = torch.autograd.grad(out[0], entropy_CL)
    return len(entropy) * out[0].item(), (len(entropy) * gradient).tolist()[0], out[1]


PAST = {"epo/mean": [1.0, 2.0], "epo/seen": [2, 1], "epo/updates": 3}
BAND = {"kappa_l": 0.5, "kappa_r": 1.5, "alpha": 0.1}
ENTROPY = [0.3, 1.0, 2.0, 3.5, 9.0]  # turns 0 0 1 1 2; bands (.5, 1.5), (1, 3), none


@pytest.mark.parametrize(
    ("mode", "loss", "gradient"),
    [
        ("reported", -15.8 + 0.2, [-1.0] * 5),
        ("hinge", -15.8 + 0.02 + 0.05, [-1.1, -1.0, -1.0, -0.9, -1.0]),
        ("mask", -0.03 - 1.0 - 2.0 - 0.35 - 9.0, [-0.1, -1.0, -1.0, -0.1, -1.0]),
    ],
)
def test_corridor_of_epo(mode, loss, gradient):
    got, slope, _ = epo(mode, PAST, ENTROPY, **BAND)
    assert got == pytest.approx(loss)
    assert slope == pytest.approx(gradient)
    for unknown in ({}, PAST | {"epo/seen": [0, 0]}):
        without, slope, _ = epo(mode, unknown, ENTROPY, **BAND)
        assert without == pytest.approx(-15.8)
        assert slope == [-1.0] * 5


def test_the_penalty_of_epo_has_a_weight_a_phase_and_a_first_turn():
    plain = -15.8
    assert epo("hinge", PAST, ENTROPY, lam=2.0, **BAND)[0] == pytest.approx(plain + 0.14)
    late = PAST | {"epo/updates": 76}
    fading = epo("hinge", late, ENTROPY, phases=True, **BAND)[0]
    assert fading == near(plain + 0.7686 * 0.07)
    assert epo("hinge", PAST, ENTROPY, from_turn=2, **BAND)[0] == pytest.approx(plain + 0.07)
    assert epo("hinge", PAST, ENTROPY, from_turn=3, **BAND)[0] == pytest.approx(plain)


def test_phase_weight_of_epo():
    assert [phase_weight(e) for e in (0, 75, 76, 150)] == near([1.0, 0.8271, 0.7686, 0.0398])


def test_epo_keeps_the_mean_over_updates_of_the_mean_at_every_turn():
    spec = LossConfig(regularise=(Epo(),))
    long, short = (epo("hinge", PAST, e)[2] for e in (ENTROPY, [0.7, 0.7]))
    first = control(spec, {}, merge_stats([long, short]))
    assert first["epo/mean"] == pytest.approx([2.7 / 4, 2.75, 9.0])
    assert (first["epo/seen"], first["epo/updates"]) == ([1, 1, 1], 1)
    then = control(spec, first, merge_stats([short]))
    assert then["epo/mean"] == pytest.approx([(2.7 / 4 + 0.7) / 2, 2.75, 9.0])
    assert (then["epo/seen"], then["epo/updates"]) == ([2, 1, 1], 2)
    assert first["epo/seen"] == [1, 1, 1]  # the state that was handed in is not changed
