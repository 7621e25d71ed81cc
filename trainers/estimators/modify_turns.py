"""Modifiers that find turns which belong together: one state, one step, one round."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.groups import combined, group_stats, wide
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.rewards import discounted, on_turns
from coevo.trainers.estimators.scan import backward_sums


def add_state_group(
    draft: Draft,
    *,
    w: float = 1.0,
    gamma: float = 0.95,
    mode: Literal["mean_norm", "mean_std_norm"] = "mean_norm",
    by: str = "group",
) -> Draft:
    """Compare turns that saw the same state: A + w A_S (GiGPO).

    A_S = Y_t - mean over all visits of the state within `by`, [divided by their std + eps], with
    Y_t = sum_k gamma^k r_{t+k}; a state seen once gives 0. On `outcome | group` the episode part
    counts a trajectory once, whatever its turns. States are equal where `state_BT` is: whoever
    numbers the states decides whether similar ones are the same; a step counter in what is seen
    makes all of them differ. Source: GiGPO repository, gamma 0.95, w 1.

    Raises:
        ConfigError: The batch has no state_BT.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[0.0, 1.0], [0.0, 0.0]])
    >>> batch = replace(batch, state_BT=torch.tensor([[0, 1], [0, 2]]))
    >>> made = estimate(AdvantageSpec(scale=option("none")), batch)
    >>> add_state_group(made, gamma=0.5).a.tolist()
    [[0.75, 0.5], [-0.75, -0.5]]
    """
    check_range("gamma", gamma, 0.0, 1.0)
    batch = draft.batch
    frame = Frame(batch, "turn", "turn", draft.frame.ddof, draft.frame.eps)
    y_BT = discounted(on_turns(draft.rewards, batch), batch.turn_mask_BT, gamma)
    stats = frame.stats(y_BT, f"{by}+state")
    step_BT = frame.minus_mean(y_BT, stats)
    if mode == "mean_std_norm":
        step_BT = frame.over_std(step_BT, stats)
    draft = draft.at("turn")
    return replace(draft, a=draft.a + w * draft.aligned("turn", step_BT))


def merge_edges(draft: Draft, *, by: str = "group") -> Draft:
    """Give transitions that several trajectories share their mean advantage (SALT).

    An edge is (state, action, next state) within `by`; the end of a trajectory is a state of its
    own. Edges that occur once keep what their trajectory gives them, so a step that good and bad
    trajectories have in common earns little. Source: SALT as described by a later paper; its
    edges may look further back, this one is the transition alone.

    Raises:
        ConfigError: The batch lacks state_BT or action_BT, or the credit is one of tokens.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[0.0, 1.0], [0.0, 0.0]])
    >>> seen_BT, did_BT = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 0], [0, 1]])
    >>> made = estimate(AdvantageSpec(), replace(batch, state_BT=seen_BT, action_BT=did_BT))
    >>> merge_edges(made).a.round(decimals=4).tolist()
    [[0.0, 0.7071], [0.0, -0.7071]]
    """
    draft = _at_turns(draft, "merge_edges")
    state_BT = draft.batch.needed("state_BT", "merge_edges")
    action_BT, mask_BT = draft.batch.needed("action_BT", "merge_edges"), draft.batch.turn_mask_BT
    goes_on_BT = torch.cat([mask_BT[:, 1:], torch.zeros_like(mask_BT[:, :1])], dim=1)
    next_BT = torch.where(goes_on_BT, state_BT.roll(-1, 1), 0)
    key_BT = draft.batch.key_B(by).unsqueeze(1).expand_as(state_BT)
    edge_BT = combined(key_BT, state_BT, action_BT, next_BT, goes_on_BT.to(torch.int64))
    stats = group_stats(draft.a, edge_BT, wide(mask_BT))
    return replace(draft, a=draft.frame.hide(torch.where(stats.constant, draft.a, stats.mean)))


def align(
    draft: Draft,
    *,
    beta: float = 1.0,
    gamma: float = 0.9,
    form: Literal["discounted", "past", "inclusive", "sum"] = "discounted",
    mean: bool = False,
    by: str = "play",
) -> Draft:
    """Align a seat with those who let it do well: A_t + beta w_t (sum of the others' A_t).

    Advantage Alignment, w_t = gamma sum_{k<t} gamma^{t-k} A_k: where the seat's own past went
    better than its baseline, moves that also help the others are reinforced, and else moves that
    hurt them. Forms of w:

    - `discounted`: as above, the past only (AdAlignLLM).
    - `past`: sum_{k<t} gamma^{t-k} A_k, without that additional gamma.
    - `inclusive`: sum_{k<=t} gamma^{t-k} A_k, with the present (original paper).
    - `sum`: sum_{k<t} A_k, undiscounted (code for N players); `mean` divides w_t by t + 1.

    Rows of one `play` are its seats; turn t of one stands beside turn t of another. A seat whose
    others did nothing at t keeps A_t, so players that do not learn have to be credited too:
    `others=True`. Its baseline should come from the same start, seat and turn:
    `center=group_loo(by="group+agent+turn")`, without a scale.
    Source: AdAlignLLM repository (beta 0.5 to 2, gamma 0.9 or 0.96); advantage-alignment
    repository for the last two.

    Raises:
        UnknownNameError: The batch has no key `play`.
        ConfigError: No play has two seats in the batch, or the credit is one of tokens.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> spec = AdvantageSpec(
    ...     credit=option("to_go", gamma=0.0), center=option("none"), scale=option("none")
    ... )
    >>> batch = from_lists([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], seat=[0, 1], play=[0, 0])
    >>> align(estimate(spec, batch)).a[0].round(decimals=4).tolist()
    [1.0, -0.838, 0.5324]
    """
    check_range("gamma", gamma, 0.0, 1.0)
    draft = _at_turns(draft, "align")
    weight_BT = _past(draft.frame.hide(draft.a), gamma, form)
    if mean:
        weight_BT = weight_BT / torch.arange(1, draft.a.shape[1] + 1, device=draft.a.device)
    return replace(
        draft, a=draft.frame.hide(draft.a + beta * weight_BT * _others(draft, by, "align"))
    )


def sum_others(draft: Draft, *, by: str = "play") -> Draft:
    """Count what the others gain like the own gain: A_i + sum_{j != i} A_j (sum of rewards).

    The cooperative control of Advantage Alignment: a seat learns for the whole table, whatever
    the others did to it. Turn t of one row of `play` stands beside turn t of another, as in
    `align`; with a credit per row, row beside row. Without a scale it is the advantage of the
    summed reward.

    Raises:
        UnknownNameError: The batch has no key `play`.
        ConfigError: No play has two seats in the batch, or the credit is one of tokens.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> spec = AdvantageSpec(center=option("none"), scale=option("none"))
    >>> batch = from_lists([[1.0], [0.5], [2.0]], seat=[0, 1, 0], play=[0, 0, 1])
    >>> sum_others(estimate(spec, batch)).a.tolist()
    [1.5, 1.5, 2.0]
    """
    _no_tokens(draft, "sum_others")
    return replace(draft, a=draft.frame.hide(draft.a + _others(draft, by, "sum_others")))


def _others(draft: Draft, by: str, name: str) -> Tensor:
    """Sum the advantages that the other rows of an entry's play have beside it."""
    play_B, a = draft.batch.key_B(by), draft.frame.hide(draft.a)
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


def _at_turns(draft: Draft, name: str) -> Draft:
    _no_tokens(draft, name)
    return draft.at("turn")


def _no_tokens(draft: Draft, name: str) -> None:
    if draft.frame.level == "token":
        raise ConfigError(f"modify {name!r} works on turns; take a credit per row or per turn")
