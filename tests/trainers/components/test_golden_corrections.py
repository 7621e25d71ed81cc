"""Literal vectors for the mismatch of sampler and trainer, 4 decimals."""

import pytest
import torch

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.components import AnyCorrection, TokenMean, TokenMis, TokenTis
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, batch_statistics, kept_mask, merge_stats, policy_loss
from tests.trainers.forms import loss_inputs

LOG_W = torch.tensor([[0.1, -0.2, 1.0]], dtype=torch.float64)
W = [1.1052, 0.8187, 2.7183]
ALL = torch.ones(1, 3).bool()
ZERO = torch.zeros_like(LOG_W)


def correct(name, log_w=LOG_W, mask=None, **params):
    mask_CL = torch.ones_like(log_w).bool() if mask is None else mask
    return read(AnyCorrection, {"name": name, **params})(log_w, torch.zeros_like(log_w), mask_CL)


def near(values):
    return pytest.approx(values, abs=6e-5)


@pytest.mark.parametrize(
    ("name", "params", "weights", "kept"),
    [
        ("token_tis", {}, [1.1052, 0.8187, 2.0], True),
        ("token_tis", {"mean": True}, [0.8450, 0.6260, 1.5291], True),
        ("token_tis", {"floor": 0.9, "cap": 5.0}, [1.1052, 0.9, 2.7183], True),
    ],
)
def test_weights_and_rejected_rows(name, params, weights, kept):
    got = correct(name, **params)
    assert got.weight_CL[0].tolist() == near(weights)
    assert got.keep_CL.tolist() == [[kept] * 3]


def test_rejected_tokens():
    got = correct("token_mis", lo=0.5, hi=2.0)
    assert got.weight_CL[0].tolist() == near([1.1052, 0.8187, 0.0])
    assert got.keep_CL.tolist() == [[True, True, False]]
    over_mean = correct("token_mis", lo=0.5, hi=2.0, mean=True)
    assert over_mean.weight_CL[0].tolist() == near([1.1489, 0.8511, 0.0])


def test_weights_are_divided_by_their_mean_over_tokens():
    log_w = torch.tensor([[2.0, 1.0, 1.0], [4.0, 9.0, 9.0]]).log()
    mask = torch.tensor([[True, True, True], [True, False, False]])
    token = correct("token_tis", log_w, mask, cap=8.0, mean=True)
    assert token.weight_CL[:, 0].tolist() == near([1.0, 2.0])


@pytest.mark.parametrize("name", sorted(components(AnyCorrection)))
def test_weights_are_constants(name):
    old_CL = (0.01 * LOG_W).requires_grad_()
    got = read(AnyCorrection, {"name": name})(
        old_CL, torch.zeros_like(LOG_W, requires_grad=True), ALL
    )
    assert not got.weight_CL.requires_grad


def loss_of(spec, micro=1, log_w=LOG_W):
    rows, width = log_w.shape
    mask_CL, turn_CL = torch.ones(rows, width).bool(), torch.zeros(rows, width).long()
    zero_CL, ones_CL = torch.zeros_like(log_w), torch.ones_like(log_w)
    denom = Denominators.of(kept_mask(spec, log_w, zero_CL, mask_CL), width)
    whole = loss_inputs(log_w, log_w, ones_CL, mask_CL, turn_CL, logp_behaviour_CL=zero_CL)
    found = batch_statistics(spec, whole)
    outs = [
        policy_loss(
            spec,
            loss_inputs(
                *(t[at] for t in (log_w, log_w, ones_CL, mask_CL, turn_CL, zero_CL)),
                statistics={n: t[at] for n, t in found.items()},
            ),
            denom,
        )
        for at in torch.arange(rows).split(micro)
    ]
    return sum(float(loss) for loss, _ in outs), merge_stats([stats for _, stats in outs])


def test_effective_sample_size():
    spec = LossConfig(is_correction=TokenTis(floor=0.5, cap=2.0))
    _, stats = loss_of(spec)
    assert stats["is_correction/effective"] == near(0.8711)
    assert stats["is_correction/mean"] == near(1.308)
    column = LOG_W.T.contiguous()
    assert loss_of(spec, micro=1, log_w=column)[1]["is_correction/effective"] == near(0.8711)
    assert loss_of(spec, micro=2, log_w=column)[1]["is_correction/effective"] == near(0.8711)


def test_rejected_tokens_do_not_count_as_effective():
    spec = LossConfig(is_correction=TokenMis(lo=0.9, hi=1.2))
    _, stats = loss_of(spec, log_w=LOG_W.T.contiguous())
    assert stats["is_correction/effective"] == near(1 / 3)
    assert stats["tokens/rejected"] == 2.0


def test_the_mean_is_over_the_mini_batch_and_not_over_a_part():
    spec = LossConfig(is_correction=TokenTis(mean=True), aggregate=TokenMean())
    column = LOG_W.T.contiguous()
    whole, parts = loss_of(spec, 3, column)[0], loss_of(spec, 1, column)[0]
    assert whole == pytest.approx(-1.0)
    assert parts == pytest.approx(-1.0)


@pytest.mark.parametrize("name", sorted(components(AnyCorrection)))
def test_a_correction_without_the_sampler_says_so(name):
    with pytest.raises(ConfigError, match=f"'{name}' needs logp_behaviour_CL"):
        read(AnyCorrection, {"name": name})(LOG_W, None, ALL)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("token_tis", {"floor": 3.0}),
        ("token_mis", {"lo": 6.0}),
    ],
)
def test_bounds_that_keep_nothing_are_refused(name, params):
    with pytest.raises(ConfigError, match="must be"):
        correct(name, **params)
