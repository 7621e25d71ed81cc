"""Normalise: compare a credit with others (centre) and set its unit (scale).

Every centre has the form `(y, frame, state, *, options) -> (centred y, new state)` and every scale
`(a, y, frame, *, options) -> a`, where y is the raw credit. Groups are keys of the batch; several
names joined by `+` give their combinations, e.g. `by="group+agent"`.
A group without variance, and so a group of one, gives exactly 0 through every scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.groups import GroupStats, wide
from coevo.trainers.estimators.option import Table, check_range

State = Mapping[str, Any]
"""What options keep from batch to batch, JSON-able; keys begin with the option's name."""
Centred = tuple[Tensor, State]


def center_none(y: Tensor, frame: Frame, state: State) -> Centred:
    """Leave the credit as it is.

    >>> from coevo.trainers.estimators import from_lists
    >>> center_none(torch.tensor([2.0]), Frame(from_lists([[2.0]]), "row"), {})[0].tolist()
    [2.0]
    """
    return y, state


def center_batch(y: Tensor, frame: Frame, state: State) -> Centred:
    """Subtract the mean of the whole batch.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> center_batch(y_B, Frame(from_lists([[1.0], [0.0]]), "row"), {})[0].tolist()
    [0.5, -0.5]
    """
    return _minus_mean(y, frame.stats(y, None), frame), state


def center_group(y: Tensor, frame: Frame, state: State, *, by: str = "group") -> Centred:
    """Subtract the mean of the group: A_i = Y_i - mean(Y_j : same key).

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0, 5.0])
    >>> frame = Frame(from_lists([[1.0], [0.0], [5.0]], group=[0, 0, 1]), "row")
    >>> center_group(y_B, frame, {})[0].tolist()
    [0.5, -0.5, 0.0]
    """
    return _minus_mean(y, frame.stats(y, by), frame), state


