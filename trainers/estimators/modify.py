"""Modify: what happens to an advantage after it is normalised, left to right, in its own level.

Every modifier has the form `(draft, *, options) -> draft`; it may refine the level of the table.
Here are those that look at one entry at a time or at the whole batch. `modify_rows` chooses
trajectories of a group, `modify_groups` reads statistics of groups, `modify_turns` finds turns
that belong together.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.center import center_batch
from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.modify_groups import (
    active_share,
    add_tree,
    blend_global,
    grpo_fallback,
    sharpen,
    weigh_prompts,
)
from coevo.trainers.estimators.modify_rows import (
    best_of_group,
    drop_negatives,
    pair_gate,
    share_set,
)
from coevo.trainers.estimators.modify_turns import (
    add_state_group,
    align,
    merge_edges,
    sum_others,
)
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.estimators.scale import scale_batch_std, scale_token_std

_MOST = 20.0
"""Largest exponent: exp(20) is 5e8, beyond what any weight should be."""


def no_change(draft: Draft) -> Draft:
    """Leave the advantage as it is.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(), from_lists([[2.0], [1.0]]))
    >>> no_change(made) is made
    True
    """
    return draft


def clip(draft: Draft, *, bound: float = 5.0) -> Draft:
    """Limit the advantage to [-bound, bound].

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(scale=option("none")), from_lists([[8.0], [-8.0]]))
    >>> clip(made).a.tolist()
    [5.0, -5.0]
    """
    check_range("bound", bound, 0.0, float("inf"))
    return replace(draft, a=torch.clamp(draft.a, -bound, bound))


def batch_whiten(draft: Draft) -> Draft:
    """Centre and divide by the deviation over the batch, counting entries as the frame says.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(center=option("none")), from_lists([[3.0], [1.0]]))
    >>> batch_whiten(made).a.round(decimals=4).tolist()
    [0.7071, -0.7071]
    """
    centred, _ = center_batch(draft.a, draft.frame, {})
    return replace(draft, a=scale_batch_std(centred, draft.a, draft.frame))


def token_whiten(draft: Draft) -> Draft:
    """Centre and divide by the deviation over all policy tokens of the batch.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(), from_lists([[1.0], [0.0]], tokens=[[3], [1]]))
    >>> token_whiten(made).a.round(decimals=4).tolist()
    [0.5, -1.5]
    """
    return replace(draft, a=scale_token_std(draft.a, draft.a, draft.frame))


def exp_weight(draft: Draft, *, temperature: float = 1.0) -> Draft:
    """Weigh by the exponential of the advantage: A exp(A / T) (RED-Weight).

    Good rows gain and bad rows fade. The exponent is held in [-20, 20].
    Source: REC (Trinity-RFT), T = 1, on `outcome | group | none`.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(scale=option("none")), from_lists([[1.0], [0.0]]))
    >>> exp_weight(made).a.round(decimals=4).tolist()
    [0.8244, -0.3033]
    """
    if not 0.0 < temperature < float("inf"):
        raise ConfigError(f"temperature={temperature} must be positive and finite")
    a = wide(draft.a)
    return replace(draft, a=a * (a / temperature).clamp(-_MOST, _MOST).exp())


def shift(draft: Draft, *, beta: float = 0.1) -> Draft:
    """Lower the baseline by beta: A + beta (AsymRE, baseline mean - beta).

    A positive beta leans on good rows, which is what off-policy data needs. Also groups of one
    and of equal rewards then get beta. Source: REC (Trinity-RFT), beta 0.1.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> made = estimate(AdvantageSpec(scale=option("none")), from_lists([[1.0], [0.0]]))
    >>> shift(made).a.tolist()
    [0.6, -0.4]
    """
    if not isfinite(beta):
        raise ConfigError(f"beta={beta} must be finite")
    return replace(draft, a=draft.frame.hide(wide(draft.a) + beta))


def filter_sigma(draft: Draft, *, sigma: float = 3.0) -> Draft:
    """Drop outliers: A = 0 where |A| > sigma (StableReinforce).

    The unit is that of the advantage, so scale by a deviation first. The released code compares
    the standardised value with the mean of the raw ones +- 3; this is the filter of the paper.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> rewards = [[0.0]] * 11 + [[10.0]]
    >>> made = estimate(AdvantageSpec(scale=option("batch_std"), ddof=0), from_lists(rewards))
    >>> filter_sigma(made).a[-2:].round(decimals=4).tolist()
    [-0.3015, 0.0]
    """
    check_range("sigma", sigma, 0.0, float("inf"))
    return replace(draft, a=torch.where(draft.a.abs() <= sigma, draft.a, 0.0))


def drop_truncated(draft: Draft) -> Draft:
    """Learn nothing from plays that a limit cut off: A = 0 where the key `truncated` is not 0.

    They stay in the statistics of their group and in the denominators of the loss (overlong
    filter as in DAPO's `overlong_filter`).

    Raises:
        UnknownNameError: The batch has no key `truncated`.

    >>> from coevo.trainers.estimators import AdvantageSpec, from_lists, option
    >>> from coevo.trainers.estimators import draft as estimate
    >>> batch = from_lists([[1.0], [0.0]], truncated=[0, 1])
    >>> drop_truncated(estimate(AdvantageSpec(scale=option("none")), batch)).a.tolist()
    [0.5, 0.0]
    """
    cut = draft.aligned("row", draft.batch.key_of("truncated")) != 0
    return replace(draft, a=torch.where(cut, 0.0, draft.a))


MODIFY: Table = {
    "none": no_change,
    "clip": clip,
    "batch_whiten": batch_whiten,
    "token_whiten": token_whiten,
    "exp_weight": exp_weight,
    "shift": shift,
    "filter_sigma": filter_sigma,
    "drop_truncated": drop_truncated,
    "drop_negatives": drop_negatives,
    "best_of_group": best_of_group,
    "share_set": share_set,
    "pair_gate": pair_gate,
    "sharpen": sharpen,
    "blend_global": blend_global,
    "add_tree": add_tree,
    "grpo_fallback": grpo_fallback,
    "weigh_prompts": weigh_prompts,
    "active_share": active_share,
    "add_state_group": add_state_group,
    "merge_edges": merge_edges,
    "align": align,
    "sum_others": sum_others,
}
