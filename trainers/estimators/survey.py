"""Survey: choices that compare tokens of different rows, made once for a whole mini-batch.

A gate that keeps the top fifth of all tokens cannot be decided micro-batch by micro-batch: the
gradient would depend on how rows are cut. So the learner hands all rows of an optimiser step to
`survey` first, without gradient, and every micro-batch then carries its share of the result.
"""

from __future__ import annotations

from coevo.trainers.estimators.gates import clip_cov, entropy_quantile, offpolicy
from coevo.trainers.estimators.hapo import survey_hapo
from coevo.trainers.estimators.kl import mark_kl_cov
from coevo.trainers.estimators.option import Table

GATE: Table = {
    "clip_cov": clip_cov,
    "entropy_quantile": entropy_quantile,
    "offpolicy": offpolicy,
}
"""Gates `(x, generator, *, options) -> keep_BL`; a token that is not kept adds nothing to the loss.

Its place in the denominators of the aggregation stays.
"""

SURVEY: Table = {"hapo": survey_hapo, "kl_cov": mark_kl_cov}
"""What kinds and regularisers need of the mini-batch: `(x, generator, *, options) -> [B, L]`.

Keys are names of options of KIND and REGULARISE; a function reads those of the option's
parameters that it declares.
"""
