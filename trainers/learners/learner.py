"""One parameter set and how it moves: its optimiser, its critic, and the copies that follow it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from coevo.agents.models.copies import blend, copy_weights, frozen_copy
from coevo.agents.policy import Policy
from coevo.envs.core.errors import UndefinedError
from coevo.trainers import ranks
from coevo.trainers.estimators import LossConfig, merge_stats
from coevo.trainers.estimators.loss_stats import for_log
from coevo.trainers.items.items import Items
from coevo.trainers.items.sequences import Sequences
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.eight_bit import adamw8bit
from coevo.trainers.learners.item_objective import ItemObjective
from coevo.trainers.learners.lesson import Lesson
from coevo.trainers.learners.masters import masters_of, unsharded
from coevo.trainers.learners.memory import allow_recomputing, within_memory
from coevo.trainers.learners.objective import Objective
from coevo.trainers.learners.passes import Passes
from coevo.trainers.learners.settings import OptimConfig, UtteranceCritic
from coevo.trainers.learners.utterance_critic import UtteranceCriticNet
from coevo.trainers.losses import ItemLoss


class Learner:
    """Trains the model of one policy; of a model with an adapter, the adapter alone.

    Args:
        agent: the policy; its model is trained in place.
        algorithm: whose loss and optimiser are used.
        optim: settings of this parameter set; None takes the algorithm's.
        recompute: compute layers again for the gradient instead of keeping what is in them.
        rewards: whether a reward module reads a head of it.
    """

    def __init__(
        self,
        agent: Policy,
        algorithm: AlgorithmSettings,
        optim: OptimConfig | None = None,
        *,
        recompute: bool = False,
        rewards: bool = False,
    ) -> None:
        self.agent, self.algorithm = agent, algorithm
        self.optim = optim or algorithm.optim
        self.model: nn.Module = agent.model
        self.head = self._make_head()
        if recompute:
            allow_recomputing(self.model)
        self.reward_head = agent.weights.reward_head() if rewards else None
        self.masters = masters_of(self.model)
        budget = self.optim.token_budget
        self.passes = Passes(
            agent, self.head, budget, recompute, self.reward_head, self.masters.model
        )
        self.reference = frozen_copy(self.model) if algorithm.needs_reference else None
        self.magnet = frozen_copy(self.model) if algorithm.magnet is not None else None
        self.ema = frozen_copy(self.model) if algorithm.ema else None
        self.optimizer = self._make_optimizer()

    def _make_head(self) -> nn.Linear | UtteranceCriticNet | None:
        if self.algorithm.critic is None:
            return None
        size = self.agent.weights.hidden_size
        if isinstance(self.algorithm.critic, UtteranceCritic):
            return UtteranceCriticNet(size).to(self.device)
        head = nn.Linear(size, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        return head.to(self.device)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        optim = self.optim
        rewards = [] if self.reward_head is None else [*self.reward_head.parameters()]
        groups = [{"params": [*self.masters.parameters, *rewards], "peak": optim.lr}]
        if self.head is not None and self.algorithm.critic is not None:
            groups.append(
                {
                    "params": [p for p in self.head.parameters() if p.requires_grad],
                    "peak": self.algorithm.critic.lr,
                }
            )
        if optim.optimiser == "sgd":
            return torch.optim.SGD(groups, lr=optim.lr)
        betas = (optim.beta1, optim.beta2)
        decay, fused = optim.weight_decay, optim.fused or None
        if optim.optimiser == "adamw8bit":
            return adamw8bit(groups, lr=optim.lr, betas=betas, weight_decay=decay)
        return torch.optim.AdamW(groups, lr=optim.lr, betas=betas, weight_decay=decay, fused=fused)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.model.parameters()).device

    # ---- Before the update -----------------------------------------------------------------

    def scores(self, sequences: Sequences, *, old: bool) -> dict[str, Tensor]:
        """Return what passes without gradient say of sequences, as fields of `Sequences`.

        Args:
            sequences: of this parameter set.
            old: whether to score the behaviour in the trainer's numerics.
        """
        found = {"logp_old_CL": self.passes.logp(sequences)} if old else {}
        if self.reference is not None:
            found["logp_ref_CL"] = self.passes.logp(sequences, self.reference)
        if isinstance(self.head, nn.Linear):
            found["value_CL"] = self.passes.values(sequences)
        return found

    def fit_utterance_critic(
        self, sequences: Sequences, reward_BT: Tensor, mask_BT: Tensor, rate: float
    ) -> tuple[Tensor, Tensor]:
        """Let the utterance critics learn from a batch, and return their Q and V, [B, T, 2].

        Args:
            sequences: all sequences of this parameter set.
            reward_BT: composed reward of every turn.
            mask_BT: turns that this parameter set wrote.
            rate: factor on the learning rate.
        """
        assert isinstance(self.head, UtteranceCriticNet)
        assert isinstance(self.algorithm.critic, UtteranceCritic)
        states = self.passes.turn_states(sequences, (reward_BT.shape[0], reward_BT.shape[1]))
        self._set_rate(rate)
        device = self.device
        before_BTH, after_BTH = (s.to(device) for s in states)
        self.head.fit(
            before_BTH,
            after_BTH,
            reward_BT.to(device),
            mask_BT.to(device),
            self.optimizer,
            self.algorithm.critic,
        )
        with torch.no_grad():
            q_BTC, v_BTC = self.head.judge(before_BTH, after_BTH)
        return q_BTC.cpu(), v_BTC.cpu()

    # ---- The update ------------------------------------------------------------------------

    def update(
        self, lessons: Sequence[Lesson], *, rate: float, seed: int
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Take all optimiser steps of one update, each on a part of every lesson.

        Args:
            lessons: what is minimised together.
            rate: factor on the learning rates, from the schedule.
            seed: of the order of mini-batches.

        Returns:
            Means over the update for the log, and the state that the losses leave behind.
        """
        self._set_rate(rate)
        generator = torch.Generator().manual_seed(seed)
        parts = max(1, min(self.optim.minibatches, max(x.units for x in lessons)))
        lessons = [x.cut(parts) for x in lessons]
        stats: list[list[dict[str, Tensor]]] = [[] for _ in lessons]
        norms = []
        for _ in range(self.optim.epochs):
            orders = [torch.randperm(x.units, generator=generator) for x in lessons]
            for chosen in zip(*(order.tensor_split(parts) for order in orders), strict=True):
                found = self._add_gradients(lessons, chosen, generator)
                for seen, here in zip(stats, found, strict=True):
                    seen += here
                norms.append(self._step())
        logged: dict[str, float] = {}
        state: dict[str, Any] = {}
        for lesson, seen in zip(lessons, stats, strict=True):
            merged = merge_stats(seen) or {"tokens": 0.0}
            logged |= {lesson.prefix + name: x for name, x in for_log(merged).items()}
            state |= lesson.control(merged)
        return logged | {"grad_norm": sum(norms) / len(norms), "lr": self.optim.lr * rate}, state

    def _add_gradients(
        self, lessons: Sequence[Lesson], chosen: Sequence[Tensor], generator: torch.Generator
    ) -> list[list[dict[str, Tensor]]]:
        """Add the gradients of one mini-batch, from the start again where memory runs out."""
        drawn = generator.get_state()

        def undo() -> None:
            self.optimizer.zero_grad(set_to_none=True)
            generator.set_state(drawn)

        def add() -> list[list[dict[str, Tensor]]]:
            pairs = zip(lessons, chosen, strict=True)
            return [lesson.add_gradients(units.tolist(), generator) for lesson, units in pairs]

        return within_memory(self.passes, add, undo)

    def objective_of(
        self, loss: ItemLoss, items: Sequences | Items, state: Mapping[str, Any]
    ) -> Lesson:
        """Return what a loss makes of items of its kind."""
        if isinstance(items, Sequences):
            return self.objective(items, state=state, weight=loss.weight)
        return ItemObjective(self.passes, items, loss)

    def objective(
        self,
        sequences: Sequences,
        spec: LossConfig | None = None,
        state: Mapping[str, Any] | None = None,
        weight: float = 1.0,
    ) -> Objective:
        """Return the policy loss of an update over sequences.

        Args:
            sequences: of this parameter set, with what they learn from.
            spec: another loss than the algorithm's.
            state: what the loss left behind after the last update.
            weight: factor on the loss.
        """
        spec = spec or self.algorithm.loss
        return Objective(
            passes=self.passes,
            sequences=sequences,
            spec=spec,
            critic=self.algorithm.critic,
            magnet=self.magnet,
            filters=not spec.acts_at_zero and self.head is None,
            state=dict(state or {}),
            weight=weight,
        )

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(group["peak"] * rate)
            else:
                group["lr"] = group["peak"] * rate

    def _step(self) -> float:
        """Step; policy and critic are clipped apart, for neither to shrink the other."""
        limit = self.optim.grad_norm
        for p in () if self.head is None else self.head.parameters():
            if p.grad is not None:
                ranks.add(p.grad)
        groups = [g["params"] for g in self.optimizer.param_groups]
        norms = [unsharded(nn.utils.clip_grad_norm_(group, limit)) for group in groups]
        if not all(map(math.isfinite, norms)):
            self.optimizer.zero_grad(set_to_none=True)
            raise UndefinedError(f"the gradient of {self.agent.name!r} is not finite")
        self.optimizer.step()
        self.masters.follow()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norms[0])

    def after_update(self, step: int) -> None:
        """Move the magnet and the ema weights."""
        if self.magnet is not None and self.algorithm.magnet is not None:
            kept = self.algorithm.magnet.kept(step)
            if kept == 0:
                copy_weights(self.magnet, self.model)
            elif kept < 1:
                blend(self.magnet, self.model, kept)
        if self.ema is not None:
            # Young ema weights would be mostly the start weights, hence the growing window.
            blend(self.ema, self.model, min(self.algorithm.ema, step / (step + 10)))

    def move_reference(self) -> None:
        """Make the current policy the reference, if the algorithm uses one."""
        if self.reference is not None:
            copy_weights(self.reference, self.model)

    # ---- State -----------------------------------------------------------------------------

    @property
    def output(self) -> nn.Module:
        """The model that the learner stands for: the ema weights, if it keeps them."""
        return self.model if self.ema is None else self.ema

    def models(self) -> Mapping[str, nn.Module]:
        """Return everything with weights that a checkpoint must keep beside the output model."""
        iterate = None if self.ema is None else self.model
        reference = self.reference if self.algorithm.moves_reference else None
        parts = {
            "iterate": iterate,
            "head": self.head,
            "rewards": self.reward_head,
            "magnet": self.magnet,
            "reference": reference,
            "masters": self.masters.kept,
        }
        return {name: part for name, part in parts.items() if part is not None}
