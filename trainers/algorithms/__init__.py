"""The table of algorithms; adding one is a file here and its name in `GROUPS`.

What a record leaves out of its advantage and its loss is as in `grpo`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coevo.envs.core.config import assign
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.algorithm import Algorithm

GROUPS = {
    "Baselines and critics": (
        "reinforce reinforce_pp reinforce_pp_baseline stable_reinforce rloo p3o opo gpg remax ppo "
        "turn_ppo archer value_augmented"
    ),
    "Group-relative advantages": "grpo dr_grpo lite_ppo bnpo gdpo copo grpo_passk",
    "Losses": "dapo gspo gmpo cispo sapo hapo bupo",
    "Entropy": "skywork epo clip_cov kl_cov",
    "Episodes of other policies": "rec red_drop red_weight opmd asymre topr remix spear",
    "Which episodes": "knapsack vade xrpo dagrpo polychromic",
    "Curricula": "eva scaler craft_gui qwen_long scaling_inter mpts seele a2fm",
    "Credit inside an episode": "gigpo salt tree_grpo ads agent_evolver tp_grpo",
    "Rewards": "spa g_ra ssl toolrl semantic co_reward evol_rl ettrl exploration_bonus",
    "Rewards and judges that learn": "cooper spark urpo arena_rl vpl oni constrained_rlhf polar c2",
    "Comparisons and demonstrations": (
        "spo sppo dno rpo upo ipo simpo optima seagent evocua sft rejection_sampling agent_evol "
        "rstar on_policy_distillation agent_rlvr mamql"
    ),
    "Several agents": (
        "mars spiral dr_mas ssp advantage_alignment comas rlccf mac_spgg cory mixed_pool paired "
        "two_level self_redteam gtalign comam marft mashost bn_ac mra "
        "chain_of_agents"
    ),
    "Outer loops": (
        "barfi c_morl complementary cultural_evolution language_evolution derl inspo mpo psro"
    ),
    "Genomes": "essa deep_ga novelty_search map_elites",
    "Programs": "drq llm_ge policy_synthesis theta_evolve",
    "Values of moves": "iql vdn qmix mansa",
}
"""Families of algorithms as the documentation shows them, and the files of each."""
ALGORITHMS: dict[str, Algorithm] = {
    name: import_module(f"{__name__}.{name}").ALGORITHM
    for names in GROUPS.values()
    for name in names.split()
}
"""Every algorithm by its name, families together."""
ABOUT = (
    "name",
    "summary",
    "paper",
    "formula",
    "status",
    "shows",
    "reproductions",
    "usage",
    "published",
    "variants",
)
"""Fields that describe an algorithm and set nothing."""


def algorithm(
    name: str, variant: str | None = None, changes: Mapping[str, Any] | None = None
) -> Algorithm:
    """Return an algorithm with a named variant and further changes: dotted setting -> value."""
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    for place in changes or {}:
        if place.partition(".")[0] in ABOUT:
            raise ConfigError(f"{place} says what {name} is, and is no setting of it")
    found = ALGORITHMS[name]
    if variant is not None:
        if variant not in found.variants:
            raise unknown(f"variant of {name}", variant, found.variants)
        found = assign(found, found.variants[variant])
    return assign(found, changes or {})
