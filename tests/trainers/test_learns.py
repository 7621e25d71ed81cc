"""Every algorithm learns the dominant move of the prisoner's dilemma from random weights.

Whoever credits a seat with the other's payoff learns to cooperate instead.
"""

import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.population import Shared
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.trainers import loop
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.components import BatchMean, WeightedSum
from coevo.trainers.samplers.selection import KeepAll
from coevo.trainers.steps import POLICY_GRADIENT

DILEMMA = {"game": "matrix_pd", "prompt_style": "terse"}


TASK = {
    "archer": {"advantage.baseline": BatchMean(), "critic.passes": 60},
    "bnpo": {"advantage.normalise.low": 0.0, "advantage.normalise.high": 10.0},
    "comas": {"population": Shared()},  # one policy is looked at
    "dapo": {"collect.select": KeepAll()},  # once the move is learnt no group differs any more
    "polychromic": {
        "advantage.transform.share_set.low": 0.0,
        "advantage.transform.share_set.high": 10.0,
    },
    "ssl": {"advantage.compose": WeightedSum()},  # grades answers, which a game does not
    # one policy is asked here for both seats; steps of its own size belong to another learning rate
    "mac_spgg": {"population": Shared(), "optim.epochs": 1, "optim.minibatches": 1},
    "cory": {"population": Shared(), "optim.epochs": 1},
    **{name: {"advantage.reward_weights": {}} for name in ("cooper", "spark")},
    # random weights give no verdict that can be read, and turns without one are left out
    "urpo": {"advantage.reward_weights": {}, "rewards": ()},
    "mixed_pool": {"population": Shared()},  # its members play the repeated game alone
    # a policy that has learnt the move is thrown back now and then by batches of 32
    "mpo": {"advantage.reward_weights": {}, "rewards": (), "collect.episodes": 64},
    # over batches of many policies, what both seats came to do passes for what a move pays
    "spa": {"rewards.progress.decay": 0.0},
    # a game has no answers to vote on
    "rlccf": {"population": Shared(), "rewards": (), "advantage.reward_weights": {}},
    "comam": {"advantage.compose": WeightedSum(), "population": Shared()},  # nor grades of seats
    # a team is paid once, and here each seat is paid
    "marft": {"population": Shared(), "advantage.credit.level": "turn"},
    # nor what a single action costs
    "mashost": {"advantage.transform": (), "advantage.reward_weights": {}, "schedules": {}},
    # nor does it say what a user gets
    "gtalign": {"rewards": (), "advantage.reward_weights": {}},
    # nor replies that are judged, or texts of users and policies
    **{
        name: {"rewards": (), "advantage.reward_weights": {}, "collect.component": "payoff"}
        for name in ("arena_rl", "c2", "co_reward", "ettrl", "evol_rl", "polar", "vpl")
    },
    "oni": {"rewards": (), "advantage.reward_weights": {}},
    # a game has no levels of difficulty
    **{name: {"collect.up_to": None, "schedules": {}} for name in ("craft_gui", "qwen_long")},
    "mra": {"collect.up_to": None, "cycle": POLICY_GRADIENT},  # one game needs no plans
    "scaler": {"collect.curriculum": "drawn"},
    # nor modes or solutions
    "a2fm": {"collect.forced": None, "rewards": ()},
    "seele": {"collect.hint": None},
    # nobody designs what is played here
    "paired": {"population": Shared(), "rewards": (), "optim.epochs": 1},
    "theta_evolve": {"cycle": POLICY_GRADIENT},  # nor programs
    "two_level": {"population": Shared()},
    # edges stay, and half of the replies are given without parents
    "bn_ac": {"population": Shared(), "cycle.show_parents.chance": 0.5, "schedules": {}},
    # nobody judges steps here; a payoff is not compared between the prompts of both seats
    "seagent": {"advantage.reward_weights": {}, "cycle.make_items.to.below": -1.0},
}
"""What an algorithm has to be told about this task."""


def odds(agent):
    """Return the probability of Defect in both seats."""
    env = make("coevo/openspiel-v0", **DILEMMA)
    env.reset(seed=0)
    asked = [
        Request(seat, env.chat(seat), env.infos[seat], np.random.default_rng(0))
        for seat in env.possible_agents
    ]
    legal = [r.info["legal_actions"].index("Defect") for r in asked]
    return [p[i] for p, i in zip(agent.probabilities(asked), legal, strict=True)]


GENOMES = {"deep_ga", "essa", "map_elites", "novelty_search"}
VALUES = {"iql", "vdn", "qmix", "mansa"}
ANOTHER_AIM = (
    GENOMES
    | VALUES
    | {
        "agent_evol",
        "chain_of_agents",
        "barfi",
        "cultural_evolution",
        "derl",
        "drq",
        "evocua",
        "language_evolution",
        "llm_ge",
        "mamql",
        "on_policy_distillation",
        "policy_synthesis",
        "rstar",
        "sft",
        "value_augmented",
    }
)
"""A generation is judged by what a whole member earns, in both seats; formulas and reward weights
by inner runs; where texts or programs evolve or a critic alone learns no weight of the policy
moves; a student follows its teacher, an imitator whom it imitates. Values of moves are no odds:
`test_values`."""


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - ANOTHER_AIM))
def test_the_dominant_move_is_learnt(config, folder, name):
    group = ALGORITHMS[name].collect.group_size
    changes = {"collect.episodes": -(-32 // group) * group, "optim.lr": 0.01, "optim.warmup": 1}
    if ALGORITHMS[name].critic is not None:
        changes["critic.lr"] = 0.05
    changes |= TASK.get(name, {})
    given = config(
        name,
        changes,
        env="coevo/openspiel-v0",
        env_options=DILEMMA,
        sampling=SamplingConfig(guided="choice", max_new_tokens=24),
        steps=40,
        checkpoint_every=1000,
    )
    made = folder(given)
    run = loop.start(given, made)
    policy = run.policies()["policy"]
    assert max(odds(policy)) < 0.7
    # Credit for sets pays for keeping several moves alive.
    wanted = 0.6 if name == "polychromic" else 0.9
    for _ in loop.updates(run):
        if run.progress.step % 5 == 0 and min(odds(policy)) > wanted:
            break
    assert min(odds(policy)) > wanted
