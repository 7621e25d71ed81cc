"""Laws that every option of every slot obeys: row order, padding, micro-batches, precision."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.trainers.estimators import (
    AGGREGATE,
    CENTER,
    CONTROL,
    CORRECT,
    CREDIT,
    GATE,
    KIND,
    MODIFY,
    RATIO_LEVEL,
    REGULARISE,
    SCALE,
    SURVEY,
    WEIGHTS,
    AdvantageSpec,
    LossInputs,
    LossSpec,
    Trajectories,
    advantages,
    count,
    defaults,
    from_lists,
    kept_mask,
    merge_stats,
    option,
    policy_loss,
    survey,
)

FEW = settings(max_examples=12, deadline=None)
BASE = AdvantageSpec(center=option("none"), scale=option("none"))
# Options that a batch of these tests needs parameters for: its rewards lie between -6 and 6.
GIVEN = {
    "ads": {"milestones": "reward"},
    "beta_pdf": {"low": -6.0, "high": 6.0},
    "pair_gate": {"score": "reward"},
    "share_set": {"low": -6.0, "high": 6.0},
}


def chosen(name, **params):
    return option(name, **GIVEN.get(name, {}), **params)


TURNS = replace(BASE, credit=option("to_go"))
STREAM = replace(BASE, credit=option("to_go", level="token"))
OF_TURNS = {"align", "merge_edges", "sum_others"}
SLOTS = [
    *(("credit", replace(BASE, credit=chosen(n), center=option("group"))) for n in CREDIT),
    *(("credit", replace(BASE, credit=option("gae", level=n))) for n in ("turn", "bilevel")),
    ("credit", replace(BASE, credit=option("to_go", level="token"), kl_in_reward=0.1)),
    *(("center", replace(TURNS, center=chosen(n))) for n in CENTER),
    *(("center", replace(BASE, center=chosen(n))) for n in CENTER if n != "state_group"),
    *(("scale", replace(TURNS, scale=chosen(n))) for n in SCALE),
    *(("scale", replace(BASE, scale=chosen(n))) for n in SCALE),
    *(("modify", replace(TURNS, modify=(chosen(n),))) for n in MODIFY),
    *(("modify", replace(BASE, center=option("group"), modify=(chosen(n),))) for n in MODIFY),
    ("modify", replace(BASE, modify=(chosen("share_set", size=2),))),
    *(("modify", replace(STREAM, modify=(chosen(n),))) for n in sorted(set(MODIFY) - OF_TURNS)),
    ("center", replace(STREAM, center=option("state_group"))),
    *(("weights", replace(BASE, center=option("group"), weights=n)) for n in WEIGHTS),
    *(("weights", replace(TURNS, center=option("group_loo"), weights=n)) for n in WEIGHTS),
]


def label(value):
    if isinstance(value, str):
        return value
    named = (value.credit, value.center, value.scale, *value.modify)
    return "-".join([*(o.name for o in named), value.weights])


@st.composite
def batches(draw):
    """A batch of 2 to 6 trajectories with 1 to 3 turns of 1 to 3 tokens, in 2 groups and seats."""
    rows = draw(st.integers(2, 6))
    reward = st.integers(-8, 8).map(lambda n: n / 4)
    rewards = [draw(st.lists(reward, min_size=1, max_size=3)) for _ in range(rows)]
    tokens = [[draw(st.integers(1, 3)) for _ in row] for row in rewards]
    keys = ("group", "seat", "role", "answer", "opening", "tree", "set", "truncated")
    ids = {k: [draw(st.integers(0, 1)) for _ in range(rows)] for k in keys}
    batch = from_lists(rewards, tokens, play=[i // 2 for i in range(rows)], **ids)
    noise = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    shapes = {"BS": batch.turn_of_BS.shape, "B": (rows,), "BTC": (*batch.turn_mask_BT.shape, 2)}
    drawn = {
        n: torch.randn(shapes[n.split("_")[-1]], generator=noise, dtype=torch.float64)
        for n in FLOATS
    }
    seen = {n: torch.randint(0, 2, batch.turn_mask_BT.shape, generator=noise) for n in SEEN}
    return replace(batch, **drawn, **seen)


FLOATS = ("value_BS", "logp_old_BS", "logp_ref_BS", "baseline_B", "q_BTC", "v_BTC")
SEEN = ("state_BT", "action_BT", "role_BT")


def take_rows(batch: Trajectories, order: torch.Tensor) -> Trajectories:
    names = ("reward_BTK", "turn_mask_BT", "turn_of_BS", *FLOATS, *SEEN)
    moved = {name: getattr(batch, name)[order] for name in names}
    return replace(batch, keys={k: v[order] for k, v in batch.keys.items()}, **moved)


def widen(batch: Trajectories, turns: int, tokens: int) -> Trajectories:
    """Add padded turns and tokens that hold garbage."""
    pad, nan = torch.nn.functional.pad, float("nan")
    wider = {n: pad(getattr(batch, n), (0, tokens), value=nan) for n in FLOATS if "BS" in n}
    thrice = ("reward_BTK", "q_BTC", "v_BTC")
    wider |= {n: pad(getattr(batch, n), (0, 0, 0, turns), value=nan) for n in thrice}
    wider |= {n: pad(getattr(batch, n), (0, turns), value=1) for n in SEEN}
    return replace(
        batch,
        turn_mask_BT=pad(batch.turn_mask_BT, (0, turns), value=False),
        turn_of_BS=pad(batch.turn_of_BS, (0, tokens), value=-1),
        **wider,
    )


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches(), data=st.data())
def test_the_order_of_rows_does_not_matter(slot, spec, batch, data):
    order = torch.tensor(data.draw(st.permutations(range(len(batch.turn_of_BS)))))
    if spec.center.name == "seat_ema":  # runs through the batch in order: only seats may interleave
        order = torch.argsort(batch.keys["agent"], stable=True)
    plain_BS = advantages(spec, batch).advantage_BS
    moved_BS = advantages(spec, take_rows(batch, order)).advantage_BS
    assert torch.allclose(plain_BS[order], moved_BS, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches(), turns=st.integers(0, 2), tokens=st.integers(0, 3))
def test_padding_changes_nothing_and_gets_nothing(slot, spec, batch, turns, tokens):
    plain = advantages(spec, batch)
    wide = advantages(spec, widen(batch, turns, tokens))
    width = batch.turn_of_BS.shape[1]
    assert torch.allclose(plain.advantage_BS, wide.advantage_BS[:, :width], rtol=0, atol=1e-9)
    outside_BS = ~widen(batch, turns, tokens).token_mask_BS
    assert bool((wide.advantage_BS[outside_BS] == 0).all())
    assert plain.stats == pytest.approx(wide.stats, abs=1e-9)
    assert plain.state == pytest.approx(wide.state)


@pytest.mark.parametrize(("slot", "spec"), SLOTS, ids=label)
@FEW
@given(batch=batches())
def test_half_precision_inputs_are_accepted(slot, spec, batch):
    names = ("reward_BTK", *FLOATS)
    half = replace(batch, **{n: getattr(batch, n).bfloat16() for n in names})
    exact = replace(half, **{n: getattr(half, n).double() for n in names})
    got_BS = advantages(spec, half).advantage_BS
    assert got_BS.dtype == torch.float32
    assert torch.allclose(got_BS.double(), advantages(spec, exact).advantage_BS, atol=1e-5)


FEWER = settings(max_examples=6, deadline=None)
TOKENS = LossSpec(aggregate=option("token_mean"))
LOSSES = [
    *(LossSpec(aggregate=option(n)) for n in AGGREGATE),
    *(replace(TOKENS, kind=option(n)) for n in KIND),
    *(replace(TOKENS, kind=option("rec", side=s)) for s in ("none", "two", "ring")),
    *(replace(TOKENS, kind=option("rec", weight=w)) for w in ("is", "seq", "exp")),
    *(replace(TOKENS, kind=option("opmd", form=f)) for f in ("half", "scaled")),
    replace(TOKENS, kind=option("cispo", form="cap")),
    *(LossSpec(ratio_level=option(n)) for n in RATIO_LEVEL),
    LossSpec(ratio_level=option("turn", mean=False)),
    LossSpec(kind=option("opmd"), anchor="roll"),
    *(replace(TOKENS, correct=option(n)) for n in CORRECT),
    *(replace(TOKENS, correct=option(n, mean=True)) for n in CORRECT if n != "none"),
    *(
        replace(TOKENS, correct=option("geo_rs", lo=0.5, hi=2.0, weight=w))
        for w in ("token", "seq")
    ),
    *(LossSpec(regularise=(option(n, coef=0.3),)) for n in REGULARISE),
    LossSpec(regularise=(option("kl", kind="k3", importance=True, cap=2.0, limit=0.5),)),
    LossSpec(regularise=(option("kl_cov", frac=0.5),), kind=option("ratio")),
    *(
        LossSpec(regularise=(option("epo", mode=m, from_turn=1, phases=True, kappa_r=1.0),))
        for m in ("reported", "hinge", "mask")
    ),
    *(LossSpec(gates=(option(n),)) for n in GATE),
    LossSpec(gates=(option("clip_cov", ratio=0.5, lb=-9.0, eps_hi=0.2),), anchor="roll"),
]
FIELDS = ("logp_BL", "logp_old_BL", "advantage_BL", "logp_roll_BL", "logp_ref_BL", "entropy_BL")
STATE = {"adaptive_entropy/coef": 0.2, "adaptive_entropy/on": True, "kl_convex/updates": 57}
STATE |= {"epo/mean": [0.8, 0.5], "epo/seen": [3, 2], "epo/updates": 40}


def loss_label(spec):
    chosen = (spec.ratio_level, spec.kind, spec.correct, spec.aggregate)
    every = (*chosen, *spec.regularise, *spec.gates)
    return "-".join("_".join([o.name, *map(str, o.params.values())]) for o in every)


@st.composite
def loss_inputs(draw):
    """Up to five rows of up to five tokens in two turns; every row has at least one token."""
    rows, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    noise = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    parts = {n: torch.randn(rows, width, generator=noise, dtype=torch.float64) for n in FIELDS}
    length_B1 = torch.randint(1, width + 1, (rows, 1), generator=noise)
    mask_BL = torch.arange(width).expand(rows, width) < length_B1
    turn_BL = torch.where(mask_BL, torch.arange(width) // 3, -1)
    return LossInputs(
        mask_BL=mask_BL,
        turn_id_BL=turn_BL,
        state=STATE,
        **parts | depending(parts["logp_BL"]),
    )


def depending(logp_BL):
    """Give entropies and a divergence that move with the log-probabilities."""
    return {"entropy_BL": torch.nn.functional.softplus(-logp_BL), "kl_magnet_BL": logp_BL**2}


def loss_and_gradient(spec, inputs, splits, pad=0):
    """Sum the micro-batches' losses and give the gradient in the log-probabilities."""
    logp_BL = inputs.logp_BL.clone().requires_grad_()
    kept_BL = kept_mask(spec, inputs.logp_old_BL, inputs.logp_roll_BL, inputs.mask_BL)
    denom, total, stats = count(kept_BL, 7), 0.0, []
    found = survey(spec, inputs, torch.Generator().manual_seed(5))
    for rows in torch.arange(len(logp_BL)).split(splits):
        now_BL = logp_BL[rows]  # a graph of its own for every micro-batch
        micro = {n: getattr(inputs, n)[rows] for n in FIELDS}
        micro |= {"logp_BL": now_BL} | depending(now_BL)
        out = policy_loss(spec, padded(inputs, rows, micro, found, pad), denom)
        out.loss.backward()
        total += float(out.loss.detach())
        stats.append(out.stats)
    return total, logp_BL.grad, merge_stats(stats)


