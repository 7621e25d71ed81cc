"""Deep GA: seeds of mutations solve Tiny Hanabi better than the same number of random tables."""

from coevo.agents.population import Shared
from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World, sized

ENV, ROWS, MOVES = "coevo/tiny_hanabi-v0", 8, 3
MEMBERS, GENERATIONS, TASKS = 16, 20, 8
STEP = {"cycle.sample_generation.by.sigma": 0.5, "cycle.sample_generation.by.rate": 0.5}


def _measure(end: Trained) -> dict[str, float]:
    policy = end.policy()
    return {"payoff": exact_payoffs(policy, policy, ENV, {"prompt_style": "terse"})[0]}


CLAIM = Claim(
    property="""A genetic algorithm over all weights, whose genomes are lists of seeds, does better
        than random search with the same number of episodes.""",
    source="""Such et al. 2017, Deep Neuroevolution, arXiv 1712.06567 (GA beside evolution
        strategies and random search)""",
    minutes=3.0,
    on="table",
    setting="""`coevo/tiny_hanabi-v0`, a table of 8 prompts for both seats. `deep_ga`: 20
        generations of 16 members, each of which plays the same 8 deals; the 4 best are parents.
        Random search draws as many members in one generation. `essa:plain_es` moves the table by a
        plain evolution strategy.""",
    measured="""The exact payoff of the policy with itself: uniform play gets 3.72, the best without
        signals 8, the optimum 10.""",
    chosen="Sizes and steps, before the figures were seen.",
    world=World(ENV, GENERATIONS, maker=lambda seed: sized(ROWS, MOVES)),
    changes={"population": Shared(), "collect.group_size": MEMBERS},
    arms={
        "ga": Arm("deep_ga", {"collect.episodes": MEMBERS * TASKS}),
        "random": Arm(
            "deep_ga",
            {
                "collect.group_size": MEMBERS * GENERATIONS,
                "collect.episodes": MEMBERS * GENERATIONS * TASKS,
            },
            steps=1,
        ),
        "es": Arm("essa:plain_es", {"collect.episodes": MEMBERS * TASKS, **STEP}),
    },
    measure=_measure,
    expect=(
        Expect("deep_ga", "ga.payoff"),
        Expect("random search", "random.payoff"),
        Expect("plain evolution strategy", "es.payoff"),
        Expect("deep_ga minus random search", "ga.payoff - random.payoff", low=0.2),
    ),
)
