"""The table of algorithms; adding one is a file here, an import and a place in `ALGORITHMS`."""

from collections.abc import Mapping
from typing import Any

from coevo.envs.core.config import assign
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import (
    ads,
    advantage_alignment,
    archer,
    asymre,
    bnpo,
    cispo,
    clip_cov,
    comas,
    cooper,
    copo,
    cory,
    cultural_evolution,
    dagrpo,
    dapo,
    derl,
    dno,
    dr_grpo,
    dr_mas,
    epo,
    essa,
    eva,
    g_ra,
    gdpo,
    gigpo,
    gmpo,
    gpg,
    grpo,
    grpo_passk,
    gspo,
    hapo,
    inspo,
    kl_cov,
    knapsack,
    lite_ppo,
    mac_spgg,
    mars,
    mixed_pool,
    mpo,
    opmd,
    opo,
    optima,
    p3o,
    paired,
    polychromic,
    ppo,
    rec,
    red_drop,
    red_weight,
    reinforce,
    reinforce_pp,
    reinforce_pp_baseline,
    remax,
    remix,
    rloo,
    rpo,
    salt,
    sapo,
    semantic,
    skywork,
    spa,
    spark,
    spear,
    spiral,
    spo,
    sppo,
    ssl,
    ssp,
    stable_reinforce,
    toolrl,
    topr,
    tree_grpo,
    turn_ppo,
    two_level,
    upo,
    urpo,
    vade,
    xrpo,
)

ALGORITHMS: dict[str, Algorithm] = {
    module.ALGORITHM.name: module.ALGORITHM
    for module in (
        # Baselines and critics
        reinforce,
        reinforce_pp,
        reinforce_pp_baseline,
        stable_reinforce,
        rloo,
        p3o,
        opo,
        gpg,
        remax,
        ppo,
        turn_ppo,
        archer,
        # Group-relative advantages
        grpo,
        dr_grpo,
        lite_ppo,
        bnpo,
        gdpo,
        copo,
        grpo_passk,
        # Losses
        dapo,
        gspo,
        gmpo,
        cispo,
        sapo,
        hapo,
        # Entropy
        skywork,
        epo,
        clip_cov,
        kl_cov,
        # Plays of other policies
        rec,
        red_drop,
        red_weight,
        opmd,
        asymre,
        topr,
        remix,
        spear,
        # Which plays
        knapsack,
        vade,
        eva,
        xrpo,
        dagrpo,
        polychromic,
        # Credit inside a play
        gigpo,
        salt,
        tree_grpo,
        ads,
        # Rewards
        spa,
        g_ra,
        ssl,
        toolrl,
        semantic,
        # Rewards and judges that learn
        cooper,
        spark,
        urpo,
        # Comparisons and demonstrations
        spo,
        sppo,
        dno,
        rpo,
        upo,
        optima,
        # Several agents
        mars,
        spiral,
        dr_mas,
        ssp,
        advantage_alignment,
        comas,
        mac_spgg,
        cory,
        mixed_pool,
        paired,
        two_level,
        # Outer loops
        cultural_evolution,
        derl,
        essa,
        inspo,
        mpo,
    )
}
"""Every record by its name, families together."""
TOLD = (
    "name",
    "summary",
    "paper",
    "formula",
    "status",
    "shows",
    "reproductions",
    "published",
    "variants",
)
"""Fields of a record that are read by people."""


def algorithm(
    name: str, variant: str | None = None, changes: Mapping[str, Any] | None = None
) -> Algorithm:
    """Return an algorithm's record, with a named variant and further changes applied.

    Args:
        name: key of ALGORITHMS.
        variant: one of the record's variants.
        changes: dotted setting -> value or tree; see `coevo.envs.core.config.assign`.
    """
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    for place in changes or {}:
        if place.partition(".")[0] in TOLD:
            raise ConfigError(f"{place} says what {name} is, and is no setting of it")
    record = ALGORITHMS[name]
    if variant is not None:
        if variant not in record.variants:
            raise unknown(f"variant of {name}", variant, record.variants)
        record = assign(record, record.variants[variant])
    return assign(record, changes or {})
