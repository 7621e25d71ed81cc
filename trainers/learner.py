"""One parameter set and how it moves: its optimiser, its critic, and the copies that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from coevo.agents.copies import copy_weights, frozen_copy
from coevo.agents.language_model import LanguageModelAgent
from coevo.trainers.algorithm import MAGNET, Algorithm, OptimSpec
from coevo.trainers.estimators import LossSpec, control, defaults, merge_stats
from coevo.trainers.estimators.loss_stats import for_log
from coevo.trainers.objective import Objective, Targets
from coevo.trainers.rows import Rows
from coevo.trainers.utterance_critic import UtteranceCritic
from coevo.trainers.weights import blend


class Learner(Objective):
    """Trains the model of one policy; of a model with an adapter, the adapter alone.

    Args:
        agent: the policy; its model is trained in place.
        algorithm: the record whose loss and optimiser are used.
        optim: settings of this parameter set; None takes the record's.
    """

    def __init__(
        self, agent: LanguageModelAgent, algorithm: Algorithm, optim: OptimSpec | None = None
    ) -> None:
        super().__init__(agent, algorithm, optim)
        self.model: PreTrainedModel = agent.model
        self.head = self._make_head()
        self.reference = frozen_copy(self.model) if algorithm.needs_reference else None
        self.magnet = frozen_copy(self.model) if algorithm.magnet.name != "none" else None
        self.average = frozen_copy(self.model) if algorithm.average else None
        self.optimizer = self._make_optimizer()

    def _make_head(self) -> nn.Linear | UtteranceCritic | None:
        if self.algorithm.critic is None:
            return None
        size = self.model.config.get_text_config().hidden_size
        if self.algorithm.critic.form == "utterance":
            return UtteranceCritic(size).to(self.model.device)
        head = nn.Linear(size, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        return head.to(self.model.device)

    def _make_optimizer(self) -> torch.optim.AdamW:
        optim = self.optim
        groups = [{"params": self._trained(), "peak": optim.lr}]
        if self.head is not None and self.algorithm.critic is not None:
            groups.append(
                {
                    "params": [p for p in self.head.parameters() if p.requires_grad],
                    "peak": self.algorithm.critic.lr,
                }
            )
        betas = (optim.beta1, optim.beta2)
        return torch.optim.AdamW(groups, lr=optim.lr, betas=betas, weight_decay=optim.weight_decay)

    def _trained(self) -> list[nn.Parameter]:
        return [p for p in self.model.parameters() if p.requires_grad]

    def judged(
        self, rows: Rows, reward_BT: Tensor, mask_BT: Tensor, rate: float
    ) -> tuple[Tensor, Tensor, float]:
        """Let the utterance critics learn from a batch; give Q and V, [B, T, 2], and the error.

        Args:
            rows: all rows of this parameter set.
            reward_BT: composed reward of every turn.
            mask_BT: turns that this parameter set wrote.
            rate: factor on the learning rate.
        """
        assert isinstance(self.head, UtteranceCritic) and self.algorithm.critic is not None
        states = self.turn_states(rows, (reward_BT.shape[0], reward_BT.shape[1]))
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * rate
        device = self.model.device
        before_BTH, after_BTH = (s.to(device) for s in states)
        error = self.head.fit(
            before_BTH,
            after_BTH,
            reward_BT.to(device),
            mask_BT.to(device),
            self.optimizer,
            self.algorithm.critic,
        )
        with torch.no_grad():
            q_BTC, v_BTC = self.head.judge(before_BTH, after_BTH)
        return q_BTC.cpu(), v_BTC.cpu(), error

    # ---- The update ------------------------------------------------------------------------

    def update(
        self,
        rows: Rows,
        targets: Targets,
        *,
        rate: float,
        seed: int,
        loss: LossSpec | None = None,
    ) -> dict[str, float]:
        """Take all optimiser steps of one update.

        Args:
            rows: all rows of this parameter set.
            targets: what they learn from.
            rate: factor on the learning rates, from the schedule.
            seed: of the order of mini-batches.
            loss: another loss than the record's.

        Returns:
            Means over the update for the log.
        """
        optim, self._loss = self.optim, loss or self.algorithm.loss
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * rate
        stats, norms = [], []
        generator = torch.Generator().manual_seed(seed)
        useful = self._useful(rows, targets)
        self._split = max(1, min(optim.minibatches, len(useful)))
        for _ in range(optim.epochs):
            order = useful[torch.randperm(len(useful), generator=generator)]
            for chosen in order.tensor_split(self._split):
                stats += self._accumulate(rows, targets, chosen.tolist(), generator)
                norms.append(self._step())
        merged = merge_stats(stats) or {"tokens": 0.0}
        self.loss_state = control(self._loss, self.loss_state, merged)
        return for_log(merged) | {"grad_norm": sum(norms) / len(norms), "lr": optim.lr * rate}

    def gradient(self, rows: Rows, targets: Targets) -> Tensor:
        """Give the gradient of the policy's loss over all rows, flat; nothing is moved."""
        self._loss, self._split = self.algorithm.loss, 1
        self.optimizer.zero_grad(set_to_none=True)
        self._accumulate(rows, targets, range(len(rows.spans)), torch.Generator().manual_seed(0))
        flat = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._trained()]
        gradient_N = torch.cat([g.flatten() for g in flat]).cpu()
        self.optimizer.zero_grad(set_to_none=True)
        return gradient_N

    def _useful(self, rows: Rows, targets: Targets) -> Tensor:
        """Give the sequences that can have a gradient: an advantage of 0 alone teaches nothing.

        Drawn games under a baseline of 0, and groups whose plays all ended alike, then cost no
        pass; the counts of the batch stay what they are.
        """
        if not self._loss.rests or self.head is not None:
            return torch.arange(len(rows.spans))
        teaching = ((targets.advantage_CL != 0) & rows.mask_CL).any(1)
        return rows.span_C[teaching].unique()

    def _step(self) -> float:
        """Clip policy and critic apart, for neither to shrink the other; give the policy's norm."""
        limit = self.optim.grad_norm
        norms = [nn.utils.clip_grad_norm_(g["params"], limit) for g in self.optimizer.param_groups]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norms[0])

    def after_update(self, step: int) -> None:
        """Move the magnet and the average of iterates."""
        params: dict[str, Any] = defaults(self.algorithm.magnet, MAGNET)
        if self.magnet is not None and "decay" in params:
            blend(self.magnet, self.model, params["decay"])
        elif self.magnet is not None and step % params["every"] == 0:
            copy_weights(self.magnet, self.model)
        if self.average is not None:
            # A young average would be mostly the start weights, hence the growing window.
            blend(self.average, self.model, min(self.algorithm.average, step / (step + 10)))

    def move_reference(self) -> None:
        """Make the current policy the reference, if the record uses one."""
        if self.reference is not None:
            copy_weights(self.reference, self.model)

    # ---- State -----------------------------------------------------------------------------

    @property
    def output(self) -> PreTrainedModel:
        """The model that the learner stands for: the average of iterates, if it keeps one."""
        return self.model if self.average is None else self.average

    def models(self) -> Mapping[str, nn.Module]:
        """Give everything with weights that a checkpoint must keep beside the output model."""
        iterate = None if self.average is None else self.model
        reference = self.reference if self.algorithm.moves_reference else None
        parts = {
            "iterate": iterate,
            "head": self.head,
            "magnet": self.magnet,
            "reference": reference,
        }
        return {name: part for name, part in parts.items() if part is not None}
