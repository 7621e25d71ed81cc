"""What value learning keeps from update to update: transitions, the mixer and its target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from coevo.agents.models.copies import blend, copy_weights, frozen_copy
from coevo.trainers.learners.settings import OptimConfig
from coevo.trainers.values.transitions import Transitions

MIXER, TARGET, MOMENTS, MEMORY = "mixer.", "target.", "moments.", "memory."
"""Beginnings of the names of its tensors."""


class ValueState:
    """Transitions of a run; where seats are mixed also the mixer, its target and its optimiser."""

    def __init__(self) -> None:
        self.transitions = Transitions()
        self.mixer: nn.Module | None = None
        self.target: nn.Module | None = None
        self.optimizer: torch.optim.Optimizer | None = None
        self._waiting: Mapping[str, Tensor] = {}
        """Weights of a checkpoint, until the mixer is there to take them."""

    def mixers(
        self, make: Callable[[], nn.Module], optim: OptimConfig
    ) -> tuple[nn.Module, nn.Module]:
        """Return the mixer and its target, which are made when they are first asked for."""
        if self.mixer is None or self.target is None:
            self.mixer = make()
            self.target = frozen_copy(self.mixer)
            if own := list(self.mixer.parameters()):
                betas = (optim.beta1, optim.beta2)
                self.optimizer = torch.optim.AdamW(own, lr=optim.lr, betas=betas, weight_decay=0)
                self._fill()
        return self.mixer, self.target

    def step(self, optim: OptimConfig, rate: float) -> None:
        """Take an optimiser step on the gradients of the mixer, if it has weights."""
        if self.mixer is None or self.optimizer is None:
            return
        nn.utils.clip_grad_norm_(self.mixer.parameters(), optim.grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = optim.lr * rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def follow(self, kept: float) -> None:
        """Let the target keep this share of itself and take the rest from the mixer."""
        if self.mixer is None or self.target is None:
            return
        if kept == 0:
            copy_weights(self.target, self.mixer)
        elif kept < 1:
            blend(self.target, self.mixer, kept)

    def state_dict(self) -> dict[str, Any]:
        return self.transitions.state_dict() if len(self.transitions) else {}

    def tensors(self) -> dict[str, Tensor]:
        """Return all weights, moments and transitions."""
        found = {n: t for n, t in self._waiting.items() if not n.startswith(MEMORY)}
        found |= {MEMORY + name: t for name, t in self.transitions.tensors().items()}
        for begins, module in ((MIXER, self.mixer), (TARGET, self.target)):
            state = {} if module is None else module.state_dict()
            found |= {begins + name: t for name, t in state.items()}
        moments = {} if self.optimizer is None else self.optimizer.state_dict()["state"]
        for i, slots in moments.items():
            found |= {f"{MOMENTS}{i}.{name}": torch.as_tensor(t) for name, t in slots.items()}
        return found

    def load(self, state: Mapping[str, Any], given: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` and `tensors` gave."""
        self.transitions.load(state, _part(given, MEMORY))
        self._waiting = dict(given)

    def _fill(self) -> None:
        given, self._waiting = self._waiting, {}
        assert self.mixer is not None and self.target is not None and self.optimizer is not None
        if weights := _part(given, MIXER):
            self.mixer.load_state_dict(weights)
            self.target.load_state_dict(_part(given, TARGET))
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _part(given, MOMENTS).items():
            index, _, slot = name.partition(".")
            slots.setdefault(int(index), {})[slot] = tensor
        if slots:
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict({"state": slots, "param_groups": groups})


def _part(given: Mapping[str, Tensor], begins: str) -> dict[str, Tensor]:
    return {n.removeprefix(begins): t for n, t in given.items() if n.startswith(begins)}
