"""Baselines: what a credit is compared with.

Groups are keys of the batch; several names joined by `+` give their combinations, e.g.
`by="group+agent"`. All but `no_baseline`, `greedy_baseline`, `constant_baseline` and `seat_ema`
give a group of one, or of equal credits, exactly 0; `group_mean` with `single="keep"` leaves a
group of one trajectory as it is instead.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch

from coevo.envs.core.config import choice, config, real
from coevo.trainers.components.base import Baseline
from coevo.trainers.estimate import Estimate
from coevo.trainers.tensors import extremes, wide


@config
class NoBaseline(Baseline):
    """Leave the credit as it is.

    >>> NoBaseline()(Estimate.of([[2.0]], "row")).y.tolist()
    [2.0]
    """

    name: Literal["no_baseline"] = "no_baseline"

    def __call__(self, e: Estimate) -> Estimate:
        return e


@config
class BatchMean(Baseline):
    """Subtract the mean of the whole batch.

    >>> BatchMean()(Estimate.of([[1.0], [0.0]], "row")).y.tolist()
    [0.5, -0.5]
    """

    name: Literal["batch_mean"] = "batch_mean"

    def __call__(self, e: Estimate) -> Estimate:
        return e.minus_mean(e.stats(None))


@config
class GroupMean(Baseline):
    """Subtract the mean of the group: A_i = Y_i - mean(Y_j : same key).

    A trajectory that is alone in its group has nothing to be compared with: 0, or with
    `single="keep"` its credit, A = Y, which is REINFORCE without a baseline. The latter is what
    released code of the verl family does (mean 0 and deviation 1 for a group of one); give it to
    `group_std` as well.

    >>> e = Estimate.of([[1.0], [0.0], [5.0]], "row", group=[0, 0, 1])
    >>> GroupMean()(e).y.tolist(), GroupMean(single="keep")(e).y.tolist()
    ([0.5, -0.5, 0.0], [0.5, -0.5, 5.0])
    """

    name: Literal["group_mean"] = "group_mean"
    by: str = "group"
    single: Literal["zero", "keep"] = "zero"

    @property
    def keeps_single(self) -> bool:
        return self.single == "keep"

    @property
    def compares_episodes(self) -> bool:
        return "group" in self.by.split("+")

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.stats(self.by)
        centred = e.minus_mean(stats)
        return centred.keep_single(e.y, stats, self.by) if self.keeps_single else centred


@config
class AgentMean(Baseline):
    """Subtract the mean over all entries of the same agent, i.e. of the same seat of a game.

    After `to_go` this is the advantage of the MARS paper: returns first, then the mean over all
    (trajectory, turn) pairs of the seat.

    >>> y_BT = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    >>> e = Estimate.of([[0.0, 0.0], [0.0, 0.0]], seat=[0, 1], y=y_BT)
    >>> AgentMean()(e).y.tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    name: Literal["agent_mean"] = "agent_mean"

    def __call__(self, e: Estimate) -> Estimate:
        return GroupMean(by="agent")(e)


@config
class LeaveOneOut(Baseline):
    """Subtract the mean of the group's other episodes: A_i = Y_i - mean(Y_j : j of another).

    Independent of what was done in the episode, hence unbiased: besides all entries of the
    trajectory, those of the other seats of its episode are left out, since what a seat does moves
    their rewards as well. One seat and one value per row: G / (G - 1) times `group_mean`. A group
    of one episode gives 0.

    >>> e = Estimate.of([[1.0], [0.0], [0.0], [1.0]], "row")
    >>> LeaveOneOut()(e).y.round(decimals=4).tolist()
    [0.6667, -0.6667, -0.6667, 0.6667]
    """

    name: Literal["leave_one_out"] = "leave_one_out"
    by: str = "group"

    @property
    def compares_episodes(self) -> bool:
        return "group" in self.by.split("+")

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.stats(self.by)
        episode = "episode" if "episode" in e.batch.keys else "trajectory"
        own_y, own_weight = e.own(self.by, episode)
        others = stats.total - own_weight  # whole trajectories: below one half is rounding
        baseline = (stats.mean * stats.total - own_y) / others.where(others > 0.5, 1.0)
        defined = (others > 0.5) & ~stats.constant
        return e.to(torch.where(defined, e.y - baseline, 0.0))


