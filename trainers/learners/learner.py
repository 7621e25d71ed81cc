"""One parameter set and how it moves: its optimiser, its critic, and the copies that follow it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from coevo.agents.engines.scoring import InnerLayer, Scored, chosen
from coevo.agents.models.copies import FrozenCopies, blend, copy_weights, frozen_copy
from coevo.agents.policy import Policy
from coevo.envs.core.errors import ConfigError, UndefinedError
from coevo.trainers import ranks
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Denominators
from coevo.trainers.components.regularisers import exact_entropy
from coevo.trainers.items import Items
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.eight_bit import adamw8bit
from coevo.trainers.learners.item_objective import ItemObjective
from coevo.trainers.learners.masters import Float32, Masters, unsharded
from coevo.trainers.learners.memory import allow_recomputing, within_memory
from coevo.trainers.learners.passes import MicroBatch, Passes
from coevo.trainers.learners.settings import Critic, OptimConfig, UtteranceCritic, ValueCritic
from coevo.trainers.learners.utterance_critic import UtteranceCriticNet
from coevo.trainers.loss import (
    LossConfig,
    batch_statistics,
    control,
    for_log,
    kept_mask,
    merge_stats,
    policy_loss,
    value_loss,
)
from coevo.trainers.losses import ItemLoss


class Learner:
    """Trains the model of one policy; of a model with an adapter, the adapter alone.

    Args:
        agent: the policy; its model is trained in place.
        algorithm: whose loss and optimiser are used.
        optim: settings of this parameter set; None takes the algorithm's.
        recompute: compute layers again for the gradient instead of keeping what is in them.
        rewards: whether a reward module reads a head of it.
        frozen: shares references that stay what they are with other learners.
        reference: what divergences are measured from; None takes a copy of the policy's model.
    """

    def __init__(
        self,
        agent: Policy,
        algorithm: AlgorithmSettings,
        optim: OptimConfig | None = None,
        *,
        recompute: bool = False,
        rewards: bool = False,
        frozen: FrozenCopies | None = None,
        reference: nn.Module | None = None,
    ) -> None:
        self.agent, self.algorithm = agent, algorithm
        self.optim = optim or algorithm.optim
        self.model: nn.Module = agent.model
        self.head = self._make_head()
        if recompute:
            allow_recomputing(self.model)
        self.reward_head = agent.weights.reward_head() if rewards else None
        self.masters = _masters_of(self.model)
        budget = self.optim.token_budget
        self.passes = Passes(
            agent, self.head, budget, recompute, self.reward_head, self.masters.model
        )
        self.reference = reference or self._make_reference(frozen or FrozenCopies())
        self.magnet = frozen_copy(self.model) if algorithm.magnet is not None else None
        self.ema = frozen_copy(self.model) if algorithm.ema else None
        self.optimizer = self._make_optimizer()

    def _make_reference(self, frozen: FrozenCopies) -> nn.Module | None:
        if not self.algorithm.needs_reference:
            return None
        moves = self.algorithm.moves_reference
        return frozen_copy(self.model) if moves else frozen.of(self.model)

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

    def follow(self, algorithm: AlgorithmSettings, optim: OptimConfig) -> None:
        """Take settings that schedules have moved."""
        self.algorithm, self.optim = algorithm, optim
        peaks = [optim.lr, *([] if algorithm.critic is None else [algorithm.critic.lr])]
        for group, peak in zip(self.optimizer.param_groups, peaks, strict=False):
            group["peak"] = peak

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.model.parameters()).device

    # ---- Before the update -----------------------------------------------------------------

    def scores(self, batch: Batch, *, old: bool) -> dict[str, Tensor]:
        """Return what passes without gradient say of contexts, as fields of the batch.

        Args:
            batch: contexts of this parameter set.
            old: whether to score the behaviour in the trainer's numerics.
        """
        found = {"logp_old_CL": self.passes.logp(batch)} if old else {}
        if self.reference is not None:
            found["logp_ref_CL"] = self.passes.logp(batch.as_reference_reads(), self.reference)
        if isinstance(self.head, nn.Linear):
            found["value_CL"] = self.passes.values(batch)
        return found

    def fit_utterance_critic(
        self, batch: Batch, reward_BT: Tensor, mask_BT: Tensor, rate: float
    ) -> tuple[Tensor, Tensor]:
        """Let the utterance critics learn from a batch, and return their Q and V, [B, T, 2].

        Args:
            batch: all contexts of this parameter set.
            reward_BT: composed reward of every turn.
            mask_BT: turns that this parameter set wrote.
            rate: factor on the learning rate.
        """
        assert isinstance(self.head, UtteranceCriticNet)
        assert isinstance(self.algorithm.critic, UtteranceCritic)
        states = self.passes.turn_states(batch, (reward_BT.shape[0], reward_BT.shape[1]))
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
        self, objectives: Sequence[Objective | ItemObjective], *, rate: float, seed: int
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Take all optimiser steps of one update, each on a part of every objective.

        Args:
            objectives: what is minimised together.
            rate: factor on the learning rates, from the schedule.
            seed: of the order of mini-batches.

        Returns:
            Means over the update for the log, and the state that the losses leave behind.
        """
        self._set_rate(rate)
        generator = torch.Generator().manual_seed(seed)
        parts = max(1, min(self.optim.minibatches, max(x.units for x in objectives)))
        objectives = [x.cut(parts) for x in objectives]
        stats: list[list[dict[str, Tensor]]] = [[] for _ in objectives]
        norms = []
        for _ in range(self.optim.epochs):
            orders = [torch.randperm(x.units, generator=generator) for x in objectives]
            for drawn in zip(*(order.tensor_split(parts) for order in orders), strict=True):
                found = self._add_gradients(objectives, drawn, generator)
                for seen, here in zip(stats, found, strict=True):
                    seen += here
                norms.append(self._step())
        logged: dict[str, float] = {}
        state: dict[str, Any] = {}
        for objective, seen in zip(objectives, stats, strict=True):
            merged = merge_stats(seen) or {"tokens": 0.0}
            logged |= {objective.prefix + name: x for name, x in for_log(merged).items()}
            state |= objective.control(merged)
        return logged | {"grad_norm": sum(norms) / len(norms), "lr": self.optim.lr * rate}, state

    def _add_gradients(
        self,
        objectives: Sequence[Objective | ItemObjective],
        drawn: Sequence[Tensor],
        generator: torch.Generator,
    ) -> list[list[dict[str, Tensor]]]:
        """Add the gradients of one mini-batch, from the start again where memory runs out."""
        before = generator.get_state()

        def undo() -> None:
            self.optimizer.zero_grad(set_to_none=True)
            generator.set_state(before)

        def add() -> list[list[dict[str, Tensor]]]:
            pairs = zip(objectives, drawn, strict=True)
            return [
                objective.add_gradients(units.tolist(), generator) for objective, units in pairs
            ]

        return within_memory(self.passes, add, undo)

    def objective_of(
        self, loss: ItemLoss, items: Batch | Items, state: Mapping[str, Any]
    ) -> Objective | ItemObjective:
        """Return what a loss makes of items of its kind."""
        if isinstance(items, Batch):
            objective = self.objective(items, state=state, weight=loss.weight)
            return replace(objective, moves_policy=loss.moves_policy, inner=loss.inner)
        return ItemObjective(self.passes, items, loss)

    def objective(
        self,
        batch: Batch,
        spec: LossConfig | None = None,
        state: Mapping[str, Any] | None = None,
        weight: float = 1.0,
    ) -> Objective:
        """Return the policy loss of an update over contexts.

        Args:
            batch: contexts of this parameter set, with advantages.
            spec: another loss than the algorithm's.
            state: what the loss left behind after the last update.
            weight: factor on the loss.
        """
        spec = spec or self.algorithm.loss
        return Objective(
            passes=self.passes,
            batch=batch,
            spec=spec,
            critic=self.algorithm.critic,
            magnet=self.magnet,
            reference=self.reference,
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

    def step(self, rate: float) -> float:
        """Take an optimiser step on gradients that are there already; return their norm.

        Args:
            rate: factor on the learning rates, from the schedule.
        """
        self._set_rate(rate)
        return self._step()

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

    def restore_reference(self) -> None:
        """Return to the weights of the reference, with a new optimiser."""
        assert self.reference is not None  # the step that asks declares that it needs one
        copy_weights(self.model, self.reference)
        self.restart()

    def restart(self) -> None:
        """Learn on from the weights that were written into the model, with a new optimiser."""
        self.masters.begin()
        self.optimizer = self._make_optimizer()

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


def _masters_of(model: nn.Module) -> Masters:
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
    from coevo.trainers.learners.shards import Shards  # takes a second to import

    return Shards(model)


@dataclass(frozen=True)
class Objective:
    """A policy's loss over the contexts of an update, and its critic's.

    Its denominators are counts over the whole update, of which each mini-batch gets an equal share:
    the gradient depends neither on micro-batches nor on what else is learnt beside it, and equal
    contexts are computed once.
    """

    passes: Passes
    batch: Batch
    spec: LossConfig
    critic: Critic | None = None
    magnet: nn.Module | None = None
    """What the policy is pulled towards."""
    reference: nn.Module | None = None
    """What stays as it was, or a teacher."""
    filters: bool = False
    """Whether an advantage of 0 alone has no gradient, so that it need not be computed."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What options of the loss keep from update to update, such as an adaptive coefficient."""
    minibatches: int = 1
    weight: float = 1.0
    """Factor on the whole loss."""
    moves_policy: bool = True
    """Whether the policy learns, beside the critic."""
    inner: InnerLayer | None = None
    """Layer whose policy learns; None for the whole policy."""

    prefix: ClassVar = ""
    """Begins its names in the log."""

    @property
    def units(self) -> int:
        """Distinct token sequences, which mini-batches are drawn from."""
        return len(self.batch.spans)

    def cut(self, minibatches: int) -> Self:
        """Return it with a share of the denominators for each of so many mini-batches."""
        return replace(self, minibatches=minibatches)

    def control(self, merged: Mapping[str, float]) -> dict[str, Any]:
        """Return what the loss keeps for the next update."""
        return control(self.spec, self.state, merged)

    def add_gradients(
        self, spans: Sequence[int], generator: torch.Generator | None = None
    ) -> list[dict[str, Tensor]]:
        """Add the gradients of one mini-batch, and return what to log of every micro-batch.

        Args:
            spans: distinct token sequences of the mini-batch.
            generator: of what options draw at random.
        """
        s = self.batch
        kept_CL = kept_mask(self.spec, s.logp_start_CL(), s.logp_behaviour_CL, s.mask_CL)
        denom, found = self._share(kept_CL), self._batch_statistics(spans, generator)
        stats = []
        parts = list(self.passes.micro_batches(s, self.with_gradient(spans)))
        for part, counts in ranks.shared_out(parts):
            loss, seen = self._losses(part, denom, found)
            (self.weight * loss * counts).backward()
            stats += [seen] * counts
        return ranks.joined(stats)

    def with_gradient(self, spans: Sequence[int]) -> Sequence[int]:
        """Return the spans that can have a gradient (zero-advantage filtering).

        Drawn games under a baseline of 0, and groups whose episodes all ended alike, then cost no
        backward pass; the counts and the statistics of the batch hold them all the same.
        """
        s = self.batch
        if not self.filters:
            return spans
        not_zero_C = ((s.advantage_CL != 0) & s.mask_CL).any(1)
        taught = set(s.span_C[not_zero_C].tolist())
        return [span for span in spans if span in taught]

    @torch.no_grad()
    def _batch_statistics(
        self, spans: Sequence[int], generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """Look at a whole mini-batch for the options that compare its tokens, [C, L] each."""
        s, spec = self.batch, self.spec
        if not spec.needs_batch_statistics:
            return {}
        chosen = torch.isin(s.span_C, torch.tensor(spans)).unsqueeze(1)
        old_CL = s.logp_start_CL()
        now_CL, entropy_CL = old_CL.clone(), torch.zeros_like(old_CL)
        for part in self.passes.micro_batches(s, spans) if spec.measuring else ():
            logp_N, entropy_N = self.passes.score(s, part).reduce(_with_entropy)
            now_CL[part.at] = part.spread(logp_N, s).to(now_CL)
            entropy_CL[part.at] = part.spread(entropy_N, s).to(now_CL)
        whole = replace(
            s,
            logp_CL=now_CL,
            logp_old_CL=now_CL if s.logp_old_CL is None else old_CL,
            advantage_CL=s.advantage_CL.to(now_CL),
            mask_CL=s.mask_CL & chosen,
            entropy_CL=entropy_CL,
            state=self.state,
        )
        return batch_statistics(spec, whole, generator)

    def _share(self, mask_CL: Tensor) -> Denominators:
        """Return a mini-batch's equal share of the counts of the whole batch.

        Mini-batches are drawn over distinct token sequences, which stand for different numbers of
        contexts: with counts of their own, one in a small mini-batch would weigh more.
        """
        whole = Denominators.of(mask_CL, self.passes.agent.sampling.max_new_tokens)
        parts = self.minibatches
        return Denominators(whole.tokens / parts, whole.rows / parts, whole.max_length)

    def _losses(
        self, part: MicroBatch, denom: Denominators, found: Mapping[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        s, at = self.batch, part.at
        scored = self.passes.score(self.batch, part, inner=self.inner)
        logp_N, entropy_N, kl_N = self._of_tokens(part, scored)
        logp_CL = part.spread(logp_N, s)
        micro = s.micro(
            at,
            logp_CL,
            entropy_CL=part.spread(entropy_N, s),
            **{f"kl_{target}_CL": part.spread(x_N, s) for target, x_N in kl_N.items()},
            statistics={name: t[at].to(logp_CL.device) for name, t in found.items()},
            state=self.state,
        )
        if micro.logp_old_CL is None:
            micro = replace(micro, logp_old_CL=logp_CL.detach())
        loss, stats = policy_loss(self.spec, micro, denom)
        if not self.moves_policy:
            loss = loss.detach()
        if s.return_CL is None or not isinstance(self.critic, ValueCritic):
            return loss, stats
        assert s.return_mask_CL is not None and s.value_CL is not None
        value_CL = part.spread(self.passes.value_N(scored), s)
        of_value, seen = value_loss(
            value_CL,
            s.value_CL[at].to(value_CL),
            s.return_CL[at].to(value_CL),
            s.return_mask_CL[at].to(value_CL.device),
            self._share(s.return_mask_CL),
            clip=self.critic.clip,
        )
        return loss + of_value, stats | {"loss/value": seen["loss/value"]}

    def _of_tokens(
        self, part: MicroBatch, scored: Scored
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return log-probability and entropy of every token, and its distance to each target."""
        gradient = bool(self.spec.regularise)  # else the entropy is for the log alone
        terms = [term for term in self.spec.regularise if term.compares]

        def read(ids_N: Tensor, logp_NV: Tensor, *target_NV: Tensor) -> tuple[Tensor, ...]:
            logp_N = chosen(logp_NV, ids_N)
            pairs = zip(terms, target_NV, strict=True)
            kl_N = [term.divergence(logp_NV, t_NV) for term, t_NV in pairs]
            with torch.set_grad_enabled(gradient and torch.is_grad_enabled()):
                return logp_N, exact_entropy(logp_NV), *kl_N

        with torch.no_grad():
            targets = [self._target(term.compares, part) for term in terms]
        logp_N, entropy_N, *kl_N = scored.reduce(read, *targets)
        named = zip(terms, kl_N, strict=True)
        return logp_N, entropy_N, {term.compares: x_N for term, x_N in named}

    def _target(self, name: str, part: MicroBatch) -> Scored:
        """Score a micro-batch by the magnet, or by the reference in its own prompts."""
        if name == "magnet":
            return self.passes.score(self.batch, part, self.magnet)
        return self.passes.score(self.batch.as_reference_reads(), part, self.reference)


def _with_entropy(ids_N: Tensor, logp_NV: Tensor) -> tuple[Tensor, ...]:
    return chosen(logp_NV, ids_N), exact_entropy(logp_NV)
