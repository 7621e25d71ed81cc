"""Composers whose weights move from batch to batch: multipliers, hypervolume, influence.

What they keep is in the state, as JSON values under the composer's name. A batch is composed
with the weights that were known before it, unless a composer says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.groups import wide
from coevo.trainers.estimators.parts import Parts, checked

_LEAST = 1e-12
"""Smallest weight that is kept: one that reached 0 could never rise again."""
_MOST = 1e6
"""Largest step of a log-weight, far beyond what one step can use; infinities would give NaN."""


@config
class Lagrange(AdvantageComponent):
    """Maximise one component while the mean outcome of others keeps to its threshold.

    R = R_reward + sum_k lam_k s_k R_k, then lam_k <- max(0, lam_k + lr s_k (threshold_k - mean
    R_k)) with s_k = 1 for `at_least` and -1 for `at_most`: dual ascent. A multiplier starts at 0,
    grows as
    long as its threshold is broken and falls back to 0 where it is kept with room to spare.
    `at_least={format: 0.9}` and `at_most={length: 0.1}` are the thresholds. Components without a
    threshold are added
    with their weight; one with a threshold takes none, the multiplier stands in its place.
    Source: the projected dual step of constrained policy optimisation; Moskovitz et al. mix
    advantages with squashed multipliers instead.

    State: `lagrange/<component>`, the multiplier of the next batch.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.5]]]), torch.ones(1, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "format"), {}, mask_BT, {"lagrange/format": 2.0})
    >>> after = Lagrange(at_least={"format": 0.9}, lr=1.0)(parts)
    >>> after.reward_BTK.item(), round(after.state["lagrange/format"], 4)
    (2.0, 2.4)
    """

    name: Literal["lagrange"] = "lagrange"
    reward: str = "payoff"
    at_least: Mapping[str, Annotated[float, real()]] = field(default_factory=dict)
    at_most: Mapping[str, Annotated[float, real()]] = field(default_factory=dict)
    lr: Annotated[float, real(0)] = 0.1

    def __post_init__(self) -> None:
        if twice := sorted({*self.at_least} & {*self.at_most}):
            raise ConfigError(f"{twice[0]!r} has two thresholds, at_least and at_most; give one")

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        limits = {name: (1.0, limit) for name, limit in self.at_least.items()}
        limits |= {name: (-1.0, limit) for name, limit in self.at_most.items()}
        parts.at(self.reward)
        weight_K, means, after = parts.weight_K(), parts.means(), {}
        for name, (sign, threshold) in limits.items():
            k, key = parts.at(name), f"lagrange/{name}"
            if name == self.reward or name in parts.weights:
                raise ConfigError(
                    f"{name!r} has a threshold, so it takes no weight and is no reward"
                )
            before = _number(parts.state.get(key, 0.0), key)
            weight_K[k] = sign * before
            slack = threshold - means.get(name, threshold)
            after[key] = max(0.0, before + self.lr * sign * slack)
        return parts.one((parts.reward_BTK * weight_K).sum(-1), after)


@config
class Hypervolume(AdvantageComponent):
    """Multiply the next batch's reward by how much this one enlarged the Pareto archive.

    x = mean outcomes of the batch; d = HV(archive + x) - HV(archive); the next factor is
    0.5 + 1.5 tanh(d), in [0.5, 2), and x joins the archive where d > 0. This batch is the
    weighted sum times the factor that the one before it left (1 at the start).
    `origin={payoff: 0, format: 0}` names the objectives and the point volumes are measured from;
    without it every component is one and the first batch is the reference. All objectives are
    maximised. The authors measure x on validation problems, we on the batch.

    A factor that all rows share cancels in every centre and scale that divides by a deviation
    of the same batch (GRPO): use it with REINFORCE or RLOO, whose advantages keep their unit.
    Source: dynamic-reward-weighting repository, hypervolume-guided variant.

    State: `hypervolume/factor`, `hypervolume/origin/<component>`, `hypervolume/archive`, whose
    points list the objectives by name.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.5]]]), torch.ones(1, 1).bool()
    >>> parts = Parts(reward_BTK, ("accuracy", "brevity"), {}, mask_BT, {})
    >>> state = Hypervolume(origin={"accuracy": 0, "brevity": 0})(parts).state
    >>> state["hypervolume/archive"], round(state["hypervolume/factor"], 4)
    ([[1.0, 0.5]], 1.1932)
    """

    name: Literal["hypervolume"] = "hypervolume"
    origin: Mapping[str, Annotated[float, real()]] = field(default_factory=dict)

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        factor = _number(parts.state.get("hypervolume/factor", 1.0), "hypervolume/factor")
        reward_BT = factor * (parts.reward_BTK * parts.weight_K()).sum(-1)
        means = parts.means()
        if not means:
            return parts.one(reward_BT)
        reference = _reference(parts, self.origin, means)
        point = [means[name] for name in reference]
        archive = [list(p) for p in parts.state.get("hypervolume/archive", [])]
        if any(len(p) != len(point) for p in archive):
            raise ConfigError(f"the archive does not hold the objectives {', '.join(reference)}")
        low = list(reference.values())
        gain = max(0.0, dominated_volume([*archive, point], low) - dominated_volume(archive, low))
        if gain > 0.0:
            archive = [p for p in archive if any(a > b for a, b in zip(p, point, strict=True))]
            archive.append(point)
        kept: dict[str, Any] = {f"hypervolume/origin/{n}": value for n, value in reference.items()}
        kept |= {"hypervolume/archive": archive, "hypervolume/factor": 0.5 + 1.5 * math.tanh(gain)}
        return parts.one(reward_BT, kept)


def dominated_volume(points: Sequence[Sequence[float]], origin: Sequence[float]) -> float:
    """Compute the hypervolume: the measure of what some point exceeds and the origin does not.

    Exact, by slicing along the last objective; n points in K objectives cost about n^(K - 1), so
    this is for few objectives. Points not above the origin in every objective add nothing.

    >>> dominated_volume([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0])
    3.0
    """
    shifted = [[p - o for p, o in zip(point, origin, strict=True)] for point in points]
    return _volume([point for point in shifted if min(point) > 0.0])


@config
class GradientWeights(AdvantageComponent):
    """Move weight to the objectives whose gradients help all: w <- softmax(log w + lr s / rho).

    s_k = sum_j <g_k, g_j> over the policy gradients g of the objectives, see `influence`. The
    weights sum to 1 and start in proportion to the given ones. They are moved before the batch
    is summed, by the influence that the learner measured on the batch before; without any they
    stay. Not scaled by norms: an objective with large gradients wins, and one that is saturated
    (g_k = 0) loses its weight.

    The learner provides s after its backward pass: for every component k it takes the gradient
    g_k of the policy loss with the advantages of that component alone, on chosen layers and
    averaged over the accumulation steps (one more backward pass per component), and writes
    `state["gradient_weights/s/<component>"] = float(influence(gradients)[k])` for all of them.
    lr is the actor's. Source: dynamic-reward-weighting repository, gradient-based variant.

    State: `gradient_weights/w/<component>` is kept, `gradient_weights/s/<component>` is read and
    removed.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1).bool()
    >>> state = {"gradient_weights/s/a": math.log(3.0), "gradient_weights/s/b": 0.0}
    >>> parts = Parts(reward_BTK, ("a", "b"), {}, mask_BT, state)
    >>> round(GradientWeights(lr=1.0, rho=1.0)(parts).reward_BTK.item(), 4)
    0.75
    """

    needs_influence = True
    name: Literal["gradient_weights"] = "gradient_weights"
    lr: Annotated[float, real(0)] = 1e-6
    rho: Annotated[float, real(0)] = 1e-5

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        if not 0.0 < self.rho < math.inf:
            raise ConfigError(f"rho={self.rho} must be above 0")
        w_K = _before(parts)
        measured, rest = _influences(parts)
        if measured is not None:
            step_K = (self.lr * measured / self.rho).clamp(-_MOST, _MOST)
            w_K = torch.softmax(w_K.log() + step_K, 0).clamp(min=_LEAST)
            w_K = w_K / w_K.sum()
        keys = [f"gradient_weights/w/{name}" for name in parts.components]
        kept = dict(zip(keys, w_K.tolist(), strict=True))
        return parts._replace(state=rest).one((parts.reward_BTK * w_K).sum(-1), kept)


def influence(gradients: Sequence[Tensor]) -> Tensor:
    """Compute s_k = sum_j <g_k, g_j> of K gradients of one shape, the own norm included, [K].

    Raises:
        ConfigError: There is none, or shapes differ.

    >>> influence([torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])]).tolist()
    [2.0, 3.0]
    """
    if len({tuple(g.shape) for g in gradients}) != 1:
        shapes = ", ".join(str(tuple(g.shape)) for g in gradients) or "none"
        raise ConfigError(f"influence needs gradients of one shape, got {shapes}")
    g_KN = torch.stack([wide(g).flatten() for g in gradients])
    return g_KN @ g_KN.sum(0)


def _number(value: Any, label: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{label}: {value!r} must be a finite number")
    return number


def _reference(
    parts: Parts, origin: Mapping[str, float], means: Mapping[str, float]
) -> dict[str, float]:
    """Return the origin by objective, in order of names: given, kept, or the first batch."""
    prefix = "hypervolume/origin/"
    if origin:
        found = dict(origin)
    else:
        kept = {k.removeprefix(prefix): v for k, v in parts.state.items() if k.startswith(prefix)}
        found = {n: _number(v, prefix + n) for n, v in (kept or means).items()}
    for name in found:
        parts.at(name)
    return dict(sorted(found.items()))


def _volume(points: list[list[float]]) -> float:
    if not points or len(points[0]) == 1:
        return max((p[0] for p in points), default=0.0)
    heights = sorted({p[-1] for p in points}, reverse=True)
    slabs = pairwise([*heights, 0.0])
    return sum((z - below) * _volume([p[:-1] for p in points if p[-1] >= z]) for z, below in slabs)


def _before(parts: Parts) -> Tensor:
    """Return the weights that the last batch left, else the given ones, with sum 1."""
    keys = [f"gradient_weights/w/{name}" for name in parts.components]
    kept = [key for key in keys if key in parts.state]
    if kept and len(kept) < len(keys):
        raise ConfigError(f"the state holds {', '.join(kept)}, the batch has {parts.components}")
    values = [_number(parts.state[key], key) for key in kept]
    w_K = parts.reward_BTK.new_tensor(values) if kept else parts.weight_K()
    if not bool((w_K > 0).all()):
        raise ConfigError(f"weights {w_K.tolist()} of {parts.components} must be above 0")
    return w_K / w_K.sum()


def _influences(parts: Parts) -> tuple[Tensor | None, dict[str, Any]]:
    """Take the learner's influences out of the state; give them, None without any, and the rest."""
    prefix = "gradient_weights/s/"
    rest = {k: v for k, v in parts.state.items() if not k.startswith(prefix)}
    given = {k.removeprefix(prefix) for k in parts.state if k.startswith(prefix)}
    if not given:
        return None, rest
    if given != set(parts.components):
        raise ConfigError(f"influence of {sorted(given)} is given, expected {parts.components}")
    values = [_number(parts.state[prefix + n], prefix + n) for n in parts.components]
    return parts.reward_BTK.new_tensor(values), rest
