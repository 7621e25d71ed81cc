"""Modifiers that find turns which belong together: one state, one step, one round."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.groups import combined, group_stats, wide
from coevo.trainers.estimators.rewards import discounted, on_turns
from coevo.trainers.estimators.scan import backward_sums
from coevo.trainers.estimators.table import AdvantageTable


@config
class AddStateGroup:
    """Compare turns that saw the same state: A + w A_S (GiGPO).

    A_S = Y_t - mean over all visits of the state within `by`, [divided by their std + eps], with
    Y_t = sum_k gamma^k r_{t+k}; a state seen once gives 0. On `outcome | group` the episode part
    counts a trajectory once, whatever its turns. States are equal where `state_BT` is: whoever
    numbers the states decides whether similar ones are the same; a step counter in what is seen
    makes all of them differ. Source: GiGPO repository, gamma 0.95, w 1.

    Raises:
        ConfigError: The batch has no state_BT.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageConfig, NoNormalisation, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[0.0, 1.0], [0.0, 0.0]])
    >>> batch = replace(batch, state_BT=torch.tensor([[0, 1], [0, 2]]))
    >>> made = advantage_table(AdvantageConfig(normalise=NoNormalisation()), batch)
    >>> AddStateGroup(gamma=0.5)(made).a.tolist()
    [[0.75, 0.5], [-0.75, -0.5]]
    """

    name: Literal["add_state_group"] = "add_state_group"
    w: Annotated[float, real()] = 1.0
    gamma: Annotated[float, real(0, 1)] = 0.95
    mode: Literal["mean_norm", "mean_std_norm"] = "mean_norm"
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        batch = table.batch
        frame = Frame(batch, "turn", "turn", table.frame.ddof, table.frame.eps)
        y_BT = discounted(on_turns(table.rewards, batch), batch.turn_mask_BT, self.gamma)
        stats = frame.stats(y_BT, f"{self.by}+state")
        step_BT = frame.minus_mean(y_BT, stats)
        if self.mode == "mean_std_norm":
            step_BT = frame.over_std(step_BT, stats)
        table = table.at("turn")
        return replace(table, a=table.a + self.w * table.aligned("turn", step_BT))


@config
class MergeEdges:
    """Return transitions that several trajectories share their mean advantage (SALT).

    An edge is (state, action, next state) within `by`; the end of a trajectory is a state of its
    own. Edges that occur once keep what their trajectory gives them, so a step that good and bad
    trajectories have in common earns little. Source: SALT as described by a later paper; its
    edges may look further back, this one is the transition alone.

    Raises:
        ConfigError: The batch lacks state_BT or action_BT, or the credit is one of tokens.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageConfig, from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> batch = from_lists([[0.0, 1.0], [0.0, 0.0]])
    >>> seen_BT, did_BT = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 0], [0, 1]])
    >>> batch = replace(batch, state_BT=seen_BT, action_BT=did_BT)
    >>> made = advantage_table(AdvantageConfig(), batch)
    >>> MergeEdges()(made).a.round(decimals=4).tolist()
    [[0.0, 0.7071], [0.0, -0.7071]]
    """

    name: Literal["merge_edges"] = "merge_edges"
    by: str = "group"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        table = _at_turns(table, "merge_edges")
        state_BT = table.batch.needed("state_BT", self.name)
        action_BT, mask_BT = table.batch.needed("action_BT", self.name), table.batch.turn_mask_BT
        goes_on_BT = torch.cat([mask_BT[:, 1:], torch.zeros_like(mask_BT[:, :1])], dim=1)
        next_BT = torch.where(goes_on_BT, state_BT.roll(-1, 1), 0)
        key_BT = table.batch.key_B(self.by).unsqueeze(1).expand_as(state_BT)
        edge_BT = combined(key_BT, state_BT, action_BT, next_BT, goes_on_BT.to(torch.int64))
        stats = group_stats(table.a, edge_BT, wide(mask_BT))
        return replace(table, a=table.frame.hide(torch.where(stats.constant, table.a, stats.mean)))


@config
class Align:
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

    Rows of one `play` are its seats; turn t of one stands beside turn t of another. A seat whose
    others did nothing at t keeps A_t, so players that do not learn have to be credited too:
    `others=True`. Its baseline should come from the same start, seat and turn:
    `baseline=leave_one_out(by="group+agent+turn")`, without a unit.
    Source: dereckpiche/AdAlignLLM@e0ea985 (beta 0.5 to 2, gamma 0.9 or 0.96; `inclusive` is its
    `exclude_k_equals_t=False`); jduquevan/advantage-alignment@2065e43, `aa_terms`.

    Raises:
        UnknownNameError: The batch has no key `play`.
        ConfigError: No play has two seats in the batch, or the credit is one of tokens.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoBaseline, NoNormalisation, ToGo
    >>> from coevo.trainers.estimators import advantage_table, from_lists
    >>> spec = AdvantageConfig(
    ...     credit=ToGo(gamma=0.0), baseline=NoBaseline(), normalise=NoNormalisation()
    ... )
    >>> batch = from_lists([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], seat=[0, 1], play=[0, 0])
    >>> Align()(advantage_table(spec, batch)).a[0].round(decimals=4).tolist()
    [1.0, -0.838, 0.5324]
    """

    name: Literal["align"] = "align"
    beta: Annotated[float, real()] = 1.0
    gamma: Annotated[float, real(0, 1)] = 0.9
    form: Literal["discounted", "past", "inclusive", "sum"] = "discounted"
    mean: Literal["none", "now", "past"] = "none"
    by: str = "play"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        table = _at_turns(table, "align")
        weight_BT = _past(table.frame.hide(table.a), self.gamma, self.form)
        if self.mean != "none":
            now_T = torch.arange(1, table.a.shape[1] + 1, device=table.a.device)
            weight_BT = weight_BT / (now_T if self.mean == "now" else (now_T - 1).clamp(min=1))
        return replace(
            table,
            a=table.frame.hide(table.a + self.beta * weight_BT * _others(table, self.by, "align")),
        )


