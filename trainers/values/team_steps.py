"""What networks say of some transitions: values of what was done, and of what may come next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from coevo.agents.models.nets import Net
from coevo.trainers.values.transitions import Transition, joined, legal

Moment = Literal["seen", "then"]
"""Fields of a transition with arrays of its seats: of this time-step, and of the next."""


class TeamSteps(NamedTuple):
    """Some time-steps of as many seats each, as a mix reads them."""

    state_BS: Tensor
    """What all seats see, one after the other."""
    moves_BN: Tensor
    called_B: Tensor
    """Whether a centre chose the moves."""
    reward_B: Tensor
    goes_on_B: Tensor
    then_BS: Tensor
    legal_BNA: Tensor
    """Moves of the next time-step."""
    value_BN: Tensor
    """Of the move of every seat; 0 where it was not asked."""
    asked_BN: Tensor
    next_BN: Tensor
    """Of the best next move of every seat, by the slow copies."""


def team_steps(
    nets: Mapping[str, Net], slow: Mapping[str, Net], drawn: Sequence[Transition], double: bool
) -> TeamSteps:
    """Return transitions as tensors, with what networks say of them.

    Args:
        nets: parameter set -> network that learns.
        slow: parameter set -> its slow copy.
        drawn: transitions of as many seats each.
        double: whether `nets` say which next move is best, else `slow` does.
    """
    shape = next(iter(nets.values())).shape
    moves_BN = torch.tensor([t.moves for t in drawn])
    with torch.no_grad():
        later = _outputs(slow, drawn, "then")
        best_BN = (_outputs(nets, drawn, "then") if double else later).best()
    seen = _outputs(nets, drawn, "seen")
    then = [t.then for t in drawn]
    return TeamSteps(
        state_BS=joined([t.seen for t in drawn], shape),
        moves_BN=moves_BN,
        called_B=torch.tensor([t.called for t in drawn]),
        reward_B=torch.tensor([t.reward for t in drawn], dtype=torch.float32),
        goes_on_B=torch.tensor([any(len(s) for s in row) for row in then]),
        then_BS=joined(then, shape),
        legal_BNA=legal(then, shape),
        value_BN=seen.picked(moves_BN),
        asked_BN=seen.legal_BNA.any(-1),
        next_BN=later.picked(best_BN),
    )


@dataclass(frozen=True)
class _Values:
    """Values of the moves of every seat in every transition; 0 where a seat is not asked."""

    value_BNA: Tensor
    legal_BNA: Tensor

    def picked(self, moves_BN: Tensor) -> Tensor:
        asked_BN = self.legal_BNA.any(-1)
        value_BN = self.value_BNA.gather(-1, moves_BN.unsqueeze(-1)).squeeze(-1)
        return torch.where(asked_BN, value_BN, 0.0)

    def best(self) -> Tensor:
        return self.value_BNA.masked_fill(~self.legal_BNA, -torch.inf).argmax(-1)


def _outputs(nets: Mapping[str, Net], drawn: Sequence[Transition], of: Moment) -> _Values:
    """Return what networks say where the seats of some transitions are, or will be."""
    shape = next(iter(nets.values())).shape
    size = len(drawn), len(drawn[0].owners), shape.moves
    value_BNA, legal_BNA = torch.zeros(size), torch.zeros(size, dtype=torch.bool)
    for name, net in nets.items():
        at = [
            (b, i)
            for b, t in enumerate(drawn)
            for i, owner in enumerate(t.owners)
            if owner == name and len(getattr(t, of)[i])
        ]
        if at:
            read = net([getattr(drawn[b], of)[i] for b, i in at])
            places = tuple(torch.tensor(at).T)
            value_BNA = value_BNA.index_put(places, read.outputs_MA)
            legal_BNA = legal_BNA.index_put(places, read.legal_MA)
    return _Values(value_BNA, legal_BNA)
