"""Baselines: what a credit is compared with.

Calling one gives `(y, frame, state) -> (y minus the baseline, new state)`. Groups are keys of the
batch; several names joined by `+` give their combinations, e.g. `by="group+agent"`. All but
`no_baseline`, `greedy_baseline`, `constant_baseline` and `seat_ema` give a group of one, or of
equal credits, exactly 0; `group` with `single="keep"` leaves a group of one trajectory as it is
instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.groups import extremes, wide

State = Mapping[str, Any]
"""What baselines keep from batch to batch, JSON-able; keys begin with the baseline's name."""
Centred = tuple[Tensor, State]


@config
class NoBaseline(AdvantageComponent):
    """Leave the credit as it is.

    >>> from coevo.trainers.estimators import from_lists
    >>> NoBaseline()(torch.tensor([2.0]), Frame(from_lists([[2.0]]), "row"), {})[0].tolist()
    [2.0]
    """

    name: Literal["no_baseline"] = "no_baseline"

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        return y, state


@config
class BatchMean(AdvantageComponent):
    """Subtract the mean of the whole batch.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0])
    >>> BatchMean()(y_B, Frame(from_lists([[1.0], [0.0]]), "row"), {})[0].tolist()
    [0.5, -0.5]
    """

    name: Literal["batch_mean"] = "batch_mean"

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        return frame.minus_mean(y, frame.stats(y, None)), state


@config
class GroupMean(AdvantageComponent):
    """Subtract the mean of the group: A_i = Y_i - mean(Y_j : same key).

    A trajectory that is alone in its group has nothing to be compared with: 0, or with
    `single="keep"` its credit, A = Y, which is REINFORCE without a baseline. The latter is what
    released code of the verl family does (mean 0 and deviation 1 for a group of one); give it to
    `group_std` as well.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0, 5.0])
    >>> frame = Frame(from_lists([[1.0], [0.0], [5.0]], group=[0, 0, 1]), "row")
    >>> GroupMean()(y_B, frame, {})[0].tolist()
    [0.5, -0.5, 0.0]
    >>> GroupMean(single="keep")(y_B, frame, {})[0].tolist()
    [0.5, -0.5, 5.0]
    """

    name: Literal["group_mean"] = "group_mean"
    by: str = "group"
    single: Literal["zero", "keep"] = "zero"

    @property
    def compares_episodes(self) -> bool:
        """Whether its groups are the episodes of a task."""
        return "group" in self.by.split("+")

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        stats = frame.stats(y, self.by)
        centred = frame.minus_mean(y, stats)
        return (
            frame.keep_single(centred, y, stats, self.by) if self.single == "keep" else centred
        ), state