@config
class SumOthers:
    """Count what the others gain like the own gain: A_i + sum_{j != i} A_j (sum of rewards).

    The cooperative control of Advantage Alignment: a seat learns for the whole table, whatever
    the others did to it. Turn t of one row of `play` stands beside turn t of another, as in
    `align`; with a credit per row, row beside row. Without a scale it is the advantage of the
    summed reward.

    Raises:
        UnknownNameError: The batch has no key `play`.
        ConfigError: No play has two seats in the batch, or the credit is one of tokens.

    >>> from coevo.trainers.estimators import AdvantageConfig, NoBaseline, NoNormalisation
    >>> from coevo.trainers.estimators import from_lists
    >>> from coevo.trainers.estimators import advantage_table
    >>> spec = AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation())
    >>> batch = from_lists([[1.0], [0.5], [2.0]], seat=[0, 1, 0], play=[0, 0, 1])
    >>> SumOthers()(advantage_table(spec, batch)).a.tolist()
    [1.5, 1.5, 2.0]
    """

    name: Literal["sum_others"] = "sum_others"
    by: str = "play"

    def __call__(self, table: AdvantageTable) -> AdvantageTable:
        _no_tokens(table, "sum_others")
        return replace(table, a=table.frame.hide(table.a + _others(table, self.by, "sum_others")))


def _others(table: AdvantageTable, by: str, name: str) -> Tensor:
    """Sum the advantages that the other rows of an entry's play have beside it."""
    play_B, a = table.batch.key_B(by), table.frame.hide(table.a)
    plays = int(play_B.max()) + 1 if len(play_B) else 0
    if plays and plays == len(play_B):
        raise ConfigError(
            f"modify {name!r} compares seats, but no {by!r} of the batch has two rows"
        )
    total_P = a.new_zeros(plays, *a.shape[1:]).index_add(0, play_B, a)
    return total_P[play_B] - a


def _past(a_BT: Tensor, gamma: float, form: str) -> Tensor:
    """Sum what a seat's turns so far were worth."""
    decay = 1.0 if form == "sum" else gamma
    with_now_BT = backward_sums(a_BT.flip(1), decay).flip(1)
    if form == "inclusive":
        return with_now_BT
    before_BT = torch.cat([torch.zeros_like(a_BT[:, :1]), with_now_BT[:, :-1]], dim=1) * decay
    return before_BT if form == "past" else before_BT * decay


def _at_turns(table: AdvantageTable, name: str) -> AdvantageTable:
    _no_tokens(table, name)
    return table.at("turn")


def _no_tokens(table: AdvantageTable, name: str) -> None:
    if table.frame.level == "token":
        raise ConfigError(f"modify {name!r} works on turns; take a credit per row or per turn")
