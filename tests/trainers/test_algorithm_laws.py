"""Laws that every record and every variant obeys: row order, padding, micro-batches."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.trainers.advantage import advantages
from coevo.trainers.algorithms import ALGORITHMS, algorithm


def _laws():
    """Load the helpers of the options' law tests, which stand beside these and are no package."""
    path = Path(__file__).parent / "components" / "test_laws.py"
    spec = importlib.util.spec_from_file_location("laws_of_options", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAWS = _laws()
EVERY = [
    *((name, None) for name in ALGORITHMS),
    *((name, variant) for name, a in ALGORITHMS.items() for variant in a.variants),
]


COMPONENTS = ("payoff", "format", "progress", "illegal")


def distinct(specs):
    """Keep one of equal specs: (label, spec)."""
    return list({repr(spec): (label, spec) for label, spec in reversed(specs)}.values())[::-1]


MADE = [(":".join(filter(None, which)), algorithm(*which)) for which in EVERY]
ADVANTAGES = distinct([(name, a.advantage) for name, a in MADE])
POLICY_LOSSES = distinct(
    [(name, s) for name, a in MADE for s in (a.loss, a.replay_loss) if s is not None]
)
FEW = settings(max_examples=6, deadline=None)


@st.composite
def plays(draw, spec):
    """A batch with the components of a game; outcomes of 0 and 1 where a record wants them."""
    batch = draw(LAWS.batches())
    mask_BT, last_B = batch.turn_mask_BT, batch.turn_mask_BT.sum(1) - 1
    payoff_BT = batch.reward_BTK.squeeze(-1) / 3  # at most 2 in three turns
    if spec.compose.name == "tiered":
        won_B = payoff_BT.sum(1) > 0
        payoff_BT = torch.where(
            torch.arange(mask_BT.shape[1]) == last_B[:, None], won_B[:, None], 0
        )
    noise = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    share_BT = torch.rand(payoff_BT.shape, generator=noise, dtype=torch.float64) / 3
    zero_BT = torch.zeros_like(share_BT)
    paid = {"payoff": payoff_BT, "format": zero_BT, "progress": share_BT, "illegal": zero_BT}
    if spec.compose.name != "tiered":
        paid["format"] = torch.where(mask_BT, 0.05, 0.0)
    reward_BTK = torch.stack([paid[c].double() for c in COMPONENTS], dim=-1)
    own = {"progress": "local"} if spec.compose.name == "rank_consistency" else {}
    own |= {"progress": "cost"} if "cost" in spec.reward_weights else {}
    names = tuple(own.get(c, c) for c in COMPONENTS)
    most_B = 2.0 + batch.keys["seat"]
    ends = {"least_B": -most_B, "most_B": most_B}
    return replace(batch, reward_BTK=reward_BTK, components=names, **ends)


@pytest.mark.parametrize("spec", [s for _, s in ADVANTAGES], ids=[n for n, _ in ADVANTAGES])
@FEW
@given(data=st.data())
def test_the_order_of_plays_does_not_matter(spec, data):
    batch = data.draw(plays(spec))
    order = torch.tensor(data.draw(st.permutations(range(len(batch.turn_of_BS)))))
    if (
        spec.baseline.name == "seat_ema"
    ):  # runs through the batch in order: only seats may interleave
        order = torch.argsort(batch.keys["agent"], stable=True)
    plain_BS = advantages(spec, batch)[0].advantage_CL
    moved_BS = advantages(spec, LAWS.take_rows(batch, order))[0].advantage_CL
    assert torch.allclose(plain_BS[order], moved_BS, rtol=0, atol=1e-9)


@pytest.mark.parametrize("spec", [s for _, s in ADVANTAGES], ids=[n for n, _ in ADVANTAGES])
@FEW
@given(data=st.data(), turns=st.integers(0, 2), tokens=st.integers(0, 3))
def test_padding_gets_nothing_and_changes_nothing(spec, data, turns, tokens):
    batch = data.draw(plays(spec))
    padded, width = LAWS.widen(batch, turns, tokens), batch.turn_of_BS.shape[1]
    (plain, kept, _), (wide, also, _) = advantages(spec, batch), advantages(spec, padded)
    assert torch.allclose(plain.advantage_CL, wide.advantage_CL[:, :width], rtol=0, atol=1e-9)
    assert bool((wide.advantage_CL[~padded.token_mask_BS] == 0).all())
    assert kept == pytest.approx(also)


@pytest.mark.parametrize("spec", [s for _, s in POLICY_LOSSES], ids=[n for n, _ in POLICY_LOSSES])
@FEW
@given(inputs=LAWS.drawn_inputs(), size=st.integers(1, 4), pad=st.integers(0, 3))
def test_micro_batches_and_padding_change_no_gradient(spec, inputs, size, pad):
    full, gradient_BL, _ = LAWS.loss_and_gradient(spec, inputs, len(inputs.logp_CL))
    split, split_gradient_BL, _ = LAWS.loss_and_gradient(spec, inputs, size, pad)
    assert split == pytest.approx(full, abs=1e-9)
    assert torch.allclose(gradient_BL, split_gradient_BL, rtol=1e-9, atol=1e-9)
    assert bool((gradient_BL[~inputs.mask_CL] == 0).all())


@pytest.mark.parametrize("spec", [s for _, s in POLICY_LOSSES], ids=[n for n, _ in POLICY_LOSSES])
@FEW
@given(inputs=LAWS.drawn_inputs(), data=st.data())
def test_the_order_of_rows_changes_no_gradient(spec, inputs, data):
    order = torch.tensor(data.draw(st.permutations(range(len(inputs.logp_CL)))))
    plain, gradient_BL, _ = LAWS.loss_and_gradient(spec, inputs, 2)
    moved, moved_gradient_BL, _ = LAWS.loss_and_gradient(spec, LAWS.loss_rows(inputs, order), 3)
    assert moved == pytest.approx(plain, abs=1e-9)
    assert torch.allclose(gradient_BL[order], moved_gradient_BL, rtol=1e-9, atol=1e-9)
