"""Rejection sampling: imitating the best of n own plays learns; imitating all of them does not."""

from typing import Any

from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import Arm, Trained, World, sized

ENV = "coevo/tiny_hanabi-v0"
OPTIONS: dict[str, Any] = {"prompt_style": "terse"}
BEST = 10.0
"""Payoff of perfect play."""


def _measure(end: Trained) -> dict[str, float]:
    policy = end.policy()
    return {"payoff": exact_payoffs(policy, policy, ENV, OPTIONS)[0]}


CLAIM = Claim(
    name="best_of_n",
    property="""Imitating the best of n own plays of a task, again and again, raises what is earned,
        more with larger n; imitating all own plays does not.""",
    source="""Dong et al. 2023, RAFT, arXiv 2304.06767 (reward rises over iterations of best of n);
        the optimum of tiny Hanabi is known, bounds are ours""",
    minutes=1.0,
    on="table",
    setting="""Tiny Hanabi: two partners with private cards, one table for both seats;
        `rejection_sampling` with the best of 8 and of 2 plays of a deal, and its variant
        `unselected`, which imitates all 8. 128 episodes an update, 30 updates, Adam 0.3.""",
    measured="The exact payoff of the policy with itself, before and after.",
    theory="""Without selection the mean of an update is the policy itself: it drifts by chance
        until it repeats itself, and earns as much as before on average over many runs.""",
    limits="""One small game; of 2 the best is often a lucky habit, which is then repeated. The
        form of replies is given.""",
    chosen="""Sizes and the rate, on seed 99: with 0.1 the best of 8 was at 8.7 after 30 updates
        and rose; with 0.3 it had reached the optimum.""",
    world=World(ENV, 30, OPTIONS, lambda seed: sized(8, 3), {"threads": 1}),
    changes={"rewards": (), "collect.episodes": 128, "optim.lr": 0.3, "optim.warmup": 0},
    arms={
        "before": Arm("rejection_sampling", steps=0, once=True),
        "eight": Arm("rejection_sampling"),
        "two": Arm("rejection_sampling", {"collect.group_size": 2}),
        "all": Arm("rejection_sampling:unselected"),
    },
    measure=_measure,
    expect=(
        Expect("payoff of even play", "before.payoff"),
        near("payoff, best of 8", "eight.payoff", BEST, 1.5),
        Expect("payoff, best of 2", "two.payoff"),
        Expect("payoff, all plays", "all.payoff", high=5.0),
        Expect("gain, best of 8 over all plays", "eight.payoff - all.payoff", low=3.0),
        Expect("gain, best of 8 over best of 2", "eight.payoff - two.payoff", low=0.0),
    ),
)
