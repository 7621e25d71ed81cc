"""Small-scale checks: the property that an algorithm claims, shown beside reference figures.

Every check runs through the estimators and losses of `coevo.trainers.estimators`, on tabular
policies. Adding one is a file here and an entry in `CHECKS`.
"""

from coevo.benchmarks.checks import (
    aa_ipd,
    aa_seed,
    aa_split,
    agent_norm,
    bnpo_optimum,
    comas_lm,
    comas_seed,
    comas_tabular,
    cov_entropy,
    dr_mas_seed,
    dr_mas_spikes,
    gated_accumulation,
    gdpo_collapse,
    mars_centre,
    offline_bandit,
    polychromic,
    rloo_unbiased,
    ssp_gate,
    ssp_seed,
    tis_cosine,
)
from coevo.benchmarks.checks.check import Check, Outcome, Row, near

CHECKS: dict[str, Check] = {
    module.CHECK.name: module.CHECK
    for module in (
        aa_ipd,
        aa_seed,
        aa_split,
        agent_norm,
        bnpo_optimum,
        comas_lm,
        comas_seed,
        comas_tabular,
        cov_entropy,
        dr_mas_seed,
        dr_mas_spikes,
        gated_accumulation,
        gdpo_collapse,
        mars_centre,
        offline_bandit,
        polychromic,
        rloo_unbiased,
        ssp_gate,
        ssp_seed,
        tis_cosine,
    )
}

__all__ = ["CHECKS", "Check", "Outcome", "Row", "near"]
