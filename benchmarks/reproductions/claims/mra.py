"""MRA: several plans for crossings with different numbers of travellers, and one for all."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import torch

from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.envs.societies.crossing import (
    WAYS,
    Crossing,
    CrossingConfig,
    Odds,
    equilibrium,
    expected_minutes,
    exploitability,
)
from coevo.trainers.algorithms.mra import PLANS

SIZES, NEW = (2, 4, 8), (6, 12)
RIVER = CrossingConfig(travellers=SIZES, base=(1.0, 2.0, 3.0), known=False)
UPDATES, LR, STEPS = 120, 0.2, 5


def gap(odds_R: Odds, travellers: int) -> float:
    """Return the minutes that one of so many who all draw alike saves by another choice."""
    return exploitability(RIVER, np.tile(odds_R, (travellers, 1)))


def adapted(odds_R: Odds, travellers: int) -> Odds:
    """Return the chances after exact gradient steps of a traveller on its own minutes."""
    logits_R = np.log(odds_R)
    for _ in range(STEPS):
        p_R = np.exp(logits_R) / np.exp(logits_R).sum()
        spent_R = expected_minutes(RIVER, np.tile(p_R, (travellers, 1)))[0]
        logits_R -= LR * p_R * (spent_R - p_R @ spent_R)
    return np.exp(logits_R) / np.exp(logits_R).sum()


def plans(end: Trained) -> list[Odds]:
    """Return the chances of the ways under every plan."""
    policy = end.policy()
    assert isinstance(policy, TabularPolicy)  # a run of tables
    rows = torch.tensor(list(policy.rows.of.values()))
    with torch.no_grad():
        return list(policy.model(rows)[:, : len(WAYS)].softmax(-1).numpy())


def best(every: Sequence[Odds], travellers: int) -> Odds:
    return min(every, key=lambda odds_R: gap(odds_R, travellers))


def _measure(end: Trained) -> dict[str, float]:
    every = plans(end)
    found = {f"gap_{n}": gap(best(every, n), n) for n in (*SIZES, *NEW)}
    later = {f"adapted_{n}": gap(adapted(best(every, n), n), n) for n in NEW}
    return {**found, **later, "known": fmean(found[f"gap_{n}"] for n in SIZES)}


ARMS = {"mra": "four plans", "free": "four plans, no bonus", "single": "one plan"}
WHAT = {
    **{f"gap_{n}": f"{n} travellers" for n in SIZES},
    **{f"gap_{n}": f"{n} travellers, new" for n in NEW},
    **{f"adapted_{n}": f"{n} travellers, new, after {STEPS} steps" for n in NEW},
}
ONE = equilibrium(RIVER, 1 + sum(n * (n - 1) for n in SIZES) // sum(SIZES))
"""Where one plan for all games is in equilibrium: travellers have five others on average."""
LONE = {f"single.gap_{n}": gap(ONE, n) for n in (*SIZES, *NEW)}
KNOWN, FAR = fmean(gap(ONE, n) for n in SIZES), gap(ONE, 12) - gap(equilibrium(RIVER, 8), 12)
CLAIM = Claim(
    property="""Four plans, of which each game takes the one that suits it, leave travellers less to
        gain than one plan for all, in the games that they were learnt in and in a new one that is
        larger; in a new one of a size between, one plan does better.""",
    source="""Zhang et al. 2021, MRA, arXiv 2108.12988 (only the abstract was read: policy sets
        with latents reach equilibria in games of other sizes, or adapt fast); references: closed
        form, of one plan in equilibrium with as many others as a traveller has on average""",
    minutes=4.5,
    on="table",
    setting=f"""`coevo/crossing-v0`, base 1, 2 and 3, with 2, 4 or 8 travellers who are not told how
        many they are. A table on `mra` and its variants; {UPDATES} updates of 64 episodes, plain
        steps of {LR}. New: 6 and 12 travellers, by the plan that leaves the least to gain, as it is
        and after {STEPS} exact gradient steps of {LR} of travellers who all draw alike.""",
    measured="""Exploitability in minutes, exactly: the most that a traveller who draws as all do
        saves by another way.""",
    theory="""Most travellers are in large games: one has five others on average, as with 6
        travellers, so that one plan ends near the equilibrium of 6 and has nothing to lose.""",
    limits="""The source's expectation, that a set of policies is the better one in new games, fails
        with 6 travellers, before and after the steps. A table shares nothing between plans.""",
    chosen="""Updates, episodes and the step, after a look at one seed with 150 updates of 96
        episodes, which came out alike. Bounds are half of what the closed form gives.""",
    world=World(
        Crossing.env_id,
        UPDATES,
        {"travellers": SIZES, "base": RIVER.base, "known": False},
        lambda seed: sized(len(PLANS), len(WAYS)),
    ),
    changes={**PLAIN, "collect.episodes": 64, "optim.lr": LR},
    arms={"mra": Arm("mra"), "free": Arm("mra:free"), "single": Arm("mra:single")},
    measure=_measure,
    expect=(
        *(
            Expect(f"{what}: {label}", f"{arm}.{key}", LONE.get(f"{arm}.{key}"))
            for key, what in WHAT.items()
            for arm, label in ARMS.items()
        ),
        Expect(
            "games of training: four plans - one",
            "mra.known - single.known",
            -KNOWN,
            high=-KNOWN / 2,
        ),
        Expect(
            "12 travellers: four plans - one", "mra.gap_12 - single.gap_12", -FAR, high=-FAR / 2
        ),
        Expect("6 travellers: four plans - one", "mra.gap_6 - single.gap_6"),
        Expect("games of training: bonus - none", "mra.known - free.known"),
    ),
)
