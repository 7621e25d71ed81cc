"""Learners in a pool: random memory-one players teach them to defect, chosen ones to cooperate."""

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
    property="""Learners who half of the time meet memory-one players drawn at random, and are not
        told whom they meet, come to defect with one another, as learners alone do; with players
        that were chosen because they answer in kind they cooperate.""",
    source="""Weis et al. 2026, in-context co-player inference, arXiv 2602.16301, whose learners
        cooperate by mutual extortion: that is not reproduced; sizes and bounds are ours""",
    minutes=12.0,
    on="table",
    setting="""The repeated prisoner's dilemma over 5 rounds, tables that see the round and the last
        joint choice, not whom they play; two learners, 256 episodes in each of 50 updates.
        `mixed_pool`: half of the episodes against one of 64 memory-one players, five even
        probabilities each; `decided`: the same from Beta(0.1, 0.1); `strategies`: always_d,
        tit-for-tat, generous tit-for-tat and grim; `learners_only`: no other players.""",
    theory="""Against even probabilities always to defect earns nearly what the best reply earns
        that knows the player. One who may face a player that answers in kind earns more by
        cooperating until near the end (Kreps, Milgrom, Roberts, Wilson 1982).""",
    measured="""Cooperation in 200 episodes between the learners, and of the first against always_d;
        mutual extortion: what the first learner earns in a round over 32 held-out memory-one
        players, and the slope of its payoffs over theirs.""",
    limits="""A negative result at this size: tables recall one round, the source's recurrent nets
        100. Extortion in its sense, a second learner that shapes a frozen first one, is not
        trained; a surplus over held-out players with a slope at or below 0 is exploitation.""",
    chosen="""Entropy and sizes, for the players that were chosen by hand, before random ones were
        tried. That random ones lead to defection was seen with one seed (0.03) before the bounds
        were set.""",
    note="mean over all rounds; in the last no player has a reason to cooperate",
    world=World(ENV, 50, GAME, lambda seed: sized(64, 2), {"threads": 1}),
    changes={
        "collect.episodes": 256,
        "loss.regularise.entropy.coef": 0.1,
        "critic.lr": 0.2,
        "optim.lr": 0.15,
        "optim.warmup": 0,
    },
    arms={
        "pool": Arm("mixed_pool"),
        "decided": Arm("mixed_pool:decided"),
        "strategies": Arm("mixed_pool:strategies"),
        "alone": Arm("mixed_pool:learners_only"),
    },
    measure=_measure,
    expect=(
        Expect("cooperation of learners, random players", "pool.together", high=0.15),
        Expect("cooperation of learners, decided players", "decided.together"),
        Expect("cooperation of learners, strategies", "strategies.together"),
        Expect("cooperation of learners, learners only", "alone.together", 0.0, high=0.1),
        Expect("strategies minus random players", "strategies.together - pool.together", low=0.1),
        Expect("strategies: fall against always_d", "strategies.together - strategies.defector"),
        Expect("random players: surplus", "pool.surplus"),
        Expect("random players: slope", "pool.slope"),
        Expect("decided players: surplus", "decided.surplus"),
        Expect("decided players: slope", "decided.slope"),
        Expect("strategies: surplus", "strategies.surplus"),
        Expect("strategies: slope", "strategies.slope"),
    ),
)
