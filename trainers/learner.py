"""One parameter set and how it moves: forward passes, loss, optimiser step.

The gradient of an update does not depend on how its rows are cut into micro-batches, and equal
rows are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.scoring import Scored
from coevo.trainers.algorithm import MAGNET, Algorithm, OptimSpec
from coevo.trainers.estimators import (
    Denominators,
    LossInputs,
    LossSpec,
    control,
    count,
    defaults,
    exact_entropy,
    exact_kl,
    kept_mask,
    merge_stats,
    policy_loss,
    survey,
    value_loss,
)
from coevo.trainers.estimators.loss_stats import for_log
from coevo.trainers.micro_batch import MicroBatch
from coevo.trainers.passes import Passes
from coevo.trainers.rows import Rows
from coevo.trainers.utterance_critic import UtteranceCritic
from coevo.trainers.weights import blend, frozen_copy


@dataclass(frozen=True)
class Targets:
    """What the tokens of all rows learn from, [C, L]."""

    advantage_CL: Tensor
    logp_old_CL: Tensor | None = None
    """Behaviour in the trainer's numerics; None takes the current pass, for a single step."""
    logp_ref_CL: Tensor | None = None
    value_old_CL: Tensor | None = None
    return_CL: Tensor | None = None
    return_mask_CL: Tensor | None = None


