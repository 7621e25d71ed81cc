"""Swarm size: what a policy learnt in a swarm loses in a smaller one falls like 1 / N."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained, World, sized
from coevo.envs.societies.swarm import MOVES, Swarm, SwarmConfig, expected

TRAINED, MANY, SIZES, GAMES, UPDATES = 50, 200, (5, 10, 50), 1000, 30
BEACH = SwarmConfig(kind="beach", agents=TRAINED)
EVEN = [1 / len(MOVES)] * len(MOVES)


def _site(prompt: str) -> str:
    """Return all that the table sees of a prompt: the own site."""
    found = re.search(r"at site \d+", prompt)
    assert found is not None  # every prompt says it
    return found.group()


def simulated(
    odds_XLA: np.ndarray, config: SwarmConfig, games: int, seed: int
) -> tuple[float, float]:
    """Return what a seat earns on average in games of a swarm, and its standard error.

    Odds of moves are by the own site, and by how many others seem to be there.
    """
    task, rng, earned = Swarm(config), np.random.default_rng([seed, 1]), []
    for game in range(games):
        task.reset(np.random.default_rng([seed, game]), {})
        while seats := task.to_move():
            odds_NA = odds_XLA[task.at, task.seen[:, 1]]
            passed_NA = rng.random((config.agents, 1)) > np.cumsum(odds_NA, axis=1)
            drawn = passed_NA[:, :-1].sum(axis=1)
            task.play({seat: MOVES[move] for seat, move in zip(seats, drawn, strict=True)})
        earned.append(np.mean(list(task.earned.values())))
    return float(np.mean(earned)), float(np.std(earned) / games**0.5)


def exponent(gaps: Sequence[float]) -> float:
    """Return the power of N in gaps at all sizes, by least squares of the logarithms."""
    return float(np.polyfit(np.log(SIZES), np.log(gaps), 1)[0])


def _measure(end: Trained) -> dict[str, float]:
    learnt = end.learnt()
    odds_XA = np.array(
        [np.asarray(learnt.get(f"at site {x}", EVEN)) for x in range(BEACH.sites)], dtype=float
    )
    odds_XLA = np.repeat(odds_XA[:, None], BEACH.levels, axis=1)
    played = {
        n: simulated(odds_XLA, replace(BEACH, agents=n), GAMES, end.seed) for n in (*SIZES, MANY)
    }
    exact = {n: expected(BEACH, odds_XA, n) for n in played}
    gaps = {n: played[MANY][0] - played[n][0] for n in SIZES}
    return {
        "gain": exact[TRAINED] - expected(BEACH, EVEN),
        "exponent": exponent(list(gaps.values())),
        "off": max(abs(mean - exact[n]) / error for n, (mean, error) in played.items()),
        **{f"gap_{n}": gap for n, gap in gaps.items()},
    }


CLAIM = Claim(
    property="""A policy that is learnt in a swarm of fifty loses in smaller swarms, against one of
        two hundred, in proportion to 1 / N.""",
    source="""Cui et al. 2023, Dec-POMFC, arXiv 2307.06175 (optimality of the mean-field limit for
        finite swarms); reference: closed form, 1 / N - 1 / 200 where moves depend on the own
        site""",
    minutes=5.0,
    on="table",
    setting=f"""`coevo/swarm-v0`, beach, {TRAINED} agents on one table that sees the own site alone;
        `reinforce`, {UPDATES} updates of 8 episodes, steps of Adam of 0.1. Then {GAMES} games
        each with 5, 10, 50 and {MANY} agents.""",
    measured=f"""Exact payoff of a seat at {TRAINED} agents above that of even moves; gaps in what
        seats earn in games to those with {MANY}, and the power of N that fits them; the largest
        difference between games and the closed form, in standard errors.""",
    limits="""The paper's policies see a part of the crowd and its critic reads kernels of the
        distribution; this table sees neither, so that the power follows from a closed form, which
        the games bear out.""",
    chosen="Sizes, the step and the bounds, before anything was run.",
    world=World(
        Swarm.env_id,
        UPDATES,
        {"kind": "beach", "agents": TRAINED},
        lambda seed: sized(BEACH.sites, len(MOVES), sees=_site),
    ),
    changes={**ADAM, "rewards": (), "collect.episodes": 8, "optim.lr": 0.1},
    arms={"learnt": Arm("reinforce")},
    measure=_measure,
    expect=(
        Expect("learnt minus even moves, 50 agents", "learnt.gain", low=0.5),
        *(Expect(f"{n} agents: gap to {MANY}", f"learnt.gap_{n}") for n in SIZES),
        Expect(
            "power of N",
            "learnt.exponent",
            exponent([1 / n - 1 / MANY for n in SIZES]),
            low=-1.3,
            high=-0.7,
        ),
        Expect("largest difference to the closed form, in errors", "learnt.off", high=3.0),
    ),
)
