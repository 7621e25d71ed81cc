"""Allocate: how often every start of an update is played, so that the plays tell more.

Every option has the form `(stats, total, rng, *, options) -> plays_P`: integers that sum to
`total`. Ties are broken by `rng`, so that no start is favoured for its place in the list.
Groups of different sizes weigh starts differently in a mean over rows;
`coevo.trainers.samplers.plays.play_weights` undoes it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.option import Option, Table, check, check_range, defaults
from coevo.trainers.samplers.plays import evenly, greedy, in_proportion, minimum
from coevo.trainers.samplers.starts import Floats, Ints, StartHistory, StartStats


def uniform(stats: StartStats, total: int, rng: np.random.Generator, *, n_min: int = 1) -> Ints:
    """Play every start equally often; a remainder goes to starts drawn at random.

    >>> uniform(StartStats.unseen(3), 12, np.random.default_rng(0)).tolist()
    [4, 4, 4]
    """
    plays_P = minimum(len(stats), total, n_min)
    return evenly(plays_P, np.arange(len(stats)), total - int(plays_P.sum()), rng)


def knapsack(
    stats: StartStats,
    total: int,
    rng: np.random.Generator,
    *,
    n_min: int = 2,
    n_max: int = 128,
    estimate: Literal["last", "all"] = "last",
    unseen: float = 0.5,
) -> Ints:
    """Maximise the sum of `knapsack_value` over the starts (Knapsack RL, arXiv 2509.25849).

    The value is concave in n, so giving the next play to the largest marginal gain is exact. The
    released dynamic program is not: it values "no further play" at 0 where the table holds the
    value of the minimum, which forces a further play on every start: (14, 7, 3) below.
    Plays beyond the sum of `knapsack_cost`, at least n_min each, go to the starts with p = 0.

    Args:
        stats: outcomes so far.
        total: plays to give out.
        rng: breaks ties.
        n_min: plays of every start, hopeless and solved ones included.
        n_max: most plays of one start.
        estimate: p is the mean of the `last` visit, as published, or of `all` counted outcomes.
        unseen: p of a start that was not played yet (ours).

    >>> stats = StartStats.of_rates([0.1, 0.5, 0.9])
    >>> knapsack(stats, 24, np.random.default_rng(0)).tolist()
    [15, 7, 2]
    """
    check_range("unseen", unseen, 0.0, 1.0)
    plays_P = minimum(len(stats), total, n_min, n_max)
    p_P = _rates(stats, estimate, unseen)
    hopeless_K = np.flatnonzero(p_P == 0)
    needed_P = np.where((p_P > 0) & (p_P < 1), np.ceil(knapsack_cost(p_P)), n_min)
    left = max(total - int(needed_P.clip(n_min, n_max).sum()), 0) if len(hopeless_K) else 0
    plays_P = evenly(plays_P, hopeless_K, left, rng, n_max)

    def gain(start: int, n: int) -> float:
        p = float(p_P[start])
        return p * (1 - p) ** 2 * (p**n * (1 - p) + (1 - p) ** n * p)

    return greedy(gain, plays_P, total, n_max, rng)


def knapsack_value(p: ArrayLike, n: ArrayLike) -> Floats:
    """Value n plays of a start with success rate p: (1 - p^n - (1-p)^n) p (1-p)^2.

    The chance that the plays differ, times how much p can gain from a step.

    >>> knapsack_value([0.1, 0.5], 8).round(4).tolist()
    [0.0461, 0.124]
    """
    p, n = np.asarray(p, dtype=np.float64), np.asarray(n)
    return np.asarray((1 - p**n - (1 - p) ** n) * p * (1 - p) ** 2)


def knapsack_cost(p: ArrayLike) -> Floats:
    """Estimate the plays until outcomes differ with chance 0.9: log 0.1 / log max(p, 1-p).

    >>> knapsack_cost([0.5, 0.1, 0.0]).round(2).tolist()
    [3.32, 21.85, inf]
    """
    p = np.asarray(p, dtype=np.float64)
    same = np.log(np.maximum(p, 1 - p))
    never = same == 0
    return np.where(never, np.inf, np.log(0.1) / np.where(never, -1.0, same))


def xrpo(
    stats: StartStats,
    total: int,
    rng: np.random.Generator,
    *,
    n_min: int = 1,
    n_max: int = 128,
    explore: float = 0.01,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Ints:
    """Play where the success rate is least known: uncertainty that goes, plus exploration.

    The idea is XRPO's (arXiv 2510.06672); both forms are ours, since the published ones could not
    be read. With a posterior Beta(a, b), c = a + b, variance v = ab / (c^2 (c + 1)), the expected
    variance after n plays is v c / (c + n), and u(n) its root. The n-th play of a start earns
        u(n-1) - u(n) + explore * sqrt(log(1 + T) / (N + n)),
    N the start's outcomes so far and T those of all starts. Both parts fall with n, so that
    giving the next play to the best offer is exact. XRPO's worked examples in the prompt of
    starts without a success are not part of this slot.

    Args:
        stats: outcomes so far.
        total: plays to give out.
        rng: breaks ties.
        n_min: plays of every start.
        n_max: most plays of one start.
        explore: weight of the exploration bonus.
        alpha: successes of the prior.
        beta: failures of the prior.

    >>> stats = StartStats(np.array([4.0, 50.0]), np.array([8.0, 100.0]), [0.5, 0.5], [1, 9])
    >>> xrpo(stats, 16, np.random.default_rng(0)).tolist()
    [15, 1]
    """
    _check_prior(alpha, beta)
    check_range("explore", explore, 0.0, float("inf"))
    plays_P = minimum(len(stats), total, n_min, n_max)
    a_P, b_P = alpha + stats.successes_P, beta + stats.trials_P - stats.successes_P
    c_P = a_P + b_P
    scale_P = np.sqrt(a_P * b_P / (c_P * (c_P + 1)))
    seen = np.log1p(stats.trials_P.sum())

    def gain(start: int, n: int) -> float:
        c, known = float(c_P[start]), float(stats.trials_P[start])
        shrink = (c + n) ** -0.5 - (c + n + 1) ** -0.5
        return float(scale_P[start]) * shrink + explore * float(seen / (known + n + 1)) ** 0.5

    return greedy(gain, plays_P, total, n_max, rng)


def vade(
    stats: StartStats,
    total: int,
    rng: np.random.Generator,
    *,
    lam_v: float = 0.8,
    lam_g: float = 0.99,
    alpha: float = 1.0,
    beta: float = 1.0,
    group: int = 8,
    score: Literal["variance", "mixed"] = "variance",
    spread: Literal["pick", "share"] = "pick",
    n_min: int = 0,
) -> Ints:
    """Draw a success rate from every start's posterior and play what it makes informative.

    theta ~ Beta(alpha + s, beta + n - s), s of n outcomes as `history_of` lets them fade (VADE,
    arXiv 2511.18902, of which only the idea is public; form and values are ours). `pick` gives
    the best starts `group` plays each until none are left, so it needs more starts than
    total / group. Both scores rank alike, since both fall with |theta - 1/2|; they differ under
    `share`, which gives plays in proportion to the score.

    Args:
        stats: outcomes so far.
        total: plays to give out.
        rng: draws theta.
        lam_v: what a visit leaves of a start's older evidence; read by `history_of`.
        lam_g: what every update leaves of all evidence; read by `history_of`.
        alpha: successes of the prior.
        beta: failures of the prior.
        group: plays of a start that is picked, G in the score.
        score: `variance` theta (1-theta), or the chance of a `mixed` group,
            1 - theta^G - (1-theta)^G.
        spread: `pick` the best, or `share` by score.
        n_min: plays of every start; with 0 what is not picked is not played.

    >>> stats = StartStats([400.0, 500.0, 1.0], [800.0, 500.0, 900.0], [0.5, 1.0, 0.0], [1, 1, 1])
    >>> vade(stats, 8, np.random.default_rng(0)).tolist()
    [8, 0, 0]
    """
    _check_prior(alpha, beta)
    check_range("lam_v", lam_v, 0.0, 1.0)
    check_range("lam_g", lam_g, 0.0, 1.0)
    if group < max(n_min, 2):
        raise ConfigError(f"group={group} must be at least 2 and at least n_min={n_min}")
    plays_P = minimum(len(stats), total, n_min)
    theta_P = rng.beta(alpha + stats.successes_P, beta + stats.trials_P - stats.successes_P)
    power = 2 if score == "variance" else group  # 1 - t^2 - (1-t)^2 is twice t (1-t)
    score_P = 1 - theta_P**power - (1 - theta_P) ** power
    if spread == "share":
        return in_proportion(plays_P, score_P, total)
    best_P = np.argsort(-score_P, kind="stable")
    left = total - int(plays_P.sum())
    before_P = np.arange(len(stats)) * (group - n_min)
    plays_P[best_P] += (left - before_P).clip(0, group - n_min)
    return evenly(plays_P, best_P, total - int(plays_P.sum()), rng)


ALLOCATE: Table = {"uniform": uniform, "knapsack": knapsack, "xrpo": xrpo, "vade": vade}


def history_of(option: Option, size: int, *, low: float = 0.0, high: float = 1.0) -> StartHistory:
    """Make the history that an allocator expects: VADE's forgets, the others count.

    >>> history_of(Option("vade", {"lam_g": 0.5}), 3).lam_g
    0.5
    """
    check(option, ALLOCATE, "allocate")
    known = defaults(option, ALLOCATE)
    fading = {name: known[name] for name in ("lam_v", "lam_g") if name in known}
    return StartHistory(size, low=low, high=high, **fading)  # type: ignore[arg-type]


def _check_prior(alpha: float, beta: float) -> None:
    if not (alpha > 0 and beta > 0):
        raise ConfigError(f"alpha={alpha} and beta={beta} of the prior must be above 0")


def _rates(stats: StartStats, estimate: str, unseen: float) -> Floats:
    if estimate == "last":
        return np.where(np.isnan(stats.last_mean_P), unseen, stats.last_mean_P)
    counted_P = stats.trials_P > 0
    mean_P = stats.successes_P / np.where(counted_P, stats.trials_P, 1.0)
    return np.where(counted_P, mean_P.clip(0.0, 1.0), unseen)
