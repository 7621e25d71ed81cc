"""Transforms that find turns which belong together: one state, one step, one round."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.components.base import Transform
from coevo.trainers.estimate import Estimate, on_turns
from coevo.trainers.tensors import backward_sums, combined, discounted, group_stats, wide


@config
class AddStateGroup(Transform):
    """Compare turns that saw the same state: A + w A_S (GiGPO).

    A_S = Y_t - mean over all visits of the state within `by`, [divided by their std + eps], with
    Y_t = sum_k gamma^k r_{t+k}; a state seen once gives 0. On `outcome | group` the episode part
    counts a trajectory once, whatever its turns. States are equal where `state_BT` is: whoever
    numbers the states decides whether similar ones are the same; a step counter in what is seen
    makes all of them differ. Source: GiGPO repository, gamma 0.95, w 1.

    Raises:
        ConfigError: The batch has no state_BT.

    >>> state_BT = torch.tensor([[0, 1], [0, 2]])
    >>> e = Estimate.of([[0.0, 1.0], [0.0, 0.0]], state_BT=state_BT)
    >>> AddStateGroup(gamma=0.5)(e).y.tolist()
    [[0.25, 1.0], [-0.25, 0.0]]
    """

    name: Literal["add_state_group"] = "add_state_group"
    w: Annotated[float, real()] = 1.0
    gamma: Annotated[float, real(0, 1)] = 0.95
    mode: Literal["mean_norm", "mean_std_norm"] = "mean_norm"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        batch = e.batch
        y_BT = discounted(on_turns(e), batch.turn_mask_BT, self.gamma)
        steps = replace(e, y=y_BT, level="turn", weights="turn")
        stats = steps.stats(f"{self.by}+state")
        steps = steps.minus_mean(stats)
        if self.mode == "mean_std_norm":
            steps = steps.over_std(stats)
        e = e.at("turn")
        return e.to(e.y + self.w * e.aligned("turn", steps.y))


@config
class AddTurnReward(Transform):
    """Add what a reward component paid in the turn itself: A_t + w r_t, as it is (MasHost).

    The unit is that of the reward, and neither later nor earlier turns share it: a penalty on one
    action. Give the component the weight 0, so that the rest of the advantage leaves it out.

    Raises:
        UnknownNameError: The batch has no such component.
        ConfigError: The credit is one of tokens.

    >>> AddTurnReward(of="reward", w=0.5)(Estimate.of([[0.0, -1.0]], "row")).y.tolist()
    [[-1.0, -1.5]]
    """

    name: Literal["add_turn_reward"] = "add_turn_reward"
    of: str = "cost"
    w: Annotated[float, real()] = 1.0

    def __call__(self, e: Estimate) -> Estimate:
        e = _at_turns(e, self.name)
        reward_BT = wide(e.batch.reward_BTK[..., e.batch.component(self.of)])
        return e.to(e.y + self.w * reward_BT)


@config
class MergeEdges(Transform):
    """Return transitions that several trajectories share their mean advantage (SALT).

    An edge is (state, action, next state) within `by`; the end of a trajectory is a state of its
    own. Edges that occur once keep what their trajectory gives them, so a step that good and bad
    trajectories have in common earns little. Source: SALT as described by a later paper; its
    edges may look further back, this one is the transition alone.

    Raises:
        ConfigError: The batch lacks state_BT or action_BT, or the credit is one of tokens.

    >>> seen_BT, did_BT = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 0], [0, 1]])
    >>> e = Estimate.of([[0.0, 1.0], [0.0, 0.0]], "row", state_BT=seen_BT, action_BT=did_BT)
    >>> MergeEdges()(e).y.tolist()
    [[0.5, 1.0], [0.5, 0.0]]
    """

    name: Literal["merge_edges"] = "merge_edges"
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        e = _at_turns(e, self.name)
        state_BT = e.batch.needed("state_BT", self.name)
        action_BT, mask_BT = e.batch.needed("action_BT", self.name), e.batch.turn_mask_BT
        goes_on_BT = torch.cat([mask_BT[:, 1:], torch.zeros_like(mask_BT[:, :1])], dim=1)
        next_BT = torch.where(goes_on_BT, state_BT.roll(-1, 1), 0)
        key_BT = e.batch.key_B(self.by).unsqueeze(1).expand_as(state_BT)
        edge_BT = combined(key_BT, state_BT, action_BT, next_BT, goes_on_BT.to(torch.int64))
        stats = group_stats(e.y, edge_BT, wide(mask_BT))
        return e.to(torch.where(stats.constant, e.y, stats.mean))


@config
class Align(Transform):
    """Align a seat with those who let it do well: A_t + beta w_t (sum of the others' A_t).

    Advantage Alignment, w_t = gamma sum_{k<t} gamma^{t-k} A_k: where the seat's own past went
    better than its baseline, moves that also help the others are reinforced, and else moves that
    hurt them. Forms of w:

    - `discounted`: as above, the past only (AdAlignLLM).
    - `past`: sum_{k<t} gamma^{t-k} A_k, without that additional gamma.
    - `inclusive`: sum_{k<=t} gamma^{t-k} A_k, with the present.
    - `sum`: sum_{k<t} A_k, undiscounted.

    `mean=now` divides w_t by t + 1, the number of turns up to now (AdAlignLLM); `mean=past` by t,
    the number of those before, which with `sum` is the code for N players (advantage-alignment).

    Rows of one `episode` are its seats; turn t of one stands beside turn t of another. A seat whose
    others did nothing at t keeps A_t, so players that do not learn have to be credited too:
    `others=True`. Its baseline should come from the same task, seat and turn:
    `baseline=leave_one_out(by="group+agent+turn")`, without a unit.
    Source: dereckpiche/AdAlignLLM@e0ea985 (beta 0.5 to 2, gamma 0.9 or 0.96; `inclusive` is its
    `exclude_k_equals_t=False`); jduquevan/advantage-alignment@2065e43, `aa_terms`.

    Raises:
        UnknownNameError: The batch has no key `episode`.
        ConfigError: No episode has two seats in the batch, or the credit is one of tokens.

    >>> keys = {"seat": [0, 1], "episode": [0, 0]}
    >>> e = Estimate.of([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], **keys)
    >>> Align()(e).y[0].round(decimals=4).tolist()
    [1.0, -0.838, 0.5324]
    """

    name: Literal["align"] = "align"
    beta: Annotated[float, real()] = 1.0
    gamma: Annotated[float, real(0, 1)] = 0.9
    form: Literal["discounted", "past", "inclusive", "sum"] = "discounted"
    mean: Literal["none", "now", "past"] = "none"
    by: str = "episode"

    def __call__(self, e: Estimate) -> Estimate:
        e = _at_turns(e, self.name)
        weight_BT = _past(e.hide(e.y), self.gamma, self.form)
        if self.mean != "none":
            now_T = torch.arange(1, e.y.shape[1] + 1, device=e.y.device)
            weight_BT = weight_BT / (now_T if self.mean == "now" else (now_T - 1).clamp(min=1))
        return e.to(e.y + self.beta * weight_BT * _others(e, self.by, self.name))


@config
class SumOthers(Transform):
    """Count what the others gain like the own gain: A_i + sum_{j != i} A_j (sum of rewards).

    The cooperative control of Advantage Alignment: a seat learns for the whole table, whatever
    the others did to it. Turn t of one row of an `episode` stands beside turn t of another, as in
    `align`; with a credit per row, row beside row. Without a scale it is the advantage of the
    summed reward.

    Raises:
        UnknownNameError: The batch has no key `episode`.
        ConfigError: No episode has two seats in the batch, or the credit is one of tokens.

    >>> e = Estimate.of([[1.0], [0.5], [2.0]], "row", seat=[0, 1, 0], episode=[0, 0, 1])
    >>> SumOthers()(e).y.tolist()
    [1.5, 1.5, 2.0]
    """

    name: Literal["sum_others"] = "sum_others"
    by: str = "episode"

    def __call__(self, e: Estimate) -> Estimate:
        _no_tokens(e, self.name)
        return e.to(e.y + _others(e, self.by, self.name))


def _others(e: Estimate, by: str, name: str) -> Tensor:
    """Sum the advantages that the other rows of an entry's episode have beside it."""
    episode_B, y = e.batch.key_B(by), e.hide(e.y)
    episodes = int(episode_B.max()) + 1 if len(episode_B) else 0
    if episodes and episodes == len(episode_B):
        raise ConfigError(
            f"transform {name!r} compares seats, but no {by!r} of the batch has two rows"
        )
    total_P = y.new_zeros(episodes, *y.shape[1:]).index_add(0, episode_B, y)
    return total_P[episode_B] - y


def _past(a_BT: Tensor, gamma: float, form: str) -> Tensor:
    """Sum what a seat's turns so far were worth."""
    decay = 1.0 if form == "sum" else gamma
    with_now_BT = backward_sums(a_BT.flip(1), decay).flip(1)
    if form == "inclusive":
        return with_now_BT
    before_BT = torch.cat([torch.zeros_like(a_BT[:, :1]), with_now_BT[:, :-1]], dim=1) * decay
    return before_BT if form == "past" else before_BT * decay


def _at_turns(e: Estimate, name: str) -> Estimate:
    _no_tokens(e, name)
    return e.at("turn")


def _no_tokens(e: Estimate, name: str) -> None:
    if e.level == "token":
        raise ConfigError(f"transform {name!r} works on turns; take a credit per row or per turn")