class Learner(Passes):
    """Trains the model of one policy.

    Args:
        agent: the policy; its model is trained in place.
        algorithm: the record whose loss and optimiser are used.
    """

    def __init__(self, agent: LanguageModelAgent, algorithm: Algorithm) -> None:
        super().__init__(agent, algorithm)
        self.model: PreTrainedModel = agent.model
        self.head = self._make_head()
        self.reference = frozen_copy(self.model) if algorithm.needs_reference else None
        self.magnet = frozen_copy(self.model) if algorithm.magnet.name != "none" else None
        self.average = frozen_copy(self.model) if algorithm.average else None
        self.optimizer = self._make_optimizer(algorithm.optim)
        self.loss_state: dict[str, Any] = {}
        """What options of the loss keep from update to update, such as an adaptive coefficient."""
        self._loss = algorithm.loss
        """Loss of the current update."""
        self._split = 1
        """Mini-batches of the current update."""

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

    def _make_optimizer(self, optim: OptimSpec) -> torch.optim.AdamW:
        groups = [
            {"params": [p for p in self.model.parameters() if p.requires_grad], "peak": optim.lr}
        ]
        if self.head is not None and self.algorithm.critic is not None:
            groups.append(
                {
                    "params": [p for p in self.head.parameters() if p.requires_grad],
                    "peak": self.algorithm.critic.lr,
                }
            )
        betas = (optim.beta1, optim.beta2)
        return torch.optim.AdamW(groups, lr=optim.lr, betas=betas, weight_decay=optim.weight_decay)

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
        optim, self._loss = self.algorithm.optim, loss or self.algorithm.loss
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
        given = [p for p in self.model.parameters() if p.requires_grad]
        flat = [torch.zeros_like(p) if p.grad is None else p.grad for p in given]
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

    def _accumulate(
        self,
        rows: Rows,
        targets: Targets,
        spans: Sequence[int],
        generator: torch.Generator | None = None,
    ) -> list[dict[str, Tensor]]:
        """Add the gradients of one mini-batch, micro-batch by micro-batch."""
        old = targets.logp_old_CL if targets.logp_old_CL is not None else rows.logp_roll_CL
        kept = kept_mask(self._loss, old, rows.logp_roll_CL, rows.mask_CL)
        denom = self._shared(kept)
        found = self._survey(rows, targets, spans, generator)
        stats = []
        for part in self._parts(rows, spans):
            loss, seen = self._losses(rows, targets, part, denom, found)
            loss.backward()
            stats.append(seen)
        return stats

    @torch.no_grad()
    def _survey(
        self,
        rows: Rows,
        targets: Targets,
        spans: Sequence[int],
        generator: torch.Generator | None,
    ) -> dict[str, Tensor]:
        """Look at a whole mini-batch for the options that compare its tokens, [C, L] each."""
        spec = self._loss
        if not spec.needs_survey:
            return {}
        chosen = torch.isin(rows.span_C, torch.tensor(spans)).unsqueeze(1)
        old_CL = rows.logp_roll_CL if targets.logp_old_CL is None else targets.logp_old_CL
        now_CL, entropy_CL = old_CL.clone(), torch.zeros_like(old_CL)
        for part in self._parts(rows, spans) if spec.surveying else ():
            scored = self._score(rows, part, self.model)
            now_CL[part.rows] = part.spread(scored.logp_N(), rows).to(now_CL)
            entropy_N = exact_entropy(scored.logits_NV.log_softmax(-1))
            entropy_CL[part.rows] = part.spread(entropy_N, rows).to(now_CL)
        whole = LossInputs(
            logp_BL=now_CL,
            logp_old_BL=now_CL if targets.logp_old_CL is None else old_CL,
            advantage_BL=targets.advantage_CL.to(now_CL),
            mask_BL=rows.mask_CL & chosen,
            turn_id_BL=rows.turn_CL,
            logp_roll_BL=rows.logp_roll_CL,
            entropy_BL=entropy_CL,
            state=self.loss_state,
        )
        return survey(spec, whole, generator)

    def _shared(self, mask_CL: Tensor) -> Denominators:
        """Give every mini-batch its equal share of the counts of the whole batch.

        Mini-batches are drawn over distinct sequences, which stand for different numbers of rows:
        with counts of their own, a row in a small mini-batch would weigh more.
        """
        whole, parts = count(mask_CL, self.agent.sampling.max_new_tokens), self._split
        return Denominators(whole.tokens / parts, whole.rows / parts, whole.max_length)

    def _losses(
        self,
        rows: Rows,
        targets: Targets,
        part: MicroBatch,
        denom: Denominators,
        found: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        scored = self._score(rows, part, self.model)
        inputs = self._inputs(rows, targets, part, scored)
        own = {n: t[part.rows].to(inputs.logp_BL.device) for n, t in found.items()}
        out = policy_loss(self._loss, replace(inputs, surveyed=own), denom)
        if targets.return_CL is None or self.algorithm.critic is None:
            return out.loss, out.stats
        assert targets.return_mask_CL is not None and targets.value_old_CL is not None
        at, value_CL = part.rows, part.spread(self._value_N(scored), rows)
        value = value_loss(
            value_CL,
            targets.value_old_CL[at].to(value_CL),
            targets.return_CL[at].to(value_CL),
            targets.return_mask_CL[at].to(value_CL.device),
            self._shared(targets.return_mask_CL),
            clip=self.algorithm.critic.clip,
        )
        return out.loss + value.loss, out.stats | {"loss/value": value.stats["loss/value"]}

    def _inputs(self, rows: Rows, targets: Targets, part: MicroBatch, scored: Scored) -> LossInputs:
        at = part.rows
        logp_CL = part.spread(scored.logp_N(), rows)
        old, pull = targets.logp_old_CL, None
        with torch.set_grad_enabled(bool(self._loss.regularise)):  # else for the log alone
            entropy_N = exact_entropy(scored.logits_NV.log_softmax(-1))
            entropy_CL = part.spread(entropy_N, rows)
        if self.magnet is not None:
            with torch.no_grad():
                target_NV = self._score(rows, part, self.magnet).logits_NV.log_softmax(-1)
            pull = part.spread(exact_kl(scored.logits_NV.log_softmax(-1), target_NV), rows)
        return LossInputs(
            logp_BL=logp_CL,
            logp_old_BL=logp_CL.detach() if old is None else old[at].to(logp_CL),
            advantage_BL=targets.advantage_CL[at].to(logp_CL),
            mask_BL=rows.mask_CL[at].to(logp_CL.device),
            turn_id_BL=rows.turn_CL[at].to(logp_CL.device),
            logp_roll_BL=rows.logp_roll_CL[at].to(logp_CL),
            logp_ref_BL=None
            if targets.logp_ref_CL is None
            else targets.logp_ref_CL[at].to(logp_CL),
            entropy_BL=entropy_CL,
            kl_magnet_BL=pull,
            state=self.loss_state,
        )

    def _step(self) -> float:
        """Clip policy and critic apart, for neither to shrink the other; give the policy's norm."""
        limit = self.algorithm.optim.grad_norm
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
            self.magnet.load_state_dict(self.model.state_dict())
        if self.average is not None:
            # A young average would be mostly the start weights, hence the growing window.
            blend(self.average, self.model, min(self.algorithm.average, step / (step + 10)))

    def move_reference(self) -> None:
        """Make the current policy the reference, if the record uses one."""
        if self.reference is not None:
            self.reference.load_state_dict(self.model.state_dict())

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
