"""The loss of one parameter set over training rows, micro-batch by micro-batch, and its gradient.

The gradient of an update does not depend on how its rows are cut into micro-batches, and equal
rows are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.scoring import Scored
from coevo.trainers.algorithm import Algorithm, OptimSpec
from coevo.trainers.estimators import (
    Denominators,
    LossInputs,
    count,
    exact_entropy,
    exact_kl,
    kept_mask,
    policy_loss,
    survey,
    value_loss,
)
from coevo.trainers.micro_batch import MicroBatch
from coevo.trainers.passes import Passes
from coevo.trainers.rows import Rows


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


class Objective(Passes):
    """Adds up the gradients of a policy's loss, and of its critic's.

    Args:
        agent: the policy.
        algorithm: the record whose loss is used.
        optim: settings of this parameter set; None takes the record's.
    """

    magnet: PreTrainedModel | None
    """What the policy is pulled towards."""

    def __init__(
        self, agent: LanguageModelAgent, algorithm: Algorithm, optim: OptimSpec | None = None
    ) -> None:
        super().__init__(agent, algorithm, optim)
        self.loss_state: dict[str, Any] = {}
        """What options of the loss keep from update to update, such as an adaptive coefficient."""
        self._loss = algorithm.loss
        """Loss of the current update."""
        self._split = 1
        """Mini-batches of the current update."""

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