def padded(inputs, rows, micro, found, pad):
    """Cut rows out of a batch and add columns that hold garbage."""

    def fill(tensor_BL, value=float("nan")):
        return torch.nn.functional.pad(tensor_BL, (0, pad), value=value)

    kept = {
        n: fill(v[rows], False if v.dtype == torch.bool else float("nan")) for n, v in found.items()
    }
    return LossInputs(
        mask_BL=fill(inputs.mask_BL[rows], False),
        turn_id_BL=fill(inputs.turn_id_BL[rows], -1),
        surveyed=kept,
        state=inputs.state,
        **{n: fill(v) for n, v in micro.items()},
    )


def loss_rows(inputs, order):
    """Take rows of loss inputs."""
    names = (*FIELDS, "mask_BL", "turn_id_BL", "kl_magnet_BL")
    return replace(inputs, **{n: getattr(inputs, n)[order] for n in names})


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=loss_inputs(), size=st.integers(1, 4), pad=st.integers(0, 3))
def test_micro_batches_and_padding_change_neither_loss_nor_gradient(spec, inputs, size, pad):
    full, gradient_BL, stats = loss_and_gradient(spec, inputs, len(inputs.logp_BL))
    split, split_gradient_BL, split_stats = loss_and_gradient(spec, inputs, size, pad)
    assert split == pytest.approx(full, abs=1e-9)
    assert torch.allclose(gradient_BL, split_gradient_BL, rtol=1e-9, atol=1e-9)
    assert bool((gradient_BL[~inputs.mask_BL] == 0).all())
    assert stats == pytest.approx(split_stats, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=loss_inputs(), data=st.data())
