"""GROOVE: levels for a learned rule, chosen by what another algorithm gains over it.

Levels are bandits; a rule is two numbers, the step size of a policy gradient and the weight of its
entropy, which an evolution strategy finds. Nothing else learns from level to level.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.trainers.archive.evolution import Antithetic

Floats = NDArray[np.float64]
ARMS, RUNS, LEVELS, BUFFER, MEMBERS, GENERATIONS = 10, 16, 8, 64, 16, 60
START, RIVAL = (-3.0, -3.0), (-1.0, -4.0)
"""Logarithms of the step size and of the weight of the entropy: of the rule at first, and of the
algorithm that it is compared with."""
REPLAY = 0.5
"""Share of the levels that are played again."""


class Bandits(NamedTuple):
    """Levels: mean rewards of the arms, deviation of a reward, pulls of a run."""

    pay_LA: Floats
    noise_L: Floats
    pulls_L: NDArray[np.int64]

    def at(self, place_L: NDArray[np.int64]) -> Self:
        return self._replace(**{k: v[place_L] for k, v in self._asdict().items()})

    def and_also(self, other: Self) -> Self:
        both = zip(self._fields, self, other, strict=True)
        return self._replace(**{k: np.concatenate([a, b]) for k, a, b in both})


SPREAD = ((0.02, 2.0), (0.1, 2.0))
"""Of the deviations between arms, and of a reward."""


def drawn(count: int, rng: np.random.Generator) -> Bandits:
    """Draw levels to train on: in some of them there is much to gain, in most next to nothing."""
    scale_L, noise_L = (np.exp(rng.uniform(np.log(a), np.log(b), count)) for a, b in SPREAD)
    pay_LA = scale_L[:, None] * rng.normal(size=(count, ARMS))
    return Bandits(pay_LA, noise_L, rng.integers(10, 101, count))


def held_out(seed: int, count: int = 256) -> dict[str, Bandits]:
    """Draw levels of kinds that no rule was evolved on."""
    rng = np.random.default_rng([seed, 2])

    def all_of(pay_LA: Floats, noise: float, pulls: int) -> Bandits:
        return Bandits(pay_LA, np.full(count, noise), np.full(count, pulls))

    return {
        "even": all_of(rng.random((count, ARMS)), 0.5, 100),
        "one": all_of(np.eye(ARMS)[rng.integers(ARMS, size=count)], 0.5, 100),
        "long": all_of(rng.normal(size=(count, ARMS)), 1.0, 200),
    }


def earned(rules_M2: Floats, levels: Bandits, rng: np.random.Generator, runs: int = RUNS) -> Floats:
    """Return the mean reward of a pull under every rule in every level, [M, L]."""
    pay_LA, noise_L, pulls_L = levels
    rate_M111, weight_M111 = np.exp(rules_M2).T[:, :, None, None, None]
    shape = (len(rules_M2), len(pay_LA), runs)
    logits_MLRA, mean_MLR = np.zeros((*shape, pay_LA.shape[1])), np.zeros(shape)
    total_ML = np.zeros(shape[:2])
    for pull in range(int(pulls_L.max())):
        p_MLRA = np.exp(logits_MLRA - logits_MLRA.max(-1, keepdims=True))
        p_MLRA /= p_MLRA.sum(-1, keepdims=True)
        lot_LR1 = rng.random((*shape[1:], 1))
        arm_MLR = (p_MLRA.cumsum(-1) < lot_LR1).sum(-1).clip(max=pay_LA.shape[1] - 1)
        paid_MLR = pay_LA[np.arange(len(pay_LA))[:, None], arm_MLR]
        total_ML += np.where(pull < pulls_L, paid_MLR.mean(-1), 0.0)
        seen_MLR = paid_MLR + noise_L[:, None] * rng.normal(size=shape[1:])
        took_MLRA = np.eye(pay_LA.shape[1])[arm_MLR]
        logp_MLRA = np.log(p_MLRA + 1e-12)
        entropy_MLR1 = -(p_MLRA * logp_MLRA).sum(-1, keepdims=True)
        step_MLRA = (seen_MLR - mean_MLR)[..., None] * (took_MLRA - p_MLRA)
        step_MLRA -= weight_M111 * p_MLRA * (logp_MLRA + entropy_MLR1)
        logits_MLRA += rate_M111 * step_MLRA
        mean_MLR += (seen_MLR - mean_MLR) / (pull + 1)
    return total_ML / pulls_L


By = Literal["uniform", "rival", "best"]
KINDS = {"even": "even", "one": "one in ten", "long": "long", "mean": "all kinds"}
LABELS = {"uniform": "evenly", "rival": "regret to a rival", "best": "regret to the best arm"}


def regret(by: By, rule_12: Floats, levels: Bandits, rng: np.random.Generator) -> Floats:
    """Return by how much a rule falls short in every level: of a rival, or of the best arm."""
    both = earned(np.concatenate([np.array([RIVAL]), rule_12]), levels, rng)
    best_L = levels.pay_LA.max(1) if by == "best" else both[0]
    short_L: Floats = best_L - both[1]
    return short_L


def by_rank(score_N: Floats, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw places with probability 1 / rank (prioritised level replay), the highest score first."""
    if not count:
        return np.zeros(0, dtype=np.int64)
    weight_N = 1 / np.arange(1, len(score_N) + 1)
    at_N = np.argsort(-score_N, kind="stable")
    return rng.choice(at_N, size=count, replace=False, p=weight_N / weight_N.sum())


