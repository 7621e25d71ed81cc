"""RAT's other half: a walker that learns in turn with its adversaries is led astray less often."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures, Once
from coevo.benchmarks.reproductions.claims.targeted_attack import (
    ASKED,
    BEGIN,
    CHANGES,
    CHECK,
    COST,
    LAST,
    SEEN,
    SURE,
    WAYS,
    Odds,
    Steered,
    odds,
    victim,
)
from coevo.benchmarks.reproductions.run import Arm, World, played, sized, trained

ROUNDS, TURN, LEARN, ATTACK, PLAYED = 2, 12, 80, 25, 200
"""Rounds of retraining, updates of an adversary and of the walker in each and of the attacks that
are measured, and games that are played beside those."""
Shows = tuple[float, ...]
"""Chance that an adversary shows `reversed`, for all that there is to see."""
TRUTH: Shows = tuple(float("reversed" in seen) for seen in SEEN)


def attack(walker: Odds, seed: int, updates: int) -> tuple[Shows, float]:
    """Train an adversary; return what it shows, and how often walkers end at the decoy."""
    world = World(Steered.env_id, updates, {"victim": walker, "begin": BEGIN})
    with trained(world, Arm("grpo"), seed, CHANGES) as end:
        learnt, even = end.learnt(), (0.5, 0.5)
        shows = tuple(float(learnt.get(f"{seen}{ASKED}", even)[1]) for seen in SEEN)
        return shows, end.last(min(LAST, updates), "outcome/decoy")


def walk(adversaries: Sequence[Shows], seed: int, checks: bool) -> Odds:
    """Train a walker from the start, each episode under one of the adversaries."""
    options = {"adversaries": tuple(adversaries), "checks": checks}
    world = World(Steered.env_id, LEARN, options)
    with trained(world, Arm("reinforce"), seed, CHANGES) as end:
        return odds(end)


def ends(walker: Odds, shows: Shows, seed: int) -> Measures:
    """Return where a walker ends under an adversary, neither of which learns."""
    checks, moves = len(walker) > len(SEEN), (*WAYS, CHECK)
    every = (*SEEN, *(f"{seen}{SURE}" for seen in SEEN))[: len(walker)]
    logits = [np.log(np.maximum(row, 1e-9)).tolist() for row in walker]
    starts = {s: dict(zip(moves, row, strict=False)) for s, row in zip(every, logits, strict=True)}
    options = {"adversaries": (shows,), "begin": BEGIN, "checks": checks}
    agent = sized(len(starts), len(moves), starts)("walker")
    return played(World(Steered.env_id, options=options), agent, PLAYED, seed)


@lru_cache(maxsize=8)
def retrained(seed: int, checks: bool) -> tuple[Odds, tuple[Shows, ...]]:
    """Return a walker after all rounds, and its adversaries, oldest first; truth is one of them."""
    walker, adversaries = victim(seed, checks), [TRUTH]
    for number in range(ROUNDS):
        adversaries.append(attack(walker, seed + 100 * number, TURN)[0])
        walker = walk(adversaries, seed + 100 * number, checks)
    return walker, tuple(adversaries)


def _measured(walker: Odds, seed: int) -> dict[str, float]:
    decoy = attack(walker, seed + 1000, ATTACK)[1]
    return {"fresh": decoy, "goal": ends(walker, TRUTH, seed)["goal"]}


def _robust(checks: bool) -> Callable[[int], Measures]:
    def measure(seed: int) -> Measures:
        walker, adversaries = retrained(seed, checks)
        last = ends(walker, adversaries[-1], seed)["decoy"]
        return {**_measured(walker, seed), "last": last}

    return measure


CLAIM = Claim(
    property="""A walker that may check the sign at a cost and is trained in turn with adversaries,
        under all of them so far and the true sign, is led to the decoy less often than one that is
        not, by the last adversary that it knew and by a fresh one.""",
    source="""Bai et al. 2024, RAT, arXiv 2412.10713 (victims that are trained again under targeted
        attacks resist them); bounds are ours""",
    minutes=4.0,
    seeds=3,
    on="toy",
    setting=f"""The corridor of `targeted_attack` and its walker, which may also check what is true
        before it moves, for {COST}. In each of {ROUNDS} rounds an adversary learns for {TURN}
        updates of GRPO to lead the walker to the decoy, and a walker then learns from the start,
        {LEARN} updates of `reinforce`; in each of its episodes the sign is shown by one of the
        adversaries of all rounds, or is true. A fresh adversary learns for {ATTACK} updates.
        Tables, 64 episodes an update.""",
    measured=f"""Share of episodes that end at the decoy: under the last adversary of the rounds,
        {PLAYED} games; over the last {LAST} updates of a fresh adversary. Share that ends at the
        goal where the sign is true.""",
    chosen="""Bounds before anything was run. This is the fourth setting, each tried with one seed.
        Without a check, and walkers that went on from what they knew by GRPO with 10 % of random
        moves, the last adversary led to the decoy in .69 of the episodes and a fresh one in .75;
        with more updates and half of the moves at random in .08 and .99. With a check in .72 and
        .65: all episodes of a group are under one adversary, so that nothing but the cost of checks
        told them apart.""",
    limits="""Where a walker cannot check, training in turn does not help (`blind`). The intention
        is given; adversaries of earlier rounds are drawn evenly, not weighed.""",
    arms={
        "plain": lambda seed: _measured(victim(seed, True), seed),
        "robust": _robust(True),
        "blind": Once(_robust(False)),
    },
    expect=(
        Expect("decoy, plain walker, fresh adversary", "plain.fresh"),
        Expect("decoy, retrained walker, fresh adversary", "robust.fresh"),
        Expect("decoy, retrained walker, last adversary", "robust.last"),
        Expect("goal, plain walker, true sign", "plain.goal"),
        Expect("goal, retrained walker, true sign", "robust.goal"),
        Expect("decoy, without a check, fresh adversary", "blind.fresh"),
        Expect("decoy, without a check, last adversary", "blind.last"),
        Expect("fresh adversary: plain over retrained", "plain.fresh - robust.fresh", low=0.2),
        Expect("plain over retrained, last adversary", "plain.fresh - robust.last", low=0.3),
    ),
)