@config
class AgentMean(AdvantageComponent):
    """Subtract the mean over all entries of the same agent, i.e. of the same seat of a game.

    After `to_go` this is the advantage of the MARS paper: returns first, then the mean over all
    (trajectory, turn) pairs of the seat.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_BT = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    >>> frame = Frame(from_lists([[0.0, 0.0], [0.0, 0.0]], seat=[0, 1]), "turn")
    >>> AgentMean()(y_BT, frame, {})[0].tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    name: Literal["agent_mean"] = "agent_mean"

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        return GroupMean(by="agent")(y, frame, state)


@config
class LeaveOneOut(AdvantageComponent):
    """Subtract the mean of the group's other episodes: A_i = Y_i - mean(Y_j : j of another).

    Independent of what was done in the episode, hence unbiased: besides all entries of the
    trajectory, those of the other seats of its `play` are left out, since what a seat does moves
    their rewards as well. One seat and one value per row: G / (G - 1) times `group`. A group of
    one episode gives 0.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0, 0.0, 1.0])
    >>> batch = from_lists([[1.0], [0.0], [0.0], [1.0]])
    >>> LeaveOneOut()(y_B, Frame(batch, "row"), {})[0].round(decimals=4).tolist()
    [0.6667, -0.6667, -0.6667, 0.6667]
    """

    name: Literal["leave_one_out"] = "leave_one_out"
    by: str = "group"

    @property
    def compares_episodes(self) -> bool:
        """Whether its groups are the episodes of a task."""
        return "group" in self.by.split("+")

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        stats = frame.stats(y, self.by)
        episode = "play" if "play" in frame.batch.keys else "trajectory"
        own_y, own_weight = frame.own(y, self.by, episode)
        others = stats.total - own_weight  # whole trajectories: below one half is rounding
        baseline = (stats.mean * stats.total - own_y) / others.where(others > 0.5, 1.0)
        defined = (others > 0.5) & ~stats.constant
        return frame.hide(torch.where(defined, y - baseline, 0.0)), state


@config
class DistinctMean(AdvantageComponent):
    """Subtract the mean of the DISTINCT values of each key, as the released MARS code does.

    Values are compared in float32. The code pools games (`by="seat"`) and reads padded cells,
    which adds the value 0 to every set (`padding_zero=True`).

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 1.0, 0.0])
    >>> DistinctMean()(y_B, Frame(from_lists([[1.0], [1.0], [0.0]]), "row"), {})[0].tolist()
    [0.5, 0.5, -0.5]
    """

    name: Literal["distinct_mean"] = "distinct_mean"
    by: str = "agent"
    padding_zero: bool = False

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        key, mask = frame.key(self.by), frame.mask
        rounded = wide(wide(y).to(torch.float32))
        pairs_N2 = torch.stack([wide(key[mask]), rounded[mask]], dim=1)
        groups = int(key.max()) + 1 if key.numel() else 0
        if self.padding_zero:
            index_K = wide(torch.arange(groups, device=y.device))
            pairs_N2 = torch.cat(
                [pairs_N2, torch.stack([index_K, torch.zeros_like(index_K)], dim=1)]
            )
        pairs_N2 = pairs_N2.unique(dim=0)
        zeros_K, index_N = pairs_N2.new_zeros(groups), pairs_N2[:, 0].long()
        count_K = zeros_K.index_add(0, index_N, torch.ones_like(pairs_N2[:, 0]))
        mean_K = zeros_K.index_add(0, index_N, pairs_N2[:, 1]) / count_K.clamp(min=1.0)
        constant = frame.stats(y, self.by).constant
        return frame.hide(torch.where(constant, 0.0, wide(y) - mean_K[key])), state


@config
class LogMeanExp(AdvantageComponent):
    """Subtract b = tau log mean exp(Y / tau) of the group (OPMD).

    b tends to the mean for a large tau and to the maximum for a small one.

    >>> from coevo.trainers.estimators import from_lists
    >>> y_B = torch.tensor([1.0, 0.0, 0.0, 1.0])
    >>> frame = Frame(from_lists([[1.0], [0.0], [0.0], [1.0]]), "row")
    >>> LogMeanExp()(y_B, frame, {})[0].round(decimals=4).tolist()
    [0.3799, -0.6201, -0.6201, 0.3799]
    """

    name: Literal["log_mean_exp"] = "log_mean_exp"
    tau: Annotated[float, real(1e-9)] = 1.0
    by: str = "group"

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        key, weight, y = frame.key(self.by), frame.weight(), frame.hide(wide(y))
        _, high = extremes(y.reshape(-1), key.reshape(-1), weight.reshape(-1) > 0)
        high = frame.hide(high.reshape(y.shape))
        stats = frame.stats(((y - high) / self.tau).exp(), self.by)
        baseline = high + self.tau * stats.mean.where(frame.mask, 1.0).log()
        return frame.hide(torch.where(stats.constant, 0.0, y - baseline)), state


@config
class GreedyBaseline(AdvantageComponent):
    """Subtract the outcome of a greedy play of the same start (ReMax): A = Y - baseline_B.

    The baseline does not depend on what was sampled, so no group is needed: one play per start.
    With a credit per turn or token, every entry of the trajectory has the same baseline.

    Raises:
        ConfigError: The batch has no baseline_B.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_lists
    >>> batch = replace(from_lists([[1.0]]), baseline_B=torch.tensor([0.25]))
    >>> GreedyBaseline()(torch.tensor([1.0]), Frame(batch, "row"), {})[0].tolist()
    [0.75]
    """

    of_one_reward = True
    needs_greedy = True
    name: Literal["greedy_baseline"] = "greedy_baseline"

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        baseline_B = wide(frame.batch.needed("baseline_B", self.name))
        return frame.hide(wide(y) - baseline_B.reshape(-1, *[1] * (y.ndim - 1))), state


@config
class ConstantBaseline(AdvantageComponent):
    """Subtract a fixed number: A = Y - value.

    >>> from coevo.trainers.estimators import from_lists
    >>> frame = Frame(from_lists([[2.0]]), "row")
    >>> ConstantBaseline(value=0.5)(torch.tensor([2.0]), frame, {})[0].tolist()
    [1.5]
    """

    name: Literal["constant_baseline"] = "constant_baseline"
    value: Annotated[float, real()] = 0.0

    def __post_init__(self) -> None:
        if not isfinite(self.value):
            raise ConfigError(f"value={self.value} must be finite")

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        return frame.hide(wide(y) - self.value), state


@config
class SeatEma(AdvantageComponent):
    """Subtract a running mean per agent key, read before it is updated (SPIRAL).

    A = Y - b, then b <- decay b + (1 - decay) Y, trajectory after trajectory in batch order;
    b starts at 0. With several entries per trajectory Y in the update is their weighted mean.
    The state holds b under `seat_ema/<agent>`, so agent ids must not change between batches.

    >>> from coevo.trainers.estimators import from_lists
    >>> frame = Frame(from_lists([[10.0], [10.0]]), "row")
    >>> a_B, state = SeatEma(decay=0.5)(torch.tensor([10.0, 10.0]), frame, {})
    >>> a_B.tolist(), state
    ([10.0, 5.0], {'seat_ema/0': 7.5})
    """

    of_one_reward = True
    name: Literal["seat_ema"] = "seat_ema"
    decay: Annotated[float, real(0, 1)] = 0.95

    def __call__(self, y: Tensor, frame: Frame, state: State) -> Centred:
        weight_B2 = frame.weight().reshape(len(y), -1)
        total_B = weight_B2.sum(1)
        y_B2 = torch.where(weight_B2 > 0, wide(y).reshape(len(y), -1), 0.0)
        mean_B = (weight_B2 * y_B2).sum(1) / total_B.where(total_B > 0, 1.0)
        after, baselines = dict(state), []
        rows = zip(
            frame.batch.keys["agent"].tolist(), mean_B.tolist(), total_B.tolist(), strict=True
        )
        for agent, value, total in rows:
            before = after.get(f"seat_ema/{agent}", 0.0)
            baselines.append(before)
            if total > 0:
                after[f"seat_ema/{agent}"] = self.decay * before + (1.0 - self.decay) * value
        baseline = mean_B.new_tensor(baselines).reshape(-1, *[1] * (y.ndim - 1))
        return frame.hide(wide(y) - baseline), after


Baseline = Annotated[
    NoBaseline
    | BatchMean
    | GroupMean
    | LeaveOneOut
    | AgentMean
    | DistinctMean
    | LogMeanExp
    | GreedyBaseline
    | ConstantBaseline
    | SeatEma,
    choice(),
]
