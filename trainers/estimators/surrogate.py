"""Surrogates: the loss of every token before aggregation, to be minimised; A is a constant.

A ratio level gives log s per token, a kind turns s into a loss: `(ratio_BL, x, *, options)`.
P3O with clipped sides is `ppo_clip` on pairs; its on-policy form is `pg` with leave-one-out.
"""

from __future__ import annotations

from coevo.trainers.estimators.hapo import hapo
from coevo.trainers.estimators.option import Table
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, RATIO_LEVEL
from coevo.trainers.estimators.surrogate_clip import (
    Surrogate,
    cispo,
    dual_clip,
    gmpo,
    pg,
    ppo_clip,
    preclip,
    sapo,
    unclipped,
)
from coevo.trainers.estimators.surrogate_offpolicy import opmd, rec, remix, topr

__all__ = ["KIND", "LOG_RATIO_LIMIT", "RATIO_LEVEL", "Surrogate"]

KIND: Table = {
    "pg": pg,
    "ratio": unclipped,
    "ppo_clip": ppo_clip,
    "dual_clip": dual_clip,
    "preclip": preclip,
    "cispo": cispo,
    "sapo": sapo,
    "gmpo": gmpo,
    "rec": rec,
    "topr": topr,
    "opmd": opmd,
    "remix": remix,
    "hapo": hapo,
}
