"""What an optimiser moves, and how the policy's model follows it.

Usually that is the model itself. Weights in half precision have float32 copies beside them. Over
several ranks it is a copy of which every rank holds a shard, with the gradients and moments of that
shard (FSDP2); the whole model stays beside it, to play and to be scored, and what is frozen is
shared by both.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from coevo.agents.engines.output_head import as_trunk
from coevo.agents.models.copies import shared_copy
from coevo.envs.core.errors import ConfigError
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


class Shards(Masters):
    """A copy of the model, a shard of it on every rank.

    Args:
        model: of the policy; it stays as it is.

    Raises:
        ConfigError: it has no layers to be sharded.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        copied: Any = shared_copy(model)
        layers = [m for m in copied.modules() if isinstance(m, GradientCheckpointingLayer)]
        if not isinstance(copied, nn.Module) or not layers:
            raise ConfigError(
                f"{type(model).__name__} has no layers to be sharded over {ranks.count()} ranks; "
                "train it in one process"
            )
        as_trunk(cast("PreTrainedModel", copied), cast("PreTrainedModel", model))
        device = next(model.parameters()).device.type
        mesh = init_device_mesh(device, (ranks.count(),))
        still = {p for p in copied.parameters() if not p.requires_grad}
        for module in (*layers, copied):
            fully_shard(module, mesh=mesh, ignored_params=still)
        for module in copied.modules():
            if isinstance(module, FSDPModule):
                # Losses are divided by counts over all ranks: gradients are added.
                module.set_gradient_divide_factor(1.0)
                module.set_force_sum_reduction_for_comms(True)  # gloo cannot scale
        self.model = copied

    @torch.no_grad()
    def take(self) -> None:
        """Take this rank's part of the weights."""
        for own, whole in self._pairs():
            own.copy_(part_of(whole, own))

    @torch.no_grad()
    def follow(self) -> None:
        """Gather the weights of all ranks; every rank must ask."""
        for own, whole in self._pairs():
            whole.copy_(cast("DTensor", own).full_tensor())

    def _pairs(self) -> list[tuple[Tensor, Tensor]]:
        pairs = zip(self.model.parameters(), self.policy.parameters(), strict=True)
        return [(own, whole) for own, whole in pairs if isinstance(own, DTensor)]


def masters_of(model: nn.Module) -> Masters:
    """Return what an optimiser moves for a model.

    Raises:
        ConfigError: several ranks would have to hold masters of weights in half precision.
    """
    half = any(p.requires_grad and p.element_size() < 4 for p in model.parameters())
    if ranks.count() == 1:
        return Float32(model) if half else Masters(model)
    if half:
        raise ConfigError(
            f"dtype=bfloat16 and {ranks.count()} ranks contradict each other: shards are float32"
        )
    return Shards(model)


def unsharded(tensor: Tensor) -> Tensor:
    """Return all of a tensor that may be sharded; every rank must ask."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def part_of(whole: Tensor, like: Tensor) -> Tensor:
    """Return this rank's part of a tensor, laid out like another one that may be sharded."""
    if not isinstance(like, DTensor):
        return whole
    whole = whole.to(like.device)
    return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)
