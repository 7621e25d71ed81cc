"""Modify: what happens to an advantage after it is normalised, left to right, in its own level.

Every modifier has the form `(draft, *, options) -> draft`; it may refine the level of the table.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from coevo.trainers.estimators.draft import Draft
from coevo.trainers.estimators.normalise import center_batch, scale_batch_std, scale_token_std
from coevo.trainers.estimators.option import Table, check_range


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


MODIFY: Table = {
    "none": no_change,
    "clip": clip,
    "batch_whiten": batch_whiten,
    "token_whiten": token_whiten,
}
