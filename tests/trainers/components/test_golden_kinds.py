"""Literal vectors for the kinds and gates of the policy loss, 4 decimals."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AnyAggregation,
    AnySurrogate,
    Cispo,
    ClipCov,
    Gmpo,
    Hapo,
    KlCov,
    Nll,
    Opmd,
    PolicyGradient,
    PpoClip,
    Preclip,
    Rec,
    RemixClip,
    Sapo,
    SeqGeoRatio,
    Topr,
    Unclipped,
    covariance,
    entropy_scale,
    redistributed,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, batch_statistics, policy_loss
from coevo.trainers.tensors import quantile
from tests.trainers.forms import loss_inputs

RHO = torch.tensor([[1.25, 1.5, 0.7], [0.7, 4.0, 1.0]], dtype=torch.float64)
OLD = torch.tensor([[-1.0, -2.0, -0.5], [-1.5, -3.0, 0.0]], dtype=torch.float64)
ADVANTAGE = torch.tensor([[1.0] * 3, [-0.5] * 3], dtype=torch.float64)
MASK = torch.tensor([[True, True, True], [True, True, False]])
TURNS = torch.where(MASK, 0, -1)


def inputs(rho_CL=RHO, advantage_CL=ADVANTAGE, **rest):
    logp_CL = (OLD + rho_CL.log()).requires_grad_()
    return loss_inputs(logp_CL, OLD, advantage_CL, MASK, TURNS, **rest)


def run(kind, aggregate="token_mean", x=None, **rest):
    x = inputs() if x is None else x
    spec = LossConfig(surrogate=kind, aggregate=read(AnyAggregation, {"name": aggregate}), **rest)
    out = policy_loss(spec, x, Denominators.of(MASK, 4))
    (gradient_CL,) = torch.autograd.grad(out[0], x.logp_CL)
    return out[0].item(), gradient_CL, out[1]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def gate(kind):
    return kind(RHO, inputs()).unclipped_CL[MASK].tolist()


@pytest.mark.parametrize(
    ("kind", "aggregate", "expected"),
    [
        (Cispo(eps_hi=0.28), "token_mean", 0.3844),
        (Sapo(), "seq_mean_token_mean", -0.4159),
        (Gmpo(eps_lo=0.2, eps_hi=0.28), "seq_mean_token_mean", -0.0726),
        (PolicyGradient(), "token_mean", 0.2986),
        (Topr(), "token_mean", 0.3543),
        (Opmd(tau=0.1), "token_mean", 0.3464),
        (Opmd(tau=0.1, form="half"), "token_mean", 0.3225),
        (Opmd(tau=0.1, form="scaled"), "token_mean", 0.2986 / 1.1),
        (Rec(), "token_mean", 0.0100),
        (Rec(weight="is"), "token_mean", -0.5255),
        (Rec(side="ring"), "token_mean", -0.1614),
        (Rec(side="ring", weight="is"), "token_mean", -0.6455),
        (Rec(side="two"), "token_mean", 0.0),
        (Unclipped(), "token_mean", -0.22),
        (Preclip(), "token_mean", -0.14),
    ],
)
def test_kinds(kind, aggregate, expected):
    assert run(kind, aggregate)[0] == pytest.approx(expected, abs=6e-5)


def test_gates_of_rec():
    assert gate(Rec(side="two")) == [False] * 5
    assert gate(Rec(side="one")) == [False, False, True, False, True]
    assert gate(Rec(side="ring")) == [False, False, False, False, True]
    assert gate(Rec(side="none")) == [True] * 5


def test_sapo_gates():
    got_CL = -Sapo()(RHO, inputs()).loss_CL / ADVANTAGE
    assert got_CL[MASK].tolist() == pytest.approx([2.2487, 2.4898, 1.7022, 1.6072, 3.653], abs=6e-5)


@pytest.mark.parametrize("aggregate", sorted(components(AnyAggregation)))
def test_a_baseline_lowered_by_beta_is_imitation_with_beta(aggregate):
    shifted = run(PolicyGradient(), aggregate, x=inputs(advantage_CL=ADVANTAGE + 0.1))
    imitated = run(PolicyGradient(), aggregate, regularise=(Nll(coef=0.1),))
    if aggregate == "token_mean":
        assert shifted[0] == pytest.approx(0.4325, abs=6e-5)
    assert imitated[0] == pytest.approx(shifted[0])
    assert torch.allclose(shifted[1], imitated[1])


def test_one_sided_rec_with_importance_has_the_gradient_of_the_clip():
    clip, rec = run(PpoClip()), run(Rec(weight="is"))
    assert torch.allclose(clip[1], rec[1])
    assert float(clip[2]["clip_fraction"]) == pytest.approx(float(rec[2]["clip_fraction"]))


def test_rec_on_sequences_gates_and_weighs_by_the_geometric_mean():
    level = SeqGeoRatio()
    bounds = {"eps_lo": 3e-4, "eps_hi": 4e-4}
    # s = 1.0949 (A = 1, gated), 1.6733 (A = -.5, kept by the one-sided gate)
    logp_CL = OLD + RHO.log()
    plain = 0.5 * float(logp_CL[1, :2].mean()) / 2
    for weight, factor in (("none", 1.0), ("is", 1.6733), ("seq", 1.6733)):
        kind = Rec(weight=weight, **bounds)
        got = run(kind, "seq_mean_token_mean", ratio_level=level)[0]
        assert got == pytest.approx(plain * factor, abs=6e-5)
    by_token = run(Rec(side="none", weight="seq"))[1]
    assert float(by_token[0, 0]) == pytest.approx(-1.0949 / 5, abs=6e-5)


def test_red_weight_is_the_advantage_times_its_exponential():
    got_CL = run(Rec(side="none", weight="exp", temperature=2.0))[1]
    expected_CL = -(ADVANTAGE * (ADVANTAGE / 2).exp() / 5).masked_fill(~MASK, 0.0)
    assert torch.allclose(got_CL, expected_CL)


def test_cispo_never_cuts_a_gradient():
    _, gradient_CL, stats = run(Cispo(eps_hi=0.28))
    weight_CL = tensor([[1.25, 1.28, 0.8], [0.8, 1.28, 0.0]])
    assert torch.allclose(gradient_CL, -weight_CL * ADVANTAGE / 5)
    assert float(stats["clip_fraction"]) == 0.0
    capped_CL = run(Cispo(form="cap", cap=3.0))[1]
    assert torch.allclose(capped_CL, -tensor([[1.25, 1.5, 0.7], [0.7, 3.0, 0.0]]) * ADVANTAGE / 5)


def test_gmpo_spreads_the_gradient_over_the_tokens_it_did_not_clip():
    _, gradient_CL, _ = run(Gmpo(eps_lo=0.2, eps_hi=0.28), "seq_mean_token_mean")
    good, bad = 1.05000, 1.80966
    expected_CL = tensor([[-good / 6, 0.0, -good / 6], [0.0, 0.5 * bad / 4, 0.0]])
    assert torch.allclose(gradient_CL, expected_CL, atol=6e-5)


def test_soft_gates_teach_like_the_plain_ratio_at_one():
    for kind in ("sapo", "unclipped", "policy_gradient", "opmd", "preclip", "cispo", "topr"):
        _, gradient_CL, _ = run(read(AnySurrogate, {"name": kind}), x=inputs(torch.ones_like(RHO)))
        assert torch.allclose(gradient_CL, -ADVANTAGE.masked_fill(~MASK, 0.0) / 5), kind


@pytest.mark.parametrize(("advantage", "loss"), [(1.0, -1.7), (-1.0, 1.8)])
def test_remix_clips_around_where_the_update_began(advantage, loss):
    roll_CL = -torch.tensor([[1.5]], dtype=torch.float64).log()
    logp_CL = torch.tensor([[1.2]], dtype=torch.float64).log()
    x = Batch.from_tokens(logp_CL, [advantage], torch.zeros(1, 1), logp_behaviour_CL=roll_CL)
    spec = LossConfig(surrogate=RemixClip())
    assert policy_loss(spec, x, Denominators.of(x.mask_CL, 1))[0].item() == pytest.approx(loss)


def test_remix_on_fresh_rows_is_the_clip():
    fresh = inputs(logp_behaviour_CL=OLD)
    remix, clip = run(RemixClip(), x=fresh), run(PpoClip())
    assert remix[0] == pytest.approx(clip[0])
    assert torch.allclose(remix[1], clip[1])


def test_preclip_bounds_bad_tokens_at_a_thousand():
    rho_CL = torch.tensor([[1e5, 1e-5, 1.0], [1e5, 999.0, 1.0]], dtype=torch.float64)
    loss, gradient_CL, _ = run(Preclip(), x=inputs(rho_CL))
    assert loss == pytest.approx((-1.2 - 1e-3 - 1.0 + 500.0 + 499.5) / 5)
    assert gradient_CL[0, :2].tolist() == [0.0, 0.0]
    assert gradient_CL[1, :2].tolist() == pytest.approx([0.0, 99.9])


def test_the_anchor_of_a_kind_is_the_anchor_of_its_ratio():
    x = inputs(logp_behaviour_CL=OLD - 0.5)
    got = run(Opmd(tau=1.0), x=x, anchor="behaviour")[0]
    gap_CL = (RHO.log() + 0.5)[MASK]
    assert got == pytest.approx(0.29858 + float((gap_CL**2).mean()), abs=6e-5)


def test_a_kind_that_reads_the_old_policy_reads_that_of_the_anchor():
    x = inputs(logp_behaviour_CL=OLD - 0.5)
    seq = Rec(side="none", weight="seq")
    got_CL = run(seq, x=x, anchor="behaviour")[1]
    expected_CL = tensor([[1.0949], [-0.5 * 1.6733]]) * tensor(0.5).exp() / -5
    assert torch.allclose(got_CL[:, :1], expected_CL, atol=6e-5)
    remix, clip = (run(k, x=x, anchor="behaviour")[0] for k in (RemixClip(), PpoClip()))
    assert remix == pytest.approx(clip)
    assert clip != pytest.approx(run(PpoClip(), x=x)[0])


def test_a_gate_that_reads_the_ratio_reads_that_of_the_anchor():
    # against the sampler 1.25 becomes 0.84: nothing in the band with A = 1 is above 1.2 any more
    x = inputs(logp_behaviour_CL=OLD + 0.4)
    bounds = {"ratio": 1.0, "lb": 0.2, "ub": 0.45, "eps_lo": 0.2, "eps_hi": 0.2}
    for anchor, kept in (("old", [True, True, False]), ("behaviour", [False, True, False])):
        spec = LossConfig(token_masks=(ClipCov(**bounds),), anchor=anchor)
        assert batch_statistics(spec, x)["clip_cov"][0].tolist() == kept


# ---- HAPO ----------------------------------------------------------------------------------------


def test_entropy_score_of_certain_tokens_is_negative():
    entropy_N = tensor([0.01, 0.1, 0.5, 2.0, 1.0])
    got = entropy_scale(entropy_N).score(entropy_N)
    assert got.tolist() == pytest.approx([-1.0, -0.5, -0.1505, 1.0, 0.0], abs=6e-5)
    assert entropy_scale(tensor([0.3] * 4)).score(tensor([0.3, 0.1])).tolist() == [0.0, 0.0]
    assert entropy_scale(tensor([])).score(tensor([0.5])).tolist() == [0.0]
    no_certain = entropy_scale(tensor([1.0, 2.0]), share=0.0)
    assert no_certain.score(tensor([1.0, 2.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("h", "low", "high"), [(-1.0, 0.4, 0.2), (-0.5, 0.3, 0.2), (0.5, 0.2, 0.3), (1.0, 0.2, 0.4)]
)
def test_entropy_moves_the_clip(h, low, high):
    h_CL = torch.full((1, 4), h)
    x = replace(Batch.from_tokens([[0.0] * 4]), statistics={"hapo": h_CL})
    inside = torch.tensor([[1.0 - low + 0.01, 1.0 + high - 0.01]]).repeat(1, 2)
    outside = torch.tensor([[1.0 - low - 0.01, 1.0 + high + 0.01]]).repeat(1, 2)
    for sign in (1.0, -1.0):
        y = replace(x, advantage_CL=torch.full((1, 4), sign))
        assert Hapo(redistribute=False)(inside, y).unclipped_CL.all()
        cut = Hapo(redistribute=False)(outside, y).unclipped_CL[0, :2].tolist()
        assert cut == ([True, False] if sign > 0 else [False, True])


def test_advantage_moves_to_uncertain_tokens_that_move():
    h_CL = tensor([[0.5, 0.5, -0.5, -0.5, 0.5]])
    ratio_CL = tensor([[1.09, 1.11, 1.09, 0.89, 0.89]])
    eps_CL = torch.full((1, 5), 0.2)
    got = redistributed(torch.ones(1, 5), h_CL, ratio_CL, eps_CL, eps_CL)
    assert got.tolist() == [[1.0, 1.5, 0.5, 1.0, 1.5]]


def test_a_token_rests_within_half_of_its_own_bounds():
    """h = .5 rests up to 1.15 (not 1.1), h = -.5 down to .85 (not .9)."""
    h_CL = tensor([[0.5, 0.5, -0.5, -0.5]])
    x = replace(Batch.from_tokens([[0.0] * 4]), statistics={"hapo": h_CL})
    loss_CL = Hapo()(tensor([[1.12, 1.16, 0.87, 0.84]]), x).loss_CL
    assert loss_CL[0].tolist() == pytest.approx([-1.12, -1.5 * 1.16, -0.5 * 0.87, -0.84])


def test_hapo_surveys_the_mini_batch_and_has_a_ceiling():
    entropy_CL = tensor([[0.5, 2.0, 1.0], [1.0, 0.25, 9.0]])
    spec = LossConfig(surrogate=Hapo(share=0.5))
    h_CL = batch_statistics(spec, inputs(entropy_CL=entropy_CL))["hapo"]
    assert torch.allclose(h_CL, tensor([[-0.5, 1.0, 0.0], [0.0, -1.0, 0.0]]))
    far_CL = tensor([[1.0, 1.0, 1.0], [40.0, 1.0, 1.0]])
    x = inputs(far_CL, entropy_CL=entropy_CL)
    loss, gradient_CL, _ = run(Hapo(share=0.5), x=x)
    assert loss == pytest.approx((-0.5 - 1.0 - 1.0 + 5.0 + 0.0) / 5)
    assert gradient_CL[1].tolist() == [0.0, 0.0, 0.0]


# ---- Gates ---------------------------------------------------------------------------------------


def test_covariance_of_advantage_and_log_probability():
    got = covariance(inputs())[MASK].tolist()
    assert got == pytest.approx([0.3377, -0.1529, 0.2898, 0.4653, 0.2466], abs=6e-5)


def test_kl_cov_penalises_the_token_of_greatest_covariance():
    terms = (KlCov(coef=1.0, frac=0.2),)
    marks = batch_statistics(LossConfig(surrogate=Unclipped(), regularise=terms), inputs())[
        "kl_cov"
    ]
    assert marks.tolist() == [[False] * 3, [True, False, False]]
    loss, gradient_CL, stats = run(Unclipped(), regularise=terms)
    assert loss == pytest.approx(-0.1487, abs=6e-5)
    assert float(gradient_CL[1, 0]) == pytest.approx((0.5 * 0.7 - 1.0) / 5)
    assert float(stats["kl_cov"]) == pytest.approx(0.3567 / 5, abs=6e-5)


def clip_cov(x=None, seed=0, **params):
    gate = ClipCov(**{"lb": 0.2, "ub": 0.45, **params})
    found = batch_statistics(
        LossConfig(token_masks=(gate,)), x or inputs(), torch.Generator().manual_seed(seed)
    )
    return found["clip_cov"][MASK].tolist()


def test_clip_cov_silences_its_share_of_the_tokens_in_the_band():
    # covariances .3377, .2898 and .2466 are in the band; at least one token is silenced
    single = [clip_cov(seed=seed) for seed in range(40)]
    assert {tuple(kept) for kept in single} == {
        (False, True, True, True, True),
        (True, True, False, True, True),
        (True, True, True, True, False),
    }
    assert clip_cov(seed=3) == clip_cov(seed=3)
    assert clip_cov(ratio=0.59).count(False) == 2
    assert clip_cov(ratio=1.0) == [False, True, False, True, False]
    assert clip_cov(lb=2.0, ub=3.0) == [True] * 5


def test_clip_cov_leaves_out_what_the_clip_has_cut():
    # of the band 1.25 is clipped already; .7 with A > 0 and 4 with A < 0 are not
    assert clip_cov(ratio=1.0, eps_lo=0.2, eps_hi=0.2) == [True, True, False, True, False]


def test_the_order_of_rows_does_not_break_ties():
    spec = LossConfig(regularise=(KlCov(),), token_masks=(ClipCov(lb=0.5),))
    held, silenced = [], []
    for order in ([0, 1], [1, 0]):
        logp_CL, a_B = torch.tensor([[-1.0], [-3.0]])[order], torch.tensor([1.0, -1.0])[order]
        x = Batch.from_tokens(logp_CL, a_B)
        assert covariance(x).tolist() == [[1.0], [1.0]]
        found = [
            batch_statistics(spec, x, torch.Generator().manual_seed(seed)) for seed in range(9)
        ]
        held.append([logp_CL[f["kl_cov"]].tolist() for f in found])
        silenced.append([logp_CL[~f["clip_cov"]].tolist() for f in found])
    assert held == [[[-1.0]] * 9] * 2
    assert silenced[0] == silenced[1]
    assert {-1.0, -3.0} == {v for (v,) in silenced[0]}


def test_a_silenced_token_keeps_its_place_in_the_denominator():
    masks = (ClipCov(ratio=1.0, lb=0.2, ub=0.45),)
    loss, gradient_CL, stats = run(Unclipped(), token_masks=masks)
    assert loss == pytest.approx((-1.5 + 0.35) / 5)
    assert gradient_CL[0, 0] == gradient_CL[0, 2] == gradient_CL[1, 1] == 0.0
    assert float(stats["tokens"]) == 5.0


def test_quantiles_agree_with_torch():
    value_N = torch.randn(17, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for share in (0.0, 0.2, 0.333, 0.8, 1.0):
        assert torch.allclose(quantile(value_N, share), value_N.quantile(share))
        near = value_N.quantile(share, interpolation="nearest")
        assert quantile(value_N, share, nearest=True) == near


# ---- Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (lambda: Rec(ring_lo=0.1, side="ring"), "lies inside the bounds"),
        (lambda: Rec(weight="exp", temperature=0.0), "temperature=0.0 must be greater than 0"),
        (lambda: Sapo(tau_neg=0.0), "tau_neg=0.0 must be greater than 0"),
        (lambda: Preclip(bound=1.0), "bound=1.0 must be greater than 1"),
        (lambda: Opmd(tau=-1.0), "tau=-1.0 must be greater than or equal to 0"),
        (lambda: Opmd(form="double"), "must be 'square', 'half' or 'scaled'"),
        (lambda: Cispo(eps_lo=2.0), "eps_lo=2.0 must be less than or equal to 1"),
        (lambda: Gmpo(eps_hi=-0.1), "eps_hi=-0.1 must be greater than or equal to 0"),
        (RemixClip, "'remix_clip' needs logp_behaviour_CL"),
        (Hapo, "'hapo' needs entropy_CL"),
    ],
)
def test_settings_that_cannot_work_are_refused(kind, match):
    with pytest.raises(ConfigError, match=match):
        run(kind())


def test_one_survey_holds_one_result_per_option():
    with pytest.raises(ConfigError, match="names 'clip_cov' twice"):
        LossConfig(token_masks=(ClipCov(), ClipCov(lb=0.0)))
