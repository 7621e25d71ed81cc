"""What an optimiser moves, and how the policy's model follows it.

Usually that is the model itself. Weights in half precision have float32 copies beside them. Over
several ranks every rank holds a shard.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from coevo.trainers import ranks


class Masters:
    """The model itself.

    Args:
        model: of the policy.
    """

    def __init__(self, model: nn.Module) -> None:
        self.policy = model
        self.model = model
        """What passes with gradient run."""
        self.kept: nn.Module | None = None
        """What a checkpoint must keep beside the policy's weights."""

    @property
    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [p for p in self.model.parameters() if p.requires_grad]

    def take(self) -> None:
        """Take the weights of the policy's model, which a checkpoint has filled."""

    def begin(self) -> None:
        """Begin anew from the weights of the policy's model."""
        self.take()

    def follow(self) -> None:
        """Let the policy's model take the weights, after a step."""


class Float32(Masters):
    """Copies in float32 of weights in half precision, in which small steps would be rounded away.

    Args:
        model: of the policy; gradients are added up in float32.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        own = [nn.Parameter(p.detach().float()) for p in super().parameters]
        self.kept = nn.ParameterList(own)
        self._pairs = list(zip(own, super().parameters, strict=True))
        for master, half in self._pairs:
            half.register_post_accumulate_grad_hook(partial(_hand_over, master))

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The copies."""
        return [master for master, _ in self._pairs]

    @torch.no_grad()
    def begin(self) -> None:
        """Copy the weights of the policy's model."""
        for master, half in self._pairs:
            master.copy_(half)

    @torch.no_grad()
    def follow(self) -> None:
        """Round the copies."""
        for master, half in self._pairs:
            half.copy_(master)


def _hand_over(master: nn.Parameter, half: Tensor) -> None:
    assert half.grad is not None  # it has just been added to
    given = half.grad.to(master.dtype)
    master.grad = given if master.grad is None else master.grad + given
    half.grad = None


def unsharded(tensor: Tensor) -> Tensor:
    """Return all of a tensor that may be sharded; every rank must ask."""
    if ranks.count() == 1:
        return tensor
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def part_of(whole: Tensor, like: Tensor) -> Tensor:
    """Return this rank's part of a tensor, laid out like another one that may be sharded."""
    if ranks.count() == 1:
        return whole
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor):
        return whole
    whole = whole.to(like.device)
    return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)