def center_agent_group(y: Tensor, frame: Frame, state: State) -> Centred:
    """Subtract the mean over all entries of the same agent, i.e. of the same seat of a game.

    After `to_go` this is the advantage of the MARS paper: returns first, then the mean over all
    (trajectory, turn) pairs of the seat.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_BT = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    >>> frame = Frame(from_lists([[0.0, 0.0], [0.0, 0.0]], seat=[0, 1]), "turn")
    >>> center_agent_group(y_BT, frame, {})[0].tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    return center_group(y, frame, state, by="agent")


def center_group_loo(y: Tensor, frame: Frame, state: State, *, by: str = "group") -> Centred:
    """Subtract the mean of the group's other trajectories: A_i = Y_i - mean(Y_j : j != i).

    Independent of the trajectory's own reward, hence unbiased. Entries of one trajectory are
    left out together. One value per row: G / (G - 1) times `group`. A group of one gives 0.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0, 0.0, 1.0])
    >>> batch = from_lists([[1.0], [0.0], [0.0], [1.0]])
    >>> center_group_loo(y_B, Frame(batch, "row"), {})[0].round(decimals=4).tolist()
    [0.6667, -0.6667, -0.6667, 0.6667]
    """
    stats, weight = frame.stats(y, by), frame.weight()
    own_y, own_weight = weight * torch.where(weight > 0, wide(y), 0.0), weight
    if y.ndim > 1:
        own_y, own_weight = own_y.sum(1, keepdim=True), own_weight.sum(1, keepdim=True)
    others = stats.total - own_weight  # whole trajectories: below one half is a rounding residue
    baseline = (stats.mean * stats.total - own_y) / others.where(others > 0.5, 1.0)
    defined = (others > 0.5) & ~stats.constant
    return frame.hide(torch.where(defined, y - baseline, 0.0)), state


def center_agent_unique(
    y: Tensor, frame: Frame, state: State, *, by: str = "agent", padding_zero: bool = False
) -> Centred:
    """Subtract the mean of the DISTINCT values of each key, as the released MARS code does.

    Values are compared in float32. The code pools games (`by="seat"`) and reads padded cells,
    which adds the value 0 to every set (`padding_zero=True`).

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 1.0, 0.0])
    >>> center_agent_unique(y_B, Frame(from_lists([[1.0], [1.0], [0.0]]), "row"), {})[0].tolist()
    [0.5, 0.5, -0.5]
    """
    key, mask = frame.key(by), frame.mask
    rounded = wide(wide(y).to(torch.float32))
    pairs_N2 = torch.stack([wide(key[mask]), rounded[mask]], dim=1)
    groups = int(key.max()) + 1 if key.numel() else 0
    if padding_zero:
        index_K = wide(torch.arange(groups, device=y.device))
        pairs_N2 = torch.cat([pairs_N2, torch.stack([index_K, torch.zeros_like(index_K)], dim=1)])
    pairs_N2 = pairs_N2.unique(dim=0)
    zeros_K, index_N = pairs_N2.new_zeros(groups), pairs_N2[:, 0].long()
    count_K = zeros_K.index_add(0, index_N, torch.ones_like(pairs_N2[:, 0]))
    mean_K = zeros_K.index_add(0, index_N, pairs_N2[:, 1]) / count_K.clamp(min=1.0)
    constant = frame.stats(y, by).constant
    return frame.hide(torch.where(constant, 0.0, wide(y) - mean_K[key])), state


def center_seat_ema(y: Tensor, frame: Frame, state: State, *, decay: float = 0.95) -> Centred:
    """Subtract a running mean per agent key, read before it is updated (SPIRAL).

    A = Y - b, then b <- decay b + (1 - decay) Y, trajectory after trajectory in batch order;
    b starts at 0. With several entries per trajectory Y in the update is their weighted mean.
    The state holds b under `seat_ema/<agent>`, so agent ids must not change between batches.

    >>> from coevo.trainers.estimators import from_lists
    >>> frame = Frame(from_lists([[10.0], [10.0]]), "row")
    >>> a_B, state = center_seat_ema(torch.tensor([10.0, 10.0]), frame, {}, decay=0.5)
    >>> a_B.tolist(), state
    ([10.0, 5.0], {'seat_ema/0': 7.5})
    """
    check_range("decay", decay, 0.0, 1.0)
    weight_B2 = frame.weight().reshape(len(y), -1)
    total_B = weight_B2.sum(1)
    y_B2 = torch.where(weight_B2 > 0, wide(y).reshape(len(y), -1), 0.0)
    mean_B = (weight_B2 * y_B2).sum(1) / total_B.where(total_B > 0, 1.0)
    after, baselines = dict(state), []
    rows = zip(frame.batch.keys["agent"].tolist(), mean_B.tolist(), total_B.tolist(), strict=True)
    for agent, value, total in rows:
        before = after.get(f"seat_ema/{agent}", 0.0)
        baselines.append(before)
        if total > 0:
            after[f"seat_ema/{agent}"] = decay * before + (1.0 - decay) * value
    baseline = mean_B.new_tensor(baselines).reshape(-1, *[1] * (y.ndim - 1))
    return frame.hide(wide(y) - baseline), after


def scale_none(a: Tensor, y: Tensor, frame: Frame) -> Tensor:
    """Keep the unit of the reward.

    >>> from coevo.trainers.estimators import from_lists
    >>> scale_none(torch.tensor([2.0]), torch.tensor([9.0]), Frame(from_lists([[9.0]]), "row"))
    tensor([2.])
    """
    return a


def scale_group_std(a: Tensor, y: Tensor, frame: Frame, *, by: str = "group") -> Tensor:
    """Divide by the deviation of the raw credit inside the group: A / (std + eps).

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> scale_group_std(y_B - 0.5, y_B, Frame(from_lists([[1.0], [0.0]]), "row")).round(decimals=4)
    tensor([ 0.7071, -0.7071], dtype=torch.float64)
    """
    return _over_std(a, frame.stats(y, by), frame)


def scale_agent_std(a: Tensor, y: Tensor, frame: Frame) -> Tensor:
    """Divide by the deviation of the raw credit of the same agent key.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> frame = Frame(from_lists([[1.0], [0.0]], seat=[0, 1]), "row")
    >>> scale_agent_std(y_B, y_B, frame).tolist()
    [0.0, 0.0]
    """
    return scale_group_std(a, y, frame, by="agent")


def scale_batch_std(
    a: Tensor, y: Tensor, frame: Frame, *, of: Literal["raw", "centred"] = "raw"
) -> Tensor:
    """Divide by the deviation over the whole batch of the raw (TRL) or the centred credit (ROLL).

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> scale_batch_std(y_B - 0.5, y_B, Frame(from_lists([[1.0], [0.0]]), "row")).round(decimals=4)
    tensor([ 0.7071, -0.7071], dtype=torch.float64)
    """
    return _over_std(a, frame.stats(y if of == "raw" else a, None), frame)


def scale_token_std(a: Tensor, y: Tensor, frame: Frame) -> Tensor:
    """Whiten with every policy token as one observation; this centres once more as well.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> frame = Frame(from_lists([[1.0], [0.0]], tokens=[[3], [1]]), "row")
    >>> scale_token_std(y_B, y_B, frame).round(decimals=4).tolist()
    [0.5, -1.5]
    """
    stats = frame.stats(a, None, weights="token")
    return _over_std(_minus_mean(a, stats, frame), stats, frame)


CENTER: Table = {
    "none": center_none,
    "batch": center_batch,
    "group": center_group,
    "group_loo": center_group_loo,
    "agent_group": center_agent_group,
    "agent_unique": center_agent_unique,
    "seat_ema": center_seat_ema,
}
SCALE: Table = {
    "none": scale_none,
    "group_std": scale_group_std,
    "batch_std": scale_batch_std,
    "token_std": scale_token_std,
    "agent_std": scale_agent_std,
}


def _minus_mean(y: Tensor, stats: GroupStats, frame: Frame) -> Tensor:
    """Subtract the mean; a constant group gives exactly 0, without a rounding residue."""
    return frame.hide(torch.where(stats.constant, 0.0, wide(y) - stats.mean))


def _over_std(a: Tensor, stats: GroupStats, frame: Frame) -> Tensor:
    return frame.hide(torch.where(stats.std > 0, wide(a) / (stats.std + frame.eps), 0.0))
