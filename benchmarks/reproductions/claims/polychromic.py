"""Set credit (polychromic objective): a policy that keeps two good answers instead of one."""

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import BANDIT, odds
from coevo.trainers import components as c

PAYOFFS = (1.0, 0.95, 0.0, 0.0)
SIZE = 32


def _measure(end: Trained) -> dict[str, float]:
    one, two, *_ = odds(end.learnt(), 1, len(PAYOFFS))[0].tolist()
    return {"rarer": min(one, two), "success": one + two}


CLAIM = Claim(
    property="""Credit for sets keeps both good arms where REINFORCE keeps one, at a price in
        success.""",
    source="""Hamid et al. 2025, Polychromic Objectives, arXiv 2509.25424 (f(S) = mean reward times
        diversity of a set); figures: our numpy experiment, studies/polychromic_numpy.py""",
    minutes=2.0,
    on="toy",
    setting="""Four arms with rewards (1, 0.95, 0, 0), a table from the uniform policy, 32 episodes
        an update, 800 updates of plain gradient steps. `polychromic` in sets of 4: a set is worth
        its mean reward times its share of different arms, and all its members share the advantage
        f(S) - mean f. `reinforce` has a batch mean as baseline.""",
    measured="""min(P1, P2), the probability of the rarer of the good arms, and success, P1 + P2:
        set credit rewards diversity with success, and that price is shown.""",
    chosen="Arms, sets and step size; the paper reports gridworlds and gives no such figure.",
    world=World(BANDIT, 800, {"payoffs": (PAYOFFS,)}, lambda seed: sized(1, len(PAYOFFS))),
    changes={**PLAIN, "collect.episodes": SIZE, "optim.lr": 0.2},
    arms={
        "reinforce": Arm("reinforce"),
        "sets": Arm(
            "polychromic",
            {
                "collect.group_size": SIZE,
                "advantage.transform": (c.ShareSet(label="answer", size=4, by="group+agent"),),
            },
        ),
    },
    measure=_measure,
    expect=(
        Expect("min(P1, P2), REINFORCE", "reinforce.rarer", 0.043, high=0.1),
        near("min(P1, P2), set credit", "sets.rarer", 0.41, 0.038),
        near("success, REINFORCE", "reinforce.success", 0.996, 0.005),
        near("success, set credit (the price)", "sets.success", 0.851, 0.029),
    ),
)
