"""Claims: the property that an algorithm's source states, shown at a small scale.

A claim is a record (`Claim`) in a file of `claims/`, which has its name. It holds its reference
figures, closed forms or those of a numpy script in `studies/`, which imports nothing of ours, and
the bounds that cut the property from its absence. `coevo.trainers.loop` trains the arms; where
`on` is "formula", estimators and losses are those of `coevo.trainers`, but nothing plays.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from coevo.benchmarks.reproductions import claims
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near

PROGRAMS = (
    "aa_ipd",
    "aa_split",
    "aa_starter",
    "agent_norm",
    "bnpo_optimum",
    "causal_levels",
    "comas_lm",
    "comas_starter",
    "comas_tabular",
    "cory_exchange",
    "cultural_evolution",
    "derl_formulas",
    "dr_mas_spikes",
    "dr_mas_starter",
    "essa_spectrum",
    "eva_prompts",
    "gated_accumulation",
    "inspo_procedure",
    "mac_spgg",
    "mars_centre",
    "mpo_rubric",
    "offline_bandit",
    "optima_codes",
    "paired_corridor",
    "pool_cooperation",
    "punishment",
    "rloo_unbiased",
    "rpo_coverage",
    "spark_judge",
    "ssp_gate",
    "ssp_lesson",
    "ssp_starter",
    "steering",
    "tis_cosine",
    "two_level",
    "upo_noise",
    "urpo_referee",
)
"""Names of those that are still programs."""


def _converted(name: str) -> Reproduction:
    claim: Any = import_module(f"{claims.__name__}.{name}").CLAIM

    def run(seeds: Any) -> Outcome:
        rows = tuple(Row(**vars(figure)) for figure in claim.run(seeds).figures)
        return Outcome(rows, claim.note)

    on = "table" if claim.on == "toy" else claim.on
    return Reproduction(claim.name, claim.property, claim.source, claim.minutes, run, on)


REPRODUCTIONS: dict[str, Reproduction] = {
    **{n: import_module(f"coevo.benchmarks.reproductions.{n}").REPRODUCTION for n in PROGRAMS},
    **{module.name: _converted(module.name) for module in iter_modules(claims.__path__)},
}
REPRODUCTIONS = dict(sorted(REPRODUCTIONS.items()))

__all__ = ["REPRODUCTIONS", "Outcome", "Reproduction", "Row", "near"]
