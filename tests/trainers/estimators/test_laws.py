"""Laws that every option of every slot obeys: row order, padding, micro-batches, precision."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.trainers.estimators import (
    AGGREGATE,
    CENTER,
    CORRECT,
    CREDIT,
    KIND,
    MODIFY,
    RATIO_LEVEL,
    REGULARISE,
    SCALE,
    WEIGHTS,
    AdvantageSpec,
    LossInputs,
    LossSpec,
    Trajectories,
    advantages,
    count,
    from_lists,
    kept_mask,
    option,
    policy_loss,
)

FEW = settings(max_examples=12, deadline=None)
BASE = AdvantageSpec(center=option("none"), scale=option("none"))
SLOTS = [
    *(("credit", replace(BASE, credit=option(n), center=option("group"))) for n in CREDIT),
    *(("center", replace(BASE, credit=option("to_go"), center=option(n))) for n in CENTER),
    *(("scale", replace(BASE, credit=option("to_go"), scale=option(n))) for n in SCALE),
    *(("modify", replace(BASE, credit=option("to_go"), modify=(option(n),))) for n in MODIFY),
    *(("weights", replace(BASE, center=option("group"), weights=n)) for n in WEIGHTS),
    *(
        ("weights", replace(BASE, credit=option("to_go"), center=option("group_loo"), weights=n))
        for n in WEIGHTS
    ),
    ("credit", replace(BASE, credit=option("gae", level="turn"))),
    ("credit", replace(BASE, credit=option("to_go", level="token"), kl_in_reward=0.1)),
]


def label(value):
    if isinstance(value, str):
        return value
    chosen = (value.credit, value.center, value.scale, *value.modify)
    return "-".join([*(o.name for o in chosen), value.weights])


@st.composite
def batches(draw):
    """A batch of 2 to 6 trajectories with 1 to 3 turns of 1 to 3 tokens, in 2 groups and seats."""
    rows = draw(st.integers(2, 6))
    reward = st.integers(-8, 8).map(lambda n: n / 4)
    rewards = [draw(st.lists(reward, min_size=1, max_size=3)) for _ in range(rows)]
    tokens = [[draw(st.integers(1, 3)) for _ in row] for row in rewards]
    ids = {k: [draw(st.integers(0, 1)) for _ in range(rows)] for k in ("group", "seat")}
    batch = from_lists(rewards, tokens, **ids)
    noise = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    names = ("value_BS", "logp_old_BS", "logp_ref_BS")
    shape = batch.turn_of_BS.shape
    drawn = {n: torch.randn(shape, generator=noise, dtype=torch.float64) for n in names}
    return replace(batch, **drawn)


def take_rows(batch: Trajectories, order: torch.Tensor) -> Trajectories:
    names = ("reward_BTK", "turn_mask_BT", "turn_of_BS", "value_BS", "logp_old_BS", "logp_ref_BS")
    moved = {name: getattr(batch, name)[order] for name in names}
    return replace(batch, keys={k: v[order] for k, v in batch.keys.items()}, **moved)


def widen(batch: Trajectories, turns: int, tokens: int) -> Trajectories:
    """Add padded turns and tokens that hold garbage."""
    rows, pad = len(batch.turn_of_BS), torch.nn.functional.pad
    names = ("value_BS", "logp_old_BS", "logp_ref_BS")
    filled = {n: pad(getattr(batch, n), (0, tokens), value=float("nan")) for n in names}
    junk_BTK = torch.full((rows, turns, 1), float("nan"), dtype=torch.float64)
    return replace(
        batch,
        reward_BTK=torch.cat([batch.reward_BTK, junk_BTK], dim=1),
        turn_mask_BT=pad(batch.turn_mask_BT, (0, turns), value=False),
        turn_of_BS=pad(batch.turn_of_BS, (0, tokens), value=-1),
        **filled,
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
    names = ("reward_BTK", "value_BS", "logp_old_BS", "logp_ref_BS")
    half = replace(batch, **{n: getattr(batch, n).bfloat16() for n in names})
    exact = replace(half, **{n: getattr(half, n).double() for n in names})
    got_BS = advantages(spec, half).advantage_BS
    assert got_BS.dtype == torch.float32
    assert torch.allclose(got_BS.double(), advantages(spec, exact).advantage_BS, atol=1e-5)


LOSSES = [
    *(LossSpec(aggregate=option(n)) for n in AGGREGATE),
    *(LossSpec(kind=option(n), aggregate=option("token_mean")) for n in KIND),
    *(LossSpec(ratio_level=option(n)) for n in RATIO_LEVEL),
    *(LossSpec(correct=option(n), aggregate=option("token_mean")) for n in CORRECT),
    *(LossSpec(regularise=(option(n, coef=0.3),)) for n in REGULARISE),
]
FIELDS = ("logp_BL", "logp_old_BL", "advantage_BL", "logp_roll_BL", "logp_ref_BL", "entropy_BL")


def loss_label(spec):
    chosen = (spec.ratio_level, spec.kind, spec.correct, spec.aggregate, *spec.regularise)
    return "-".join(o.name for o in chosen)


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
        mask_BL=mask_BL, turn_id_BL=turn_BL, kl_magnet_BL=parts["logp_BL"] ** 2, **parts
    )


def loss_and_gradient(spec, inputs, splits, pad=0):
    """Sum the micro-batches' losses and give the gradient in the log-probabilities."""
    logp_BL = inputs.logp_BL.clone().requires_grad_()
    kept_BL = kept_mask(spec, inputs.logp_old_BL, inputs.logp_roll_BL, inputs.mask_BL)
    denom = count(kept_BL, 7)
    total = 0.0
    for rows in torch.arange(len(logp_BL)).split(splits):
        now_BL = logp_BL[rows]  # a graph of its own for every micro-batch
        micro = {n: getattr(inputs, n)[rows] for n in FIELDS}
        micro |= {"logp_BL": now_BL, "entropy_BL": 2 * now_BL, "kl_magnet_BL": now_BL**2}
        fill = torch.nn.functional.pad
        padded = {n: fill(v, (0, pad), value=float("nan")) for n, v in micro.items()}
        part = LossInputs(
            mask_BL=fill(inputs.mask_BL[rows], (0, pad), value=False),
            turn_id_BL=fill(inputs.turn_id_BL[rows], (0, pad), value=-1),
            **padded,
        )
        loss = policy_loss(spec, part, denom).loss
        loss.backward()
        total += float(loss.detach())
    return total, logp_BL.grad


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEW
@given(inputs=loss_inputs(), size=st.integers(1, 4), pad=st.integers(0, 3))
def test_micro_batches_and_padding_change_neither_loss_nor_gradient(spec, inputs, size, pad):
    full, gradient_BL = loss_and_gradient(spec, inputs, len(inputs.logp_BL))
    split, split_gradient_BL = loss_and_gradient(spec, inputs, size, pad)
    assert split == pytest.approx(full, abs=1e-9)
    assert torch.allclose(gradient_BL, split_gradient_BL, rtol=1e-9, atol=1e-9)
    assert bool((gradient_BL[~inputs.mask_BL] == 0).all())


@pytest.mark.parametrize("spec", LOSSES, ids=loss_label)
@FEW
@given(inputs=loss_inputs())
def test_half_precision_losses_are_computed_in_single_precision(spec, inputs):
    parts = {n: getattr(inputs, n).bfloat16() for n in (*FIELDS, "kl_magnet_BL")}
    half = replace(inputs, **parts)
    single = replace(inputs, **{n: v.float() for n, v in parts.items()})
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
    extra = dict.fromkeys(("logp_roll_BL", "logp_ref_BL", "entropy_BL", "kl_magnet_BL"), ones_BL)
    inputs = LossInputs(logp_BL, old_BL, advantage_BL, mask_BL, turn_BL, **extra)
    policy_loss(spec, inputs, count(mask_BL, 2)).loss.backward()
    assert logp_BL.grad is not None
    assert advantage_BL.grad is None
    assert old_BL.grad is None
