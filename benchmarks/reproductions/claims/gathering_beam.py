"""Gathering: where apples are scarce, seats that learn alone come to fire at each other."""

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.benchmarks.reproductions.run import NETS, Arm, Trained, World
from coevo.trainers import components as c

ENV, GATHERERS, STEPS, TIMEOUT = "coevo/gathering-v0", 2, 60, 15
MAP = """
########
#P.....#
#.AAAA.#
#.AAAA.#
#.....P#
########"""
PLENTY, SCARCE = 4, 20
"""Steps after which each of the eight apples is back."""
UPDATES, EPISODES, LAST = 50, 16, 10


def _measure(end: Trained) -> dict[str, float]:
    beams, turns = (end.last(LAST, name) for name in ("outcome/beams", "turns"))
    return {
        "beams": beams / turns,
        "out": GATHERERS - end.last(LAST, "outcome/peace"),
        "apples": end.last(LAST, "outcome/efficiency"),
    }


def _least(measure: str) -> Expect:
    """Return the line of the seed in which scarcity makes the smallest difference."""

    def least(found: Found) -> list[float]:
        pairs = zip(found["scarce"][measure], found["plenty"][measure], strict=True)
        return [min(scarce - plenty for scarce, plenty in pairs)]

    return Expect(f"{measure}, scarce minus plenty, least of the seeds", least, low=0.005)


CLAIM = Claim(
    property="""Two gatherers that learn by themselves fire more beams, and are out for longer,
        where apples are scarce than where there are enough for both.""",
    source="""Leibo et al. 2017, arXiv 1702.03037 (aggression by the abundance of apples, deep
        Q-networks); only the sign is claimed""",
    minutes=11.0,
    seeds=3,
    on="net",
    setting=f"""`coevo/gathering-v0` on a map of 6 by 4 cells with eight apples, two gatherers,
        {STEPS} steps, {TIMEOUT} steps out after a hit. An apple is back after {PLENTY} steps, two
        apples a step in all, or after {SCARCE}, .4 a step, which is what one alone can eat.
        `turn_ppo`, a network of two layers of 32 units for each seat, discount .95 a step, a bonus
        on entropy of .05; {UPDATES} updates of {EPISODES} episodes.""",
    measured=f"""Beams of a seat per step that it is not out, seats that are out on average, and
        apples of both per step, in the last {LAST} updates, with moves drawn as they were
        learnt; random play fires at .125 of the steps.""",
    limits="""Proximal policy optimisation in the place of deep Q-networks, and minutes in the place
        of days: nothing is said of the size.""",
    chosen=f"""{PLENTY} and {SCARCE} steps and the map, before looking; the bonus on entropy after
        looks at another seed. Without it (60 updates) beams end at .000 in both worlds, given up
        before their worth is found. Deep Q-networks (`iql`, 50 updates) end at .05 in both, and go
        up and down. With it, where apples are scarce, beams fall to .03 and rise to .10. The bounds
        ask for little more than the sign, in each seed.""",
    world=World(
        ENV,
        UPDATES,
        options={
            "gatherers": GATHERERS,
            "steps": STEPS,
            "map": MAP,
            "ahead": 4,
            "behind": 2,
            "side": 3,
            "timeout": TIMEOUT,
        },
        settings={"model": "net:hidden=32", "threads": 1},
    ),
    changes={
        **NETS,
        "population": "separate",
        "collect.episodes": EPISODES,
        "advantage.credit.gamma": 0.95,
        "loss.regularise": (c.Entropy(coef=0.05),),
    },
    arms={
        "plenty": Arm("turn_ppo", options={"respawn": PLENTY}),
        "scarce": Arm("turn_ppo", options={"respawn": SCARCE}),
    },
    measure=_measure,
    expect=(
        *(
            Expect(f"{arm}: {measure}", f"{arm}.{measure}")
            for measure in ("beams", "out", "apples")
            for arm in ("plenty", "scarce")
        ),
        _least("beams"),
        _least("out"),
    ),
)
