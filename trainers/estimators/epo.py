"""EPO: an entropy bonus inside a corridor around the entropy that earlier updates had per turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.broadcast import sum_turns
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.term import Term

EpoMode = Literal["reported", "hinge", "mask"]
INFINITY = float("inf")


def epo(
    x: LossInputs,
    *,
    coef: float = 0.001,
    mode: EpoMode = "hinge",
    kappa_l: float = 0.0,
    kappa_r: float = 2.0,
    alpha: float = 0.1,
    lam: float = 1.0,
    from_turn: int = 0,
    phases: bool = False,
    middle: int = 75,
    last: int = 150,
) -> Term:
    """Entropy bonus with a corridor for every turn: -coef (H - lam w penalty).

    The corridor of turn k is kappa_l Hbar_k < H < kappa_r Hbar_k, Hbar_k the mean over past
    updates of the mean entropy at turn k; a turn without a past has none. Outside of it
    `reported` takes alpha, as the released code does: a constant without gradient, so that only
    the bonus acts. `hinge` takes alpha times the distance, which does push back. `mask` takes no
    penalty, but the bonus counts alpha times there.
    `from_turn`: the corridor holds for rows that get that far (the code: micro-batches with such a
    turn, half of the limit of turns; rows do not depend on how they are cut). `phases`: w is
    `phase_weight` of the number of updates done, else 1.

    State: `epo/mean` and `epo/seen`, lists by turn; `epo/updates`.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0, -1.0]], entropy_BL=torch.tensor([[1.0, 3.0]]))
    >>> x = replace(x, state={"epo/mean": [1.0], "epo/seen": [1]})
    >>> [epo(x, coef=1.0, mode=m).loss_BL[0, 1].item() for m in ("reported", "hinge", "mask")]
    [-2.9000000953674316, -2.9000000953674316, -0.30000001192092896]
    """
    check_range("kappa_l", kappa_l, 0.0, kappa_r)
    check_range("alpha", alpha, 0.0, INFINITY)
    value_BL = x.needed("entropy_BL", "epo")
    mean_BL, on_BL = _corridor(x, from_turn)
    gap_BL = corridor_gap(value_BL, kappa_l * mean_BL, kappa_r * mean_BL, mode)
    weight = phase_weight(int(x.state.get("epo/updates", 0)), middle, last) if phases else 1.0
    if mode == "mask":
        worth_BL = torch.where(on_BL & (gap_BL > 0), alpha, 1.0).to(value_BL.dtype)
        return Term(-coef * worth_BL * value_BL, value_BL, _turn_stats(x, value_BL))
    penalty_BL = torch.where(on_BL, alpha * gap_BL, 0.0)
    loss_BL = -coef * (value_BL - lam * weight * penalty_BL)
    return Term(loss_BL, value_BL, _turn_stats(x, value_BL))


def corridor_gap(entropy: Tensor, low: Tensor, high: Tensor, mode: EpoMode) -> Tensor:
    """Measure how far entropy is outside (low, high): 0 or 1, or for `hinge` the distance.

    >>> h, low, high = torch.tensor([0.5, 1.0, 3.0]), torch.tensor(0.75), torch.tensor(2.0)
    >>> [corridor_gap(h, low, high, m).tolist() for m in ("reported", "hinge")]
    [[1.0, 0.0, 1.0], [0.25, 0.0, 1.0]]
    """
    if mode == "hinge":
        return torch.relu(low - entropy) + torch.relu(entropy - high)
    if mode not in ("reported", "mask"):
        raise unknown("EPO mode", mode, ("reported", "hinge", "mask"))
    return (~((low < entropy) & (entropy < high))).to(entropy.dtype)


def phase_weight(update: int, middle: int = 75, last: int = 150) -> float:
    """Give the weight of the penalty: first nearly constant, then fading.

    1 - 0.2 (1 - exp(-2 e / middle)) up to `middle`, then 0.8 exp(-3 (e - middle) / (last -
    middle)). The two do not meet: 0.8271 is followed by 0.7686. Source: released code.

    >>> [round(phase_weight(e), 4) for e in (0, 75, 76, 150)]
    [1.0, 0.8271, 0.7686, 0.0398]
    """
    check_range("middle", middle, 1, last - 1)
    if update <= middle:
        return 1.0 - 0.2 * (1.0 - math.exp(-2.0 * update / middle))
    return 0.8 * math.exp(-3.0 * (update - middle) / (last - middle))


def move_epo(state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
    """Add the mean entropy of every turn of this update to the running means.

    >>> seen = {"sum/epo/entropy/0": 6.0, "sum/epo/tokens/0": 2.0}
    >>> move_epo({"epo/mean": [1.0], "epo/seen": [1], "epo/updates": 1}, seen)
    {'epo/mean': [2.0], 'epo/seen': [2], 'epo/updates': 2}
    """
    prefix = "sum/epo/tokens/"
    turns = {int(n.removeprefix(prefix)): v for n, v in stats.items() if n.startswith(prefix)}
    mean, seen = list(state.get("epo/mean", [])), list(state.get("epo/seen", []))
    missing = max(turns, default=-1) + 1 - len(mean)
    mean, seen = mean + [0.0] * missing, seen + [0] * missing
    for turn, tokens in turns.items():
        if tokens > 0:
            now = stats[f"sum/epo/entropy/{turn}"] / tokens
            seen[turn] += 1
            mean[turn] += (now - mean[turn]) / seen[turn]
    return {"epo/mean": mean, "epo/seen": seen, "epo/updates": int(state.get("epo/updates", 0)) + 1}


def _corridor(x: LossInputs, from_turn: int) -> tuple[Tensor, Tensor]:
    """Look up Hbar of every token's turn, and whether there is a corridor at it."""
    mean, seen = list(x.state.get("epo/mean", [])), list(x.state.get("epo/seen", []))
    turn_BL = torch.where(x.mask_BL, x.turn_id_BL, -1)
    known_BL = (turn_BL >= 0) & (turn_BL < len(mean))
    at_BL = torch.where(known_BL, turn_BL, 0)
    mean_BL = x.logp_BL.new_tensor(mean or [0.0])[at_BL]
    past_BL = torch.tensor(seen or [0], device=at_BL.device)[at_BL] > 0
    far_B1 = (turn_BL >= from_turn).any(1, keepdim=True)
    return mean_BL, known_BL & past_BL & far_B1


@torch.no_grad()
def _turn_stats(x: LossInputs, entropy_BL: Tensor) -> dict[str, Tensor]:
    turn_BL = torch.where(x.mask_BL, x.turn_id_BL, -1)
    turns = int(turn_BL.max()) + 1 if turn_BL.numel() else 0
    total_T = sum_turns(entropy_BL.detach(), turn_BL, turns).sum(0)
    tokens_T = sum_turns(torch.ones_like(entropy_BL), turn_BL, turns).sum(0)
    named = {"entropy": total_T, "tokens": tokens_T}
    return {f"sum/epo/{n}/{k}": v for n, t in named.items() for k, v in enumerate(t.unbind())}