def test_the_order_of_rows_changes_neither_loss_nor_gradient(spec, inputs, data):
    order = torch.tensor(data.draw(st.permutations(range(len(inputs.logp_BL)))))
    plain, gradient_BL, _ = loss_and_gradient(spec, inputs, 2)
    moved, moved_gradient_BL, _ = loss_and_gradient(spec, loss_rows(inputs, order), 3)
    assert moved == pytest.approx(plain, abs=1e-9)
    assert torch.allclose(gradient_BL[order], moved_gradient_BL, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEWER
@given(inputs=loss_inputs())
def test_half_precision_losses_are_computed_in_single_precision(spec, inputs):
    parts = {n: getattr(inputs, n).bfloat16() for n in (*FIELDS, "kl_magnet_BL")}
    half = replace(inputs, **parts)
    single = replace(inputs, **{n: v.float() for n, v in parts.items()})
    half, single = (
        replace(x, surveyed=survey(spec, x, torch.Generator().manual_seed(0)))
        for x in (half, single)
    )
    denom = count(inputs.mask_BL, 7)
    loss = policy_loss(spec, half, denom).loss
    assert loss.dtype == torch.float32
    assert torch.equal(loss, policy_loss(spec, single, denom).loss)


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
def test_the_advantage_carries_no_gradient(spec):
    ones_BL, mask_BL = torch.ones(1, 2), torch.ones(1, 2).bool()
    advantage_BL = torch.ones(1, 2, requires_grad=True)
    old_BL = torch.zeros(1, 2, requires_grad=True)
    logp_BL = torch.zeros(1, 2, requires_grad=True)
    turn_BL = torch.zeros(1, 2).long()
    extra = dict.fromkeys(("logp_ref_BL", "entropy_BL", "kl_magnet_BL"), ones_BL)
    roll_BL = torch.zeros(1, 2, requires_grad=True)
    inputs = LossInputs(
        logp_BL, old_BL, advantage_BL, mask_BL, turn_BL, logp_roll_BL=roll_BL, **extra
    )
    policy_loss(spec, inputs, count(mask_BL, 2)).loss.backward()
    assert logp_BL.grad is not None
    assert advantage_BL.grad is None
    assert old_BL.grad is None
    assert roll_BL.grad is None


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
def test_extreme_log_ratios_and_zero_advantages_stay_finite(spec):
    ends = torch.tensor([-torch.inf, -1e4, 0.0, 1e4])
    grid = torch.cartesian_prod(ends, ends, torch.tensor([-1.0, 0.0, 1.0]))
    logp_BL, old_BL, advantage_BL = grid.T.reshape(3, 8, 6)
    logp_BL = logp_BL.clone().requires_grad_()
    mask_BL = torch.ones(8, 6).bool().index_fill(0, torch.tensor([3]), False)
    entropy_BL = torch.rand(8, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
    others = {"logp_roll_BL": old_BL.roll(1, 0), "logp_ref_BL": old_BL.roll(2, 0)}
    turn_BL = torch.where(mask_BL, torch.arange(6) // 3, -1)
    inputs = LossInputs(
        logp_BL,
        old_BL,
        advantage_BL,
        mask_BL,
        turn_BL,
        entropy_BL=entropy_BL,
        kl_magnet_BL=entropy_BL,
        state=STATE,
        **others,
    )
    kept_BL = kept_mask(spec, old_BL, others["logp_roll_BL"], mask_BL)
    out = policy_loss(spec, inputs, count(kept_BL, 6))
    out.loss.backward()
    assert bool(out.loss.isfinite())
    assert bool(logp_BL.grad.isfinite().all())
    assert entropy_BL.grad is None or bool(entropy_BL.grad.isfinite().all())
    assert bool((logp_BL.grad[3] == 0).all())
    assert all(v == v for v in merge_stats([out.stats]).values())  # no NaN


@pytest.mark.parametrize("table", [SURVEY, CONTROL], ids=["survey", "control"])
def test_what_two_functions_of_an_option_read_has_one_default(table):
    for name, function in table.items():
        main = KIND.get(name) or REGULARISE[name]
        shared, known = (defaults(option(name), {name: f}) for f in (function, main))
        assert shared == {key: known[key] for key in shared}


def test_no_name_stands_in_two_tables_that_are_surveyed():
    assert not set(GATE) & set(SURVEY)
    assert set(SURVEY) <= set(KIND) | set(REGULARISE)
    assert not set(KIND) & set(REGULARISE)
    assert set(CONTROL) <= set(REGULARISE)
