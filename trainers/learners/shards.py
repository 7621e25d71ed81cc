"""What an optimiser moves over several ranks.

It is a copy of the model of which every rank holds a shard, with the gradients and moments of that
shard (FSDP2); the whole model stays beside it, to play and to be scored, and what is frozen is
shared by both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from transformers.modeling_layers import GradientCheckpointingLayer

from coevo.agents.engines.output_head import as_trunk
from coevo.agents.models.copies import shared_copy
from coevo.envs.core.errors import ConfigError
from coevo.trainers import ranks
from coevo.trainers.learners.masters import Masters, part_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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
