"""Ocean: what vessels that collect for themselves make of signals, and what signals could bring."""

from collections.abc import Iterable
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures
from coevo.benchmarks.reproductions.run import NETS, Arm, Trained, World
from coevo.envs import make
from coevo.envs.grids.ocean import SIGNAL
from coevo.envs.grids.world import POINTS
from coevo.trainers import components as c
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV, VESSELS = "coevo/ocean-v0", 4
SEA = {"size": 14, "sources": 1, "rate": 100, "vessels": VESSELS}
UPDATES, EPISODES, GAMES = 60, 12, 100
TURNING = 0.1
"""Chance that a scripted vessel which sees nothing turns, in a step."""


def shared_bits(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Return the mutual information of two yes-or-no facts, in bits, from pairs of them.

    >>> shared_bits([(True, True), (False, False)]), shared_bits([(True, True), (True, False)])
    (1.0, 0.0)
    """
    joint = np.zeros((2, 2))
    for one, other in pairs:
        joint[int(one), int(other)] += 1
    joint /= joint.sum()
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / apart[seen])).sum())


def scripted(hears: bool, seed: int) -> Measures:
    """Return what vessels collect that go to the nearest plastic which they see, and signal then.

    Others go to the nearest signal where they hear any, else on in a direction.
    """
    found = [_played(hears, np.random.default_rng([seed, game])) for game in range(GAMES)]
    return {"efficiency": fmean(found)}


def _played(hears: bool, rng: np.random.Generator) -> float:
    task: Any = make(ENV, **SEA).task
    task.reset(rng, {})
    ways = dict[str, str]()
    while seats := task.to_move():
        moves = {}
        for seat in seats:
            plastic, signals = (_offsets(task.array(seat)[k]) for k in (1, 3))
            if len(plastic) or (hears and len(signals)):
                moves[seat] = _toward(plastic if len(plastic) else signals)
                moves[seat] += SIGNAL if len(plastic) else ""
            else:
                if seat not in ways or rng.random() < TURNING:
                    ways[seat] = list(POINTS)[rng.integers(len(POINTS))]
                moves[seat] = ways[seat]
        task.play(moves)
    return float(task.outcome()["efficiency"])


def _offsets(plane: np.ndarray) -> np.ndarray:
    return np.argwhere(plane) - np.array(plane.shape) // 2


def _toward(places: np.ndarray) -> str:
    down, across = places[np.abs(places).sum(1).argmin()]
    if abs(down) >= abs(across):
        return "south" if down > 0 else "north"
    return "east" if across > 0 else "west"


def _measure(end: Trained) -> dict[str, float]:
    """Return what games come to, which begin alike in every arm."""
    players = {f"vessel_{i}": "policy" for i in range(VESSELS)}
    specs = [EpisodeSpec(1000 * end.seed + k, players) for k in range(GAMES)]
    played = rollout(ENV, specs, end.run.policies(), end.run.config.env_options)
    said = [
        (str(turn.move).endswith(SIGNAL), "plastic" in turn.chat[-1]["content"])
        for episode in played
        for turn in episode.turns
    ]
    return {
        "efficiency": fmean(e.outcome["efficiency"] for e in played),
        "first": end.first("outcome/efficiency"),
        "bits": shared_bits(said),
    }


CLAIM = Claim(
    property="""Vessels that are paid for what each collects learn signals that tell next to nothing
        of the plastic in their sight, though honest signals that are followed would let all of them
        collect more.""",
    source="""Siedler 2023, arXiv 2304.05872 (vessels with binary signals collect more; only the
        abstract was read)""",
    minutes=10.0,
    seeds=3,
    on="net",
    setting=f"""`coevo/ocean-v0`, 14 by 14 cells, one source with a unit of plastic in every step,
        {VESSELS} vessels. `turn_ppo`, a network of two layers of 32 units for all vessels, discount
        .95 a step, a bonus on entropy of .01; {UPDATES} updates of {EPISODES} episodes. Vessels
        hear each signal in their window or none, where the same numbers are 0.""",
    measured=f"""Plastic of all vessels per step in {GAMES} games after training, the same for both,
        and the mutual information of a vessel's signal and whether it sees plastic. Scripted
        vessels go to the nearest plastic in sight, and signal then; others go to the nearest signal
        or, deaf ones, on in a direction.""",
    theory="""A signal costs nothing and brings nothing to who gives it: others come and share.""",
    limits="""The source's graph network, which passes signals on, is not here.""",
    chosen="""The sea, by scripted vessels before anything was trained: of 13 seas honest signals
        bring most in this one; in the sea of the defaults they bring nothing. The bounds: a tenth
        of a bit, before anything was trained, and .03, with the scripted games in sight. One set of
        sizes was trained, on these seeds alone.""",
    note="""negative: the source's gain is not seen, and who hears signals is not separated from who
        hears none""",
    world=World(ENV, UPDATES, options=SEA, settings={"model": "net:hidden=32", "threads": 1}),
    changes={
        **NETS,
        "collect.episodes": EPISODES,
        "advantage.credit.gamma": 0.95,
        "loss.regularise": (c.Entropy(coef=0.01),),
    },
    arms={
        "each": Arm("turn_ppo", options={"hear": "each"}),
        "none": Arm("turn_ppo", options={"hear": "none"}),
        "honest": partial(scripted, True),
        "deaf": partial(scripted, False),
    },
    measure=_measure,
    expect=(
        Expect("random play: plastic a step", "each.first"),
        Expect("hear each: plastic a step", "each.efficiency"),
        Expect("hear none: plastic a step", "none.efficiency"),
        Expect("learnt: hear each over hear none", "each.efficiency / none.efficiency"),
        Expect("scripted: honest over deaf", "honest.efficiency / deaf.efficiency", low=1.03),
        Expect("hear each: bits of what is in sight", "each.bits", 0.0, high=0.1),
    ),
)
