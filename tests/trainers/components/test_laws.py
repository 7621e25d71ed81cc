"""Laws that every option of every slot obeys: row order, padding, micro-batches, precision."""

from dataclasses import replace
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.envs.core.config import changed, components
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components import (
    AnyAggregation,
    AnyBaseline,
    AnyCorrection,
    AnyCredit,
    AnyNormalisation,
    AnyRatio,
    AnyRegulariser,
    AnySurrogate,
    AnyTokenMask,
    AnyTransform,
    Cispo,
    ClipCov,
    Epo,
    Gae,
    GroupMean,
    Kl,
    KlCov,
    LeaveOneOut,
    NoBaseline,
    NoNormalisation,
    Opmd,
    Rec,
    ShareSet,
    ToGo,
    TokenMean,
    TurnRatio,
    Unclipped,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.estimate import Weights
from coevo.trainers.loss import LossConfig, batch_statistics, kept_mask, merge_stats, policy_loss
from tests.trainers.forms import loss_inputs

FEW = settings(max_examples=12, deadline=None)
BASE = AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation())
# Options that a batch of these tests needs parameters for: its rewards lie between -6 and 6.
GIVEN = {
    "add_turn_reward": {"of": "reward"},
    "ads": {"milestones": "reward"},
    "beta_pdf": {"low": -6.0, "high": 6.0},
    "pair_gate": {"score": "reward"},
    "share_set": {"low": -6.0, "high": 6.0},
}


def every(kind, but=(), **params):
    made = components(kind).items()
    return [k(**GIVEN.get(name, {}), **params) for name, k in made if name not in but]


TURNS = replace(BASE, credit=ToGo())
STREAM = replace(BASE, credit=ToGo(level="token"))
OF_TURNS = {"add_turn_reward", "align", "merge_edges", "sum_others"}
SLOTS = [
    *(("credit", replace(BASE, credit=c, baseline=GroupMean())) for c in every(AnyCredit)),
    *(("credit", replace(BASE, credit=Gae(level=n))) for n in ("turn", "bilevel", "team")),
    ("credit", replace(BASE, credit=ToGo(level="token"), kl_in_reward=0.1)),
    *(("baseline", replace(TURNS, baseline=c)) for c in every(AnyBaseline)),
    *(("baseline", replace(BASE, baseline=c)) for c in every(AnyBaseline)),
    *(("normalise", replace(TURNS, normalise=c)) for c in every(AnyNormalisation)),
    *(("normalise", replace(BASE, normalise=c)) for c in every(AnyNormalisation)),
    *(("transform", replace(TURNS, transform=(c,))) for c in every(AnyTransform)),
    *(
        ("transform", replace(BASE, baseline=GroupMean(), transform=(c,)))
        for c in every(AnyTransform)
    ),
    ("transform", replace(BASE, transform=(ShareSet(size=2, low=-6.0, high=6.0),))),
    *(("transform", replace(STREAM, transform=(c,))) for c in every(AnyTransform, but=OF_TURNS)),
    *(("weights", replace(TURNS, baseline=c, weights="token")) for c in every(AnyBaseline)),
    *(("weights", replace(BASE, baseline=GroupMean(), weights=n)) for n in get_args(Weights)),
    *(("weights", replace(TURNS, baseline=LeaveOneOut(), weights=n)) for n in get_args(Weights)),
]


def label(value):
    if isinstance(value, str):
        return value
    named = (value.credit, value.baseline, value.normalise, *value.transform)
    return "-".join([*(o.name for o in named), value.weights])


