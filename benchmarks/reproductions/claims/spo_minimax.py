"""Preferences in a circle: self-play on win rates finds the minimax winner, scores do not."""

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.preferences import CIRCLE, FITTED, judged, worst_cases
from coevo.benchmarks.reproductions.run import SGD, Arm

SPPO = {
    "collect.episodes": 16,
    "collect.group_size": 16,
    "optim.lr": 1.0,
    "cycle.update.losses.sppo.beta": 5.0,
}

CLAIM = Claim(
    property="""Where preferences go in a circle, the average policy of self-play on win rates is
        beaten by no arm, and the best arm by fitted scores loses four of five comparisons.""",
    source="""Swamy et al. 2024, SPO, arXiv 2401.04056 (the average policy of a learner without
        regret is a minimax winner); Wu et al. 2024, SPPO, arXiv 2405.00675; figures of spo and of
        fitted scores: our numpy experiment, studies/preferences_numpy.py, with a step of 0.1 and
        4000 updates""",
    minutes=8.0,
    on="toy",
    setting="""Four arms whose preferences go in a circle (`preferences`), one table. `spo` with
        groups of 8 whose comparisons are drawn, 1000 updates; `sppo` with groups of 16, beta 5 and
        probabilities that are known, 400 updates, on every two replies of a group, and on the best
        and worst of 5 (variant `extremes`).""",
    measured="""How often the average policy, and the last, is preferred to the arm that beats it
        most.""",
    chosen="Step sizes, 1000 and 400 updates; the papers have no such figure.",
    limits="SPO's guarantee is for the average policy; the last one goes round.",
    note="""the best and the worst of five are a biased sample of the win rates: where preferences
        go in a circle it costs sppo what the guarantee promises""",
    world=CIRCLE,
    changes=SGD,
    arms={
        "fitted": FITTED,
        "spo": Arm(
            "spo", {"collect.episodes": 8, "optim.lr": 0.4}, edit=judged(drawn=True), steps=1000
        ),
        "every": Arm("sppo", SPPO, edit=judged(), steps=400),
        "ends": Arm(
            "sppo:extremes",
            {**SPPO, "collect.episodes": 5, "collect.group_size": 5},
            edit=judged(),
            steps=400,
        ),
    },
    measure=worst_cases,
    expect=(
        Expect("fitted scores: worst case of the last policy", "fitted.last", 0.202, high=0.25),
        Expect("spo: worst case of the average policy", "spo.average", 0.488, low=0.47),
        Expect("spo: worst case of the last policy", "spo.last", 0.424),
        Expect("spo: average probability of the dominated arm", "spo.dominated", 0.026, high=0.05),
        Expect("sppo, every two: worst case of the average policy", "every.average", low=0.47),
        Expect("sppo, best and worst: worst case of the average policy", "ends.average"),
    ),
)
