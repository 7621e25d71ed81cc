"""rStar: a search over steps solves what chance does not, and a policy learns from its traces."""

from coevo.agents.agent import Agent
from coevo.agents.registry import scripted
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.rollouts import play, task_seeds
from coevo.envs.games.make24 import Make24, by_chance, deals
from coevo.trainers.collect.rollout import EpisodeSpec

DEALS, ROUNDS, PLAYED = 8, 3, 48
OPTIONS = {"deals": DEALS, "prompt_style": "terse"}


def _solved(agent: Agent, games: int = PLAYED) -> float:
    specs = [EpisodeSpec(s, {"solver_0": "agent"}) for s in task_seeds(games, 0)]
    episodes = play(Make24.env_id, specs, {"agent": agent}, OPTIONS).episodes
    return sum(e.outcome["solved"] for e in episodes) / len(episodes)


def _searches(seed: int) -> dict[str, float]:
    found = {f"mcts{n}": _solved(scripted(f"mcts:{n}"), 24) for n in (8, 48)}
    return found | {"chance": sum(map(by_chance, deals()[:DEALS])) / DEALS}


def _measure(end: Trained) -> dict[str, float]:
    policy = end.policy()
    return {"greedy": _solved(policy.greedy("greedy")), "sampled": _solved(policy)}


CLAIM = Claim(
    property="""A tree search over steps solves problems that random steps hardly ever solve, more
        of them with more expansions, and a policy that imitates its successful traces solves them
        without a search; traces of random play teach less.""",
    source="""Guan et al. 2025, rStar-Math, arXiv 2501.04519 (search traces, trained in rounds);
        chance is exact; bounds are ours""",
    minutes=6.0,
    on="table",
    setting=f"""`coevo/make24-v0` with {DEALS} deals. `rstar` and its control `unsearched`, a table:
        {ROUNDS} rounds of 48 plays of the demonstrator, 20 steps of Adam with .3 on those that
        succeed.""",
    measured="Share of solved plays: of the searches, and of the policy, greedily and sampled.",
    chosen="Sizes; bounds before anything was run.",
    limits="Nothing learnt enters the search, and a table solves no other deal.",
    world=World(Make24.env_id, ROUNDS, {"deals": DEALS}, lambda seed: sized(2048, 30)),
    changes={
        **PLAIN,
        "collect.episodes": 48,
        "optim.optimiser": "adamw",
        "optim.lr": 0.3,
        "optim.epochs": 20,
    },
    arms={
        "search": Once(_searches),
        "rstar": Arm("rstar"),
        "unsearched": Arm("rstar:unsearched"),
    },
    measure=_measure,
    expect=(
        Expect("solved by chance", "search.chance"),
        Expect("solved by a search of 8 expansions", "search.mcts8"),
        Expect("solved by a search of 48 expansions", "search.mcts48"),
        Expect("gain by expansions", "search.mcts48 - search.mcts8", low=0.05),
        Expect("policy after the rounds, greedy", "rstar.greedy"),
        Expect("policy after the rounds, sampled", "rstar.sampled"),
        Expect("policy of random traces, greedy", "unsearched.greedy"),
        Expect("gain by the search", "rstar.greedy - unsearched.greedy", low=0.1),
    ),
)