@st.composite
def batches(draw):
    """A batch of 2 to 6 trajectories with 1 to 3 turns of 1 to 3 tokens, in 2 groups and seats."""
    rows = draw(st.integers(2, 6))
    reward = st.integers(-8, 8).map(lambda n: n / 4)
    rewards = [draw(st.lists(reward, min_size=1, max_size=3)) for _ in range(rows)]
    tokens = [[draw(st.integers(1, 3)) for _ in row] for row in rewards]
    keys = ("group", "seat", "role", "answer", "first_move", "branch", "set")
    ids = {k: [draw(st.integers(0, 1)) for _ in range(rows)] for k in keys}
    batch = Batch.from_lists(rewards, tokens, episode=[i // 2 for i in range(rows)], **ids)
    noise = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    shapes = {"CL": batch.turn_of_BS.shape, "B": (rows,), "BTC": (*batch.turn_mask_BT.shape, 2)}
    drawn = {
        n: torch.randn(shapes[n.split("_")[-1]], generator=noise, dtype=torch.float64)
        for n in FLOATS
    }
    seen = {n: torch.randint(0, 2, batch.turn_mask_BT.shape, generator=noise) for n in SEEN}
    turns_T = torch.arange(batch.turn_mask_BT.shape[1])
    seen["place_BT"] = 2 * turns_T + torch.arange(rows)[:, None] % 2
    return replace(batch, **drawn, **seen)


FLOATS = ("value_CL", "logp_old_CL", "logp_ref_CL", "baseline_B", "q_BTC", "v_BTC")
SEEN = ("state_BT", "action_BT", "role_BT")
INTS = (*SEEN, "place_BT")


def take_rows(batch: Batch, order: torch.Tensor) -> Batch:
    moved = batch._cut("B", order) | batch._cut("C", order)
    return replace(batch, **moved | {"trajectory_C": torch.arange(len(order))})


def widen(batch: Batch, turns: int, tokens: int) -> Batch:
    """Add padded turns and tokens that hold garbage."""
    pad, nan = torch.nn.functional.pad, float("nan")
    wider = {n: pad(getattr(batch, n), (0, tokens), value=nan) for n in FLOATS if "CL" in n}
    thrice = ("reward_BTK", "q_BTC", "v_BTC")
    wider |= {n: pad(getattr(batch, n), (0, 0, 0, turns), value=nan) for n in thrice}
    wider |= {n: pad(getattr(batch, n), (0, turns), value=1) for n in INTS}
    return replace(
        batch,
        turn_mask_BT=pad(batch.turn_mask_BT, (0, turns), value=False),
        turn_of_BS=pad(batch.turn_of_BS, (0, tokens), value=-1),
        turn_CL=pad(batch.turn_CL, (0, tokens), value=-1),
        mask_CL=pad(batch.mask_CL, (0, tokens), value=False),
        **wider,
    )


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches(), data=st.data())
def test_the_order_of_rows_does_not_matter(slot, spec, batch, data):
    order = torch.tensor(data.draw(st.permutations(range(len(batch.turn_of_BS)))))
    if (
        spec.baseline.name == "seat_ema"
    ):  # runs through the batch in order: only seats may interleave
        order = torch.argsort(batch.keys["agent"], stable=True)
    plain_BS = advantages(spec, batch)[0].advantage_CL
    moved_BS = advantages(spec, take_rows(batch, order))[0].advantage_CL
    assert torch.allclose(plain_BS[order], moved_BS, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches(), turns=st.integers(0, 2), tokens=st.integers(0, 3))
def test_padding_changes_nothing_and_gets_nothing(slot, spec, batch, turns, tokens):
    plain = advantages(spec, batch)
    wide = advantages(spec, widen(batch, turns, tokens))
    width = batch.turn_of_BS.shape[1]
    assert torch.allclose(plain[0].advantage_CL, wide[0].advantage_CL[:, :width], rtol=0, atol=1e-9)
    outside_BS = ~widen(batch, turns, tokens).token_mask_BS
    assert bool((wide[0].advantage_CL[outside_BS] == 0).all())
    assert plain[2] == pytest.approx(wide[2], abs=1e-9)
    assert plain[1] == pytest.approx(wide[1])


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches())
def test_half_precision_inputs_are_accepted(slot, spec, batch):
    names = ("reward_BTK", *FLOATS)
    half = replace(batch, **{n: getattr(batch, n).bfloat16() for n in names})
    exact = replace(half, **{n: getattr(half, n).double() for n in names})
    got_BS = advantages(spec, half)[0].advantage_CL
    assert got_BS.dtype == torch.float32
    assert torch.allclose(got_BS.double(), advantages(spec, exact)[0].advantage_CL, atol=1e-5)