@config
class DistinctMean(Baseline):
    """Subtract the mean of the DISTINCT values of each key, as the released MARS code does.

    Values are compared in float32. The code pools games (`by="seat"`) and reads padded cells,
    which adds the value 0 to every set (`padding_zero=True`).

    >>> DistinctMean()(Estimate.of([[1.0], [1.0], [0.0]], "row")).y.tolist()
    [0.5, 0.5, -0.5]
    """

    name: Literal["distinct_mean"] = "distinct_mean"
    by: str = "agent"
    padding_zero: bool = False

    def __call__(self, e: Estimate) -> Estimate:
        y, key, mask = e.y, e.key(self.by), e.mask
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
        constant = e.stats(self.by).constant
        return e.to(torch.where(constant, 0.0, wide(y) - mean_K[key]))


@config
class LogMeanExp(Baseline):
    """Subtract b = tau log mean exp(Y / tau) of the group (OPMD).

    b tends to the mean for a large tau and to the maximum for a small one.

    >>> e = Estimate.of([[1.0], [0.0], [0.0], [1.0]], "row")
    >>> LogMeanExp()(e).y.round(decimals=4).tolist()
    [0.3799, -0.6201, -0.6201, 0.3799]
    """

    name: Literal["log_mean_exp"] = "log_mean_exp"
    tau: Annotated[float, real(1e-9)] = 1.0
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        key, weight, y = e.key(self.by), e.weight(), e.hide(wide(e.y))
        _, high = extremes(y.reshape(-1), key.reshape(-1), weight.reshape(-1) > 0)
        high = e.hide(high.reshape(y.shape))
        stats = e.to(((y - high) / self.tau).exp()).stats(self.by)
        baseline = high + self.tau * stats.mean.where(e.mask, 1.0).log()
        return e.to(torch.where(stats.constant, 0.0, y - baseline))


@config
class GreedyBaseline(Baseline):
    """Subtract the outcome of a greedy episode of the same task (ReMax): A = Y - baseline_B.

    The baseline does not depend on what was sampled, so no group is needed: one episode per task.
    With a credit per turn or token, every entry of the trajectory has the same baseline.

    Raises:
        ConfigError: The batch has no baseline_B.

    >>> e = Estimate.of([[1.0]], "row", baseline_B=torch.tensor([0.25]))
    >>> GreedyBaseline()(e).y.tolist()
    [0.75]
    """

    of_one_reward = True
    needs_greedy = True
    name: Literal["greedy_baseline"] = "greedy_baseline"

    def __call__(self, e: Estimate) -> Estimate:
        baseline_B = wide(e.batch.needed("baseline_B", self.name))
        return e.to(wide(e.y) - baseline_B.reshape(-1, *[1] * (e.y.ndim - 1)))


@config
class ConstantBaseline(Baseline):
    """Subtract a fixed number: A = Y - value.

    >>> ConstantBaseline(value=0.5)(Estimate.of([[2.0]], "row")).y.tolist()
    [1.5]
    """

    name: Literal["constant_baseline"] = "constant_baseline"
    value: Annotated[float, real()] = 0.0

    def __call__(self, e: Estimate) -> Estimate:
        return e.to(wide(e.y) - self.value)


@config
class SeatEma(Baseline):
    """Subtract a running mean per agent key, read before it is updated (SPIRAL).

    A = Y - b, then b <- decay b + (1 - decay) Y, trajectory after trajectory in batch order;
    b starts at 0. With several entries per trajectory Y in the update is their weighted mean.
    The state holds b under `seat_ema/<agent>`, so agent ids must not change between batches.

    >>> e = SeatEma(decay=0.5)(Estimate.of([[10.0], [10.0]], "row"))
    >>> e.y.tolist(), e.state
    ([10.0, 5.0], {'seat_ema/0': 7.5})
    """

    of_one_reward = True
    name: Literal["seat_ema"] = "seat_ema"
    decay: Annotated[float, real(0, 1)] = 0.95

    def __call__(self, e: Estimate) -> Estimate:
        rows = len(e.y)
        weight_B2 = e.weight().reshape(rows, -1)
        total_B = weight_B2.sum(1)
        y_B2 = torch.where(weight_B2 > 0, wide(e.y).reshape(rows, -1), 0.0)
        mean_B = (weight_B2 * y_B2).sum(1) / total_B.where(total_B > 0, 1.0)
        after, baselines = dict(e.state), []
        agents = e.batch.keys["agent"].tolist()
        for agent, value, total in zip(agents, mean_B.tolist(), total_B.tolist(), strict=True):
            before = after.get(f"seat_ema/{agent}", 0.0)
            baselines.append(before)
            if total > 0:
                after[f"seat_ema/{agent}"] = self.decay * before + (1.0 - self.decay) * value
        baseline = mean_B.new_tensor(baselines).reshape(-1, *[1] * (e.y.ndim - 1))
        return e.to(wide(e.y) - baseline, state=after)


AnyBaseline = Annotated[
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
    choice(Baseline),
]
