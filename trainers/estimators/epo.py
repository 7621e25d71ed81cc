"""EPO: an entropy bonus inside a corridor around the entropy that earlier updates had per turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.broadcast import sum_turns
from coevo.trainers.estimators.component import Term, TermComponent, check_range
from coevo.trainers.estimators.inputs import LossInputs

EpoMode = Literal["reported", "hinge", "mask"]
INFINITY = float("inf")


@config
class Epo(TermComponent):
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
    >>> x = from_tokens([[-1.0, -1.0]], entropy_CL=torch.tensor([[1.0, 3.0]]))
    >>> x = replace(x, state={"epo/mean": [1.0], "epo/seen": [1]})
    >>> [Epo(coef=1.0, mode=m)(x).loss_CL[0, 1].item() for m in ("reported", "hinge", "mask")]
    [-2.9000000953674316, -2.9000000953674316, -0.30000001192092896]
    """

    always_token_mean = True
    name: Literal["epo"] = "epo"
    coef: Annotated[float, real()] = 0.001
    mode: EpoMode = "hinge"
    kappa_l: Annotated[float, real(0)] = 0.0
    kappa_r: Annotated[float, real(0)] = 2.0
    alpha: Annotated[float, real(0)] = 0.1
    lam: Annotated[float, real()] = 1.0
    from_turn: Annotated[int, whole(0)] = 0
    phases: bool = False
    middle: Annotated[int, whole(1)] = 75
    last: Annotated[int, whole(1)] = 150

    def __post_init__(self) -> None:
        check_range("kappa_l", self.kappa_l, 0.0, self.kappa_r)
        check_range("middle", self.middle, 1, self.last - 1)

    def __call__(self, x: LossInputs) -> Term:
        value_CL = x.needed("entropy_CL", self.name)
        mean_CL, on_CL = _corridor(x, self.from_turn)
        gap_CL = corridor_gap(value_CL, self.kappa_l * mean_CL, self.kappa_r * mean_CL, self.mode)
        weight = (
            phase_weight(int(x.state.get("epo/updates", 0)), self.middle, self.last)
            if self.phases
            else 1.0
        )
        if self.mode == "mask":
            worth_CL = torch.where(on_CL & (gap_CL > 0), self.alpha, 1.0).to(value_CL.dtype)
            return Term(-self.coef * worth_CL * value_CL, value_CL, _turn_stats(x, value_CL))
        penalty_CL = torch.where(on_CL, self.alpha * gap_CL, 0.0)
        loss_CL = -self.coef * (value_CL - self.lam * weight * penalty_CL)
        return Term(loss_CL, value_CL, _turn_stats(x, value_CL))

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Add the mean entropy of every turn of this update to the running means.

        >>> seen = {"sum/epo/entropy/0": 6.0, "sum/epo/tokens/0": 2.0}
        >>> Epo().control({"epo/mean": [1.0], "epo/seen": [1], "epo/updates": 1}, seen)
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
        return {
            "epo/mean": mean,
            "epo/seen": seen,
            "epo/updates": int(state.get("epo/updates", 0)) + 1,
        }


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
    """Return the weight of the penalty: first nearly constant, then fading.

    1 - 0.2 (1 - exp(-2 e / middle)) up to `middle`, then 0.8 exp(-3 (e - middle) / (last -
    middle)). The two do not meet: 0.8271 is followed by 0.7686. Source: released code.

    >>> [round(phase_weight(e), 4) for e in (0, 75, 76, 150)]
    [1.0, 0.8271, 0.7686, 0.0398]
    """
    if update <= middle:
        return 1.0 - 0.2 * (1.0 - math.exp(-2.0 * update / middle))
    return 0.8 * math.exp(-3.0 * (update - middle) / (last - middle))


def _corridor(x: LossInputs, from_turn: int) -> tuple[Tensor, Tensor]:
    """Look up Hbar of every token's turn, and whether there is a corridor at it."""
    mean, seen = list(x.state.get("epo/mean", [])), list(x.state.get("epo/seen", []))
    turn_CL = torch.where(x.mask_CL, x.turn_id_CL, -1)
    known_CL = (turn_CL >= 0) & (turn_CL < len(mean))
    at_CL = torch.where(known_CL, turn_CL, 0)
    mean_CL = x.logp_CL.new_tensor(mean or [0.0])[at_CL]
    past_CL = torch.tensor(seen or [0], device=at_CL.device)[at_CL] > 0
    far_C1 = (turn_CL >= from_turn).any(1, keepdim=True)
    return mean_CL, known_CL & past_CL & far_C1


@torch.no_grad()
def _turn_stats(x: LossInputs, entropy_CL: Tensor) -> dict[str, Tensor]:
    turn_CL = torch.where(x.mask_CL, x.turn_id_CL, -1)
    turns = int(turn_CL.max()) + 1 if turn_CL.numel() else 0
    total_T = sum_turns(entropy_CL.detach(), turn_CL, turns).sum(0)
    tokens_T = sum_turns(torch.ones_like(entropy_CL), turn_CL, turns).sum(0)
    named = {"entropy": total_T, "tokens": tokens_T}
    return {f"sum/epo/{n}/{k}": v for n, t in named.items() for k, v in enumerate(t.unbind())}