FEWER = settings(max_examples=6, deadline=None)
TOKENS = LossConfig(aggregate=TokenMean())
LOSSES = [
    *(LossConfig(aggregate=c) for c in every(AnyAggregation)),
    *(replace(TOKENS, surrogate=c) for c in every(AnySurrogate)),
    *(replace(TOKENS, surrogate=Rec(side=s)) for s in ("none", "two", "ring")),
    *(replace(TOKENS, surrogate=Rec(weight=w)) for w in ("is", "seq", "exp")),
    *(replace(TOKENS, surrogate=Opmd(form=f)) for f in ("half", "scaled")),
    replace(TOKENS, surrogate=Cispo(form="cap")),
    *(LossConfig(ratio_level=c) for c in every(AnyRatio)),
    LossConfig(ratio_level=TurnRatio(mean=False)),
    LossConfig(surrogate=Opmd(), anchor="behaviour"),
    *(replace(TOKENS, is_correction=c) for c in every(AnyCorrection)),
    *(replace(TOKENS, is_correction=c) for c in every(AnyCorrection, mean=True)),
    *(LossConfig(regularise=(c,)) for c in every(AnyRegulariser, coef=0.3)),
    LossConfig(regularise=(Kl(kind="k3", importance=True, cap=2.0, limit=0.5),)),
    LossConfig(regularise=(KlCov(frac=0.5),), surrogate=Unclipped()),
    *(
        LossConfig(regularise=(Epo(mode=m, from_turn=1, phases=True, kappa_r=1.0),))
        for m in ("reported", "hinge", "mask")
    ),
    *(LossConfig(token_masks=(c,)) for c in every(AnyTokenMask)),
    LossConfig(token_masks=(ClipCov(ratio=0.5, lb=-9.0, eps_hi=0.2),), anchor="behaviour"),
]
FIELDS = (
    "logp_CL",
    "logp_old_CL",
    "advantage_CL",
    "logp_behaviour_CL",
    "logp_ref_CL",
    "entropy_CL",
)
STATE = {"adaptive_entropy/coef": 0.2, "adaptive_entropy/on": True, "convex_kl/updates": 57}
STATE |= {"epo/mean": [0.8, 0.5], "epo/seen": [3, 2], "epo/updates": 40}


def loss_label(spec):
    chosen = (spec.ratio_level, spec.surrogate, spec.is_correction, spec.aggregate)
    named = filter(None, (*chosen, *spec.regularise, *spec.token_masks))
    return "-".join("_".join(map(str, changed(c).values())) for c in named)


@st.composite
def drawn_inputs(draw):
    """Up to five rows of up to five tokens in two turns; every row has at least one token."""
    rows, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    noise = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    parts = {n: torch.randn(rows, width, generator=noise, dtype=torch.float64) for n in FIELDS}
    length_B1 = torch.randint(1, width + 1, (rows, 1), generator=noise)
    mask_CL = torch.arange(width).expand(rows, width) < length_B1
    turn_CL = torch.where(mask_CL, torch.arange(width) // 3, -1)
    return loss_inputs(
        mask_CL=mask_CL,
        turn_CL=turn_CL,
        state=STATE,
        **parts | depending(parts["logp_CL"]),
    )


def depending(logp_CL):
    """Return entropies and divergences that move with the log-probabilities."""
    return {
        "entropy_CL": torch.nn.functional.softplus(-logp_CL),
        "kl_magnet_CL": logp_CL**2,
        "kl_reference_CL": 2 * logp_CL**2,
    }


def loss_and_gradient(spec, inputs, splits, pad=0):
    """Sum the micro-batches' losses and give the gradient in the log-probabilities."""
    logp_CL = inputs.logp_CL.clone().requires_grad_()
    kept_CL = kept_mask(spec, inputs.logp_old_CL, inputs.logp_behaviour_CL, inputs.mask_CL)
    denom, total, stats = Denominators.of(kept_CL, 7), 0.0, []
    found = batch_statistics(spec, inputs, torch.Generator().manual_seed(5))
    for rows in torch.arange(len(logp_CL)).split(splits):
        now_CL = logp_CL[rows]  # a graph of its own for every micro-batch
        micro = {n: getattr(inputs, n)[rows] for n in FIELDS}
        micro |= {"logp_CL": now_CL} | depending(now_CL)
        out = policy_loss(spec, padded(inputs, rows, micro, found, pad), denom)
        out[0].backward()
        total += float(out[0].detach())
        stats.append(out[1])
    return total, logp_CL.grad, merge_stats(stats)


def padded(inputs, rows, micro, found, pad):
    """Cut rows out of a batch and add columns that hold garbage."""

    def fill(tensor_CL, value=float("nan")):
        return torch.nn.functional.pad(tensor_CL, (0, pad), value=value)

    kept = {
        n: fill(v[rows], False if v.dtype == torch.bool else float("nan")) for n, v in found.items()
    }
    return loss_inputs(
        mask_CL=fill(inputs.mask_CL[rows], False),
        turn_CL=fill(inputs.turn_CL[rows], -1),
        statistics=kept,
        state=inputs.state,
        **{n: fill(v) for n, v in micro.items()},
    )


def loss_rows(inputs, order):
    """Take rows of loss inputs."""
    names = (*FIELDS, "mask_CL", "turn_CL", "kl_magnet_CL", "kl_reference_CL")
    return replace(inputs, **{n: getattr(inputs, n)[order] for n in names})


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=drawn_inputs(), size=st.integers(1, 4), pad=st.integers(0, 3))
def test_micro_batches_and_padding_change_neither_loss_nor_gradient(spec, inputs, size, pad):
    full, gradient_CL, stats = loss_and_gradient(spec, inputs, len(inputs.logp_CL))
    split, split_gradient_CL, split_stats = loss_and_gradient(spec, inputs, size, pad)
    assert split == pytest.approx(full, abs=1e-9)
    assert torch.allclose(gradient_CL, split_gradient_CL, rtol=1e-9, atol=1e-9)
    assert bool((gradient_CL[~inputs.mask_CL] == 0).all())
    assert stats == pytest.approx(split_stats, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=drawn_inputs(), data=st.data())