def evolved(by: By) -> Callable[[int], Mapping[str, float]]:
    """Return what evolves a rule on levels that are chosen in a way, and measures it on others."""

    def measure(seed: int) -> Mapping[str, float]:
        rng, draw = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
        strategy = Antithetic(sigma=0.3, rate=0.3)
        state = strategy.begin(torch.tensor(START, dtype=torch.float64))
        known, score_N = drawn(0, rng), np.zeros(0)
        for _ in range(GENERATIONS):
            again = int(REPLAY * LEVELS) if len(score_N) and by != "uniform" else 0
            at_K = by_rank(score_N, again, rng)
            levels = known.at(at_K).and_also(drawn(LEVELS - again, rng))
            if by != "uniform":
                new_L = regret(by, state["mean_D"].numpy()[None], levels, rng)
                rest_N = np.setdiff1d(np.arange(len(score_N)), at_K)
                known, score_N = (
                    known.at(rest_N).and_also(levels),
                    np.append(score_N[rest_N], new_L),
                )
                kept_N = np.argsort(-score_N, kind="stable")[:BUFFER]
                known, score_N = known.at(kept_N), score_N[kept_N]
            x_MD = strategy.ask(state, MEMBERS, draw)
            mean_M = earned(x_MD.numpy(), levels, rng).mean(1)
            state = strategy.tell(state, x_MD, torch.tensor(mean_M))
        rule_12 = state["mean_D"].numpy()[None]
        share = {kind: _share(rule_12, one, seed) for kind, one in held_out(seed).items()}
        return {**share, "mean": float(np.mean(list(share.values()))), "rate": rule_12[0, 0]}

    return measure


def _share(rule_12: Floats, levels: Bandits, seed: int) -> float:
    """Return what a rule earns, as a share of what the best arms pay."""
    paid_ML = earned(rule_12, levels, np.random.default_rng([seed, 1]))
    return float(paid_ML.mean() / levels.pay_LA.max(1).mean())


CLAIM = Claim(
    property="""A rule that is evolved on levels where another algorithm earns more than it does
        earns no less on levels of other kinds than one that is evolved on levels drawn evenly.""",
    source="""Jackson et al. 2023, Discovering General Reinforcement Learning Algorithms with
        Adversarial Environment Design (GROOVE), arXiv 2310.02782 (algorithmic regret; a network as
        the rule, gains on unseen tasks); bounds are ours""",
    minutes=3.0,
    on="formula",
    setting=f"""A rule is two numbers, the step size of a policy gradient with a running mean as
        baseline and the weight of its entropy. Levels are Gaussian bandits with {ARMS} arms, 10 to
        100 pulls, and deviations between arms and of a reward drawn from .02 to 2 and .1 to 2:
        in many there is next to nothing to learn. {GENERATIONS} generations of {MEMBERS} rules on
        {LEVELS} levels; half of these are played again, drawn by 1 / rank from the {BUFFER} with
        the highest regret (prioritised level replay): what the same policy gradient with fixed
        numbers, or the best arm, earns over the rule.""",
    measured="""Mean reward over that of the best arms, in 256 levels each of three kinds: arms that
        pay evenly from 0 to 1, one arm in ten that pays, and 200 pulls of normal ones.""",
    chosen="""All sizes and the rival's numbers before anything was run. One defect was mended
        after a look at one seed: scores of levels that are played again were kept beside the new
        ones.""",
    limits="""Two numbers stand in the place of the network, and the rival is the same algorithm
        with other numbers, not an actor-critic.""",
    arms={"uniform": evolved("uniform"), "rival": evolved("rival"), "best": evolved("best")},
    expect=(
        *(
            Expect(f"{kind}, {label}", f"{arm}.{of}")
            for of, kind in KINDS.items()
            for arm, label in LABELS.items()
        ),
        *(Expect(f"log step size, {label}", f"{arm}.rate") for arm, label in LABELS.items()),
        Expect("all kinds, regret to a rival over evenly", "rival.mean - uniform.mean", low=0.0),
        Expect("all kinds, regret to the best over evenly", "best.mean - uniform.mean"),
    ),
)
