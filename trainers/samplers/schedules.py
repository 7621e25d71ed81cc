"""Schedules over updates: how much replayed plays, bonuses, references and the future count."""

from __future__ import annotations

import math
from collections.abc import Callable

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.option import check_range


def replay_weight(step: int, *, horizon: int = 200, coef: float = 1.0) -> float:
    """Let SPEAR's loss on replayed plays grow: coef (1 - cos(pi min(s, S) / S)) / 2.

    >>> [round(replay_weight(s), 4) for s in (0, 50, 100, 200, 500)]
    [0.0, 0.1464, 0.5, 1.0, 1.0]
    """
    _check_step(step, horizon)
    return coef * (1.0 - math.cos(math.pi * min(step, horizon) / horizon)) / 2.0


def bonus_weight(step: int, *, horizon: int = 200) -> float:
    """Let SPEAR's tool-call bonus fade: (1 + cos(pi s / S)) / 2 while s <= S, then 0.

    The bonus itself is capped at 1 before it is weighted.

    >>> [round(bonus_weight(s), 4) for s in (0, 50, 100, 200, 500)]
    [1.0, 0.8536, 0.5, 0.0, 0.0]
    """
    _check_step(step, horizon)
    return (1.0 + math.cos(math.pi * min(step, horizon) / horizon)) / 2.0


def capped_bonus(bonus: float, step: int, *, horizon: int = 200, cap: float = 1.0) -> float:
    """Give SPEAR's tool-call bonus at a step: weight times the bonus, of which `cap` counts.

    >>> capped_bonus(3.0, 100), capped_bonus(0.25, 100)
    (0.5, 0.125)
    """
    return bonus_weight(step, horizon=horizon) * min(bonus, cap)


def convex_weight(
    step: int, *, start: int = 50, every: int = 10, by: float = 0.1, floor: float = 0.5
) -> float:
    """Move ReMix's KL from the base policy to the previous one, lam in lam KL(pi || base) + ...

    lam(t) = max(1 - by ceil(max(t - start, 0) / every), floor); 1 - lam weighs KL(pi || previous).

    >>> [round(convex_weight(t), 4) for t in (50, 51, 61, 100)]
    [1.0, 0.9, 0.8, 0.5]
    """
    _check_step(step, every)
    check_range("by", by, 0.0, 1.0)
    check_range("floor", floor, 0.0, 1.0)
    return max(1.0 - by * math.ceil(max(step - start, 0) / every), floor)


def ads_discount(k: float, *, alpha: float = 0.2) -> float:
    """Discount so that a reward k steps ahead weighs alpha: gamma(k) = alpha^(1/k) (ADS).

    >>> [round(ads_discount(k), 4) for k in (1, 10, 20, 50, 100)]
    [0.2, 0.8513, 0.9227, 0.9683, 0.984]
    """
    if not k > 0 or not 0 < alpha < 1:
        raise ConfigError(f"k={k} must be above 0 and alpha={alpha} strictly between 0 and 1")
    return float(alpha ** (1.0 / k))


def ads_advance(
    k: int,
    score_of_prefix: Callable[[int], float],
    reference: Callable[[int], float],
    *,
    share: float = 0.9,
    most: int = 5,
    horizon: int | None = None,
) -> int:
    """Move ADS's progress after an episode: k += 1 while score(k) >= int(share reference(k)).

    Args:
        k: progress in steps; the released code starts at 0.2 of the horizon.
        score_of_prefix: score of the episode's first k steps, e.g. milestones reached in order.
        reference: the score that demonstrations reach in k steps.
        share: part of the reference that is asked for; the product is rounded down.
        most: steps that one episode can add.
        horizon: largest k (ours: beyond the episode there is nothing to look at).

    >>> ads_advance(4, lambda k: min(k, 6), lambda k: float(k))
    8
    """
    if k < 1 or most < 1:
        raise ConfigError(f"k={k} and most={most} must both be at least 1")
    for _ in range(most):
        if horizon is not None and k >= horizon:
            break
        if score_of_prefix(k) < int(share * reference(k)):
            break
        k += 1
    return k


def _check_step(step: int, period: int) -> None:
    if step < 0 or period < 1:
        raise ConfigError(f"step={step} must not be negative, and its period {period} at least 1")
