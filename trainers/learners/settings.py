"""How parameters move: optimiser, critics, and the references that follow them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError


@config
class OptimConfig:
    """How parameters move."""

    optimiser: Literal["adamw", "adamw8bit", "sgd"] = "adamw"
    """AdamW; the same with moments of 8 bits, a quarter of the memory (extra `torchao`); or plain
    gradient steps, which ignore the decays."""
    fused: bool = False
    """Whether AdamW moves all weights in one kernel: faster, with other last digits."""
    lr: Annotated[float, real(above=0)] = 3e-4
    """Peak learning rate."""
    rate: Annotated[float, real(0)] = 1.0
    """Factor on every learning rate of the run, critics' included; what `schedules` lets fall."""
    warmup: Annotated[int, whole(0)] = 5
    """Updates of linear warm-up."""
    beta1: Annotated[float, real(0, below=1)] = 0.9
    """Decay of Adam's first moment."""
    beta2: Annotated[float, real(0, below=1)] = 0.95
    """Decay of Adam's second moment."""
    weight_decay: Annotated[float, real(0)] = 0.0
    """Decay of the weights, apart from the gradient."""
    grad_norm: Annotated[float, real(above=0)] = 1.0
    """Gradients are scaled down to this norm."""
    epochs: Annotated[int, whole(1, 10_000)] = 1
    """Passes over the batch per update."""
    minibatches: Annotated[int, whole(1, 10_000)] = 1
    """Optimiser steps per pass. Each divides by an equal share of the update's tokens and rows,
    verl by its own: here a long reply weighs the same whatever it is drawn with."""
    token_budget: Annotated[int, whole(1)] = 8192
    """Tokens of one forward-backward pass, padding included; changes memory, not the gradient."""
    alternate: tuple[str, ...] = ()
    """Roles that learn in turns, each with optimiser steps of its own; roles that are not named
    learn together after them. Empty: all roles at once."""
    old: Literal["role", "update"] = "role"
    """When the policy is scored that a role's steps depart from: before each role's steps, which
    hides what earlier roles moved from the ratio, or once before the update."""
    frozen: tuple[str, ...] = ()
    """Roles whose turns are not learnt from. Where roles share weights, what the others learn
    moves these as well."""

    def __post_init__(self) -> None:
        for name in ("alternate", "frozen"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise ConfigError(f"optim.{name}={list(given)} must name each role once")
        if self.fused and self.optimiser != "adamw":
            raise ConfigError(f"optim.fused=True is of adamw, not of optimiser={self.optimiser!r}")

    RUN_WIDE: ClassVar = ("rate", "warmup", "alternate", "old", "frozen")
    """Settings that no parameter set has of its own."""

    def rate_at(self, step: int) -> float:
        """Return the factor on the learning rates after so many updates, warm-up included."""
        return min(1.0, (step + 1) / max(self.warmup, 1)) * self.rate


@config
class ValueCritic:
    """One value per token: a linear head on the policy's last hidden state."""

    gives: ClassVar[str] = "value_CL"
    """Values that a credit may read."""
    learns_first: ClassVar[bool] = False
    """Whether it learns from a batch before advantages are computed."""
    name: Literal["value_critic"] = "value_critic"
    lr: Annotated[float, real(above=0)] = 1e-3
    """Learning rate of the head; the trunk is not trained by the value loss."""
    clip: Annotated[float, real(above=0, infinite=True)] = 0.2
    """Largest change of a value that lowers its loss."""


@config
class UtteranceCritic:
    """Double critics of whole replies, heads on the policy's last hidden state."""

    gives: ClassVar[str] = "q_BTC"
    learns_first: ClassVar[bool] = True
    name: Literal["utterance_critic"] = "utterance_critic"
    lr: Annotated[float, real(above=0)] = 1e-3
    """Learning rate of the heads; the trunk is not trained by their loss."""
    passes: Annotated[int, whole(1)] = 20
    """Steps on every batch before the policy learns from it."""
    gamma: Annotated[float, real(0, 1)] = 0.95
    """Discount per turn."""
    tau: Annotated[float, real(above=0, high=1)] = 0.1
    """Speed of the slow copies."""


Critic = Annotated[ValueCritic | UtteranceCritic, choice()]
"""What values the credit reads; a credit says which it needs."""


@config
class SnapshotMagnet:
    """The policy of the latest multiple of `every` updates (R-NaD's outer loop)."""

    name: Literal["snapshot_magnet"] = "snapshot_magnet"
    every: Annotated[int, whole(1)] = 20
    """Updates between snapshots."""

    def kept(self, step: int) -> float:
        """Return the share of the magnet that stays after an update."""
        return 1.0 if step % self.every else 0.0


@config
class EmaMagnet:
    """An exponential moving average of the policy's weights."""

    name: Literal["ema_magnet"] = "ema_magnet"
    decay: Annotated[float, real(0, below=1)] = 0.99
    """Share of the magnet that stays after every update."""

    def kept(self, step: int) -> float:
        """Return the share of the magnet that stays after an update."""
        return self.decay


Magnet = Annotated[SnapshotMagnet | EmaMagnet, choice()]
"""The moving reference that the regulariser `magnet_kl` measures the distance to."""
