"""Regularise: terms per token that are added to the policy loss.

Options have the form `(x, *, options) -> Term`. They are aggregated like the policy loss or, those
in `TOKEN_MEANS`, as token means. Those with a state are moved once per update.
"""

from __future__ import annotations

from coevo.trainers.estimators.entropy import (
    adaptive_entropy,
    entropy,
    entropy_band,
    exact_entropy,
    move_adaptive_entropy,
    nll,
)
from coevo.trainers.estimators.epo import epo, move_epo
from coevo.trainers.estimators.kl import (
    adaptive_kl,
    count_convex,
    exact_kl,
    kl,
    kl_convex,
    kl_cov,
    kl_term,
    magnet,
    move_adaptive_kl,
)
from coevo.trainers.estimators.option import Table
from coevo.trainers.estimators.term import Term

__all__ = [
    "CONTROL",
    "NEEDS_REFERENCE",
    "REGULARISE",
    "Term",
    "exact_entropy",
    "exact_kl",
    "kl_term",
]

REGULARISE: Table = {
    "kl": kl,
    "adaptive_kl": adaptive_kl,
    "kl_convex": kl_convex,
    "kl_cov": kl_cov,
    "magnet": magnet,
    "entropy": entropy,
    "adaptive_entropy": adaptive_entropy,
    "entropy_band": entropy_band,
    "epo": epo,
    "nll": nll,
}

NEEDS_REFERENCE = frozenset({"kl", "adaptive_kl", "kl_convex"})
"""Options that read `logp_ref_BL`, so that somebody must keep the start weights."""

CONTROL: Table = {
    "adaptive_kl": move_adaptive_kl,
    "adaptive_entropy": move_adaptive_entropy,
    "epo": move_epo,
    "kl_convex": count_convex,
}
"""Options of REGULARISE that keep a state: `(state, stats, *, options) -> changes of the state`.

Called once per update with the merged stats; the state is read from `LossInputs.state`.
"""

TOKEN_MEANS = frozenset({"entropy", "adaptive_entropy", "entropy_band", "epo", "magnet"})
"""Regularisers that are token means whatever the aggregation."""
