"""Reproductions: the property that an algorithm claims, shown at a small scale.

A reference figure is a closed form or that of a numpy script in `studies`, which
imports nothing of ours; bounds are our choice, and cut the claim from its absence. Where `on` is
"model" or "table", `coevo.trainers.loop` trains a language model or a tabular policy. Where it is
"formula", estimators and losses are those of `coevo.trainers`, but nothing plays. Adding a
reproduction is a file here and its name below.
"""

from importlib import import_module

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near

NAMES = (
    "aa_ipd",
    "aa_split",
    "aa_starter",
    "agent_norm",
    "bnpo_optimum",
    "causal_levels",
    "comas_lm",
    "comas_starter",
    "comas_tabular",
    "cooper_hack",
    "cory_exchange",
    "cov_entropy",
    "cultural_evolution",
    "derl_formulas",
    "dno_monotone",
    "dr_mas_spikes",
    "dr_mas_starter",
    "essa_spectrum",
    "eva_prompts",
    "gated_accumulation",
    "gdpo_collapse",
    "inspo_procedure",
    "mac_spgg",
    "mars_centre",
    "mpo_rubric",
    "offline_bandit",
    "optima_codes",
    "paired_corridor",
    "polychromic",
    "pool_cooperation",
    "punishment",
    "rloo_unbiased",
    "rpo_coverage",
    "spark_judge",
    "spo_minimax",
    "ssp_gate",
    "ssp_lesson",
    "ssp_starter",
    "steering",
    "tis_cosine",
    "two_level",
    "upo_noise",
    "urpo_referee",
)
REPRODUCTIONS: dict[str, Reproduction] = {
    name: import_module(f"coevo.benchmarks.reproductions.{name}").REPRODUCTION for name in NAMES
}

__all__ = ["REPRODUCTIONS", "Outcome", "Reproduction", "Row", "near"]