def test_the_order_of_rows_changes_neither_loss_nor_gradient(spec, inputs, data):
    order = torch.tensor(data.draw(st.permutations(range(len(inputs.logp_CL)))))
    plain, gradient_CL, _ = loss_and_gradient(spec, inputs, 2)
    moved, moved_gradient_CL, _ = loss_and_gradient(spec, loss_rows(inputs, order), 3)
    assert moved == pytest.approx(plain, abs=1e-9)
    assert torch.allclose(gradient_CL[order], moved_gradient_CL, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=drawn_inputs())
def test_half_precision_losses_are_computed_in_single_precision(spec, inputs):
    parts = {n: getattr(inputs, n).bfloat16() for n in (*FIELDS, "kl_magnet_CL", "kl_reference_CL")}
    half = replace(inputs, **parts)
    single = replace(inputs, **{n: v.float() for n, v in parts.items()})
    half, single = (
        replace(x, statistics=batch_statistics(spec, x, torch.Generator().manual_seed(0)))
        for x in (half, single)
    )
    denom = Denominators.of(inputs.mask_CL, 7)
    loss = policy_loss(spec, half, denom)[0]
    assert loss.dtype == torch.float32
    assert torch.equal(loss, policy_loss(spec, single, denom)[0])


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
def test_the_advantage_carries_no_gradient(spec):
    ones_CL, mask_CL = torch.ones(1, 2), torch.ones(1, 2).bool()
    advantage_CL = torch.ones(1, 2, requires_grad=True)
    old_CL = torch.zeros(1, 2, requires_grad=True)
    logp_CL = torch.zeros(1, 2, requires_grad=True)
    turn_CL = torch.zeros(1, 2).long()
    extra = dict.fromkeys(("logp_ref_CL", "entropy_CL", "kl_magnet_CL", "kl_reference_CL"), ones_CL)
    roll_CL = torch.zeros(1, 2, requires_grad=True)
    inputs = loss_inputs(
        logp_CL, old_CL, advantage_CL, mask_CL, turn_CL, logp_behaviour_CL=roll_CL, **extra
    )
    policy_loss(spec, inputs, Denominators.of(mask_CL, 2))[0].backward()
    assert logp_CL.grad is not None
    assert advantage_CL.grad is None
    assert old_CL.grad is None
    assert roll_CL.grad is None


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
def test_extreme_log_ratios_and_zero_advantages_stay_finite(spec):
    ends = torch.tensor([-torch.inf, -1e4, 0.0, 1e4])
    grid = torch.cartesian_prod(ends, ends, torch.tensor([-1.0, 0.0, 1.0]))
    logp_CL, old_CL, advantage_CL = grid.T.reshape(3, 8, 6)
    logp_CL = logp_CL.clone().requires_grad_()
    mask_CL = torch.ones(8, 6).bool().index_fill(0, torch.tensor([3]), False)
    entropy_CL = torch.rand(8, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
    others = {"logp_behaviour_CL": old_CL.roll(1, 0), "logp_ref_CL": old_CL.roll(2, 0)}
    turn_CL = torch.where(mask_CL, torch.arange(6) // 3, -1)
    inputs = loss_inputs(
        logp_CL,
        old_CL,
        advantage_CL,
        mask_CL,
        turn_CL,
        entropy_CL=entropy_CL,
        kl_magnet_CL=entropy_CL,
        kl_reference_CL=entropy_CL,
        state=STATE,
        **others,
    )
    kept_CL = kept_mask(spec, old_CL, others["logp_behaviour_CL"], mask_CL)
    out = policy_loss(spec, inputs, Denominators.of(kept_CL, 6))
    out[0].backward()
    assert bool(out[0].isfinite())
    assert bool(logp_CL.grad.isfinite().all())
    assert entropy_CL.grad is None or bool(entropy_CL.grad.isfinite().all())
    assert bool((logp_CL.grad[3] == 0).all())
    assert all(v == v for v in merge_stats([out[1]]).values())  # no NaN


def test_what_has_batch_statistics_shares_no_name():
    parts = [components(kind) for kind in (AnyTokenMask, AnySurrogate, AnyRegulariser)]
    assert len({name for part in parts for name in part}) == sum(map(len, parts))
