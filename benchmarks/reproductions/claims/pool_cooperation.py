"""Learners who may meet a player that answers in kind cooperate with one another, and else not."""

from statistics import fmean
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World, sized
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV, GAME, EPISODES, OTHERS = "coevo/iterated_game-v0", {"rounds": 5}, 200, 32


def _measure(end: Trained) -> dict[str, float]:
    players: dict[str, Agent] = {name: end.policy(name) for name in end.run.learners}
    players["always_d"] = load_agent("always_d")
    found = {}
    for name, other in (("together", "policy_1"), ("defector", "always_d")):
        seated = {"player_0": "policy_0", "player_1": other}
        specs = [EpisodeSpec(90_000 + i, seated) for i in range(EPISODES)]
        options: dict[str, Any] = {"prompt_style": "terse", **GAME}
        played = rollout(ENV, specs, players, options)
        found[name] = fmean(e.outcome["cooperation/player_0"] for e in played)
    return found | _extortion(players)


def _extortion(players: dict[str, Agent]) -> dict[str, float]:
    """Return what the first learner earns over held-out memory-one players, and how they compare.

    Who extorts earns more than the other, and all the more the more the other earns: the slope of
    its payoffs over those of the others is above 0.
    """
    held_out = [f"memory_one:{number}" for number in range(1000, 1000 + OTHERS)]
    own, other = [], []
    for place, name in enumerate(held_out):
        known = {**players, name: load_agent(name)}
        seated = {"player_0": "policy_0", "player_1": name}
        specs = [EpisodeSpec(95_000 + 8 * place + k, seated) for k in range(8)]
        played = rollout(ENV, specs, known, {"prompt_style": "terse", **GAME})
        own.append(fmean(e.outcome["mean_payoff/player_0"] for e in played))
        other.append(fmean(e.outcome["mean_payoff/player_1"] for e in played))
    slope = np.polyfit(other, own, 1)[0]
    return {"surplus": fmean(own) - fmean(other), "slope": float(slope)}


CLAIM = Claim(
    property="""Learners whose pool has players that answer in kind, and who are not told whom they
        meet, cooperate with one another and not with a defector; among learners alone they
        defect.""",
    source="""Weis et al. 2026, in-context co-player inference, arXiv 2602.16301 (mixed pool against
        learners only); pool, size and bounds are ours""",
    minutes=6.0,
    on="table",
    setting="""The repeated prisoner's dilemma over 5 rounds, tables that see the round and the last
        joint choice, not whom they play. `mixed_pool`: half of the episodes against learners, half
        against always_d, tit-for-tat, generous tit-for-tat and grim; 256 episodes in each of 50
        updates. Control: `learners_only`, the same learners and no other players.""",
    theory="""A player who may face one that answers in kind earns more by cooperating until near
        the end (Kreps, Milgrom, Roberts, Wilson 1982). By exact gradients, which we followed
        outside of the loop, learners cooperated in all rounds but the last one or two, from two
        starts of each size and pool (0.58 to 0.72 of 4 and 5 rounds); among themselves in none.""",
    measured="""200 episodes between the two learners, and as many of the first against always_d:
        what is learnt is an answer to what is played, not a habit.""",
    limits="""Pools with win-stay-lose-shift or always_c, which are better exploited, are left to
        chance: with all six exact gradients ended between 0.01 and 0.7, and this loop between 0.005
        and 0.31. The source draws memory-one players at random, plays 100 rounds with recurrent
        nets, and explains cooperation by mutual extortion; nothing of that is shown.""",
    chosen="""Pool, rounds, entropy (0.1) and sizes on a simulation of sampled gradients outside of
        the loop (0.53 to 0.57 in three draws of 60 updates). A first size, 4 rounds and 128
        episodes in 40 updates with entropy 0.03, gave 0.28, 0.27, 0.34 against 0.00, and 0.05 of
        the difference to always_d, where the bound had been set.""",
    note="mean over all rounds; in the last no player has a reason to cooperate",
    world=World(ENV, 50, GAME, lambda seed: sized(64, 2), {"threads": 1}),
    changes={
        "collect.episodes": 256,
        "loss.regularise.entropy.coef": 0.1,
        "critic.lr": 0.2,
        "optim.lr": 0.15,
        "optim.warmup": 0,
    },
    arms={"pool": Arm("mixed_pool"), "alone": Arm("mixed_pool:learners_only")},
    measure=_measure,
    expect=(
        Expect("cooperation of learners, mixed pool", "pool.together"),
        Expect("cooperation of learners, learners only", "alone.together", 0.0, high=0.1),
        Expect("gain", "pool.together - alone.together", low=0.1),
        Expect("mixed pool, against always_d", "pool.defector"),
        Expect("fall against it", "pool.together - pool.defector", low=0.05),
    ),
)
