"""The loss of one update of one parameter set, micro-batch by micro-batch, and its gradient.

The gradient does not depend on how sequences are cut into micro-batches, and equal ones are
computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from coevo.agents.scoring import Scored, chosen
from coevo.trainers import ranks
from coevo.trainers.estimators import (
    Denominators,
    LossConfig,
    LossInputs,
    batch_statistics,
    control,
    count,
    exact_entropy,
    exact_kl,
    kept_mask,
    policy_loss,
    value_loss,
)
from coevo.trainers.items.sequences import Sequences
from coevo.trainers.learners.lesson import Lesson
from coevo.trainers.learners.passes import MicroBatch, Passes
from coevo.trainers.learners.settings import Critic, ValueCritic


@dataclass(frozen=True)
class Objective(Lesson):
    """A policy's loss over the sequences of an update, and its critic's."""

    passes: Passes
    sequences: Sequences
    spec: LossConfig
    critic: Critic | None = None
    magnet: nn.Module | None = None
    """What the policy is pulled towards."""
    filters: bool = False
    """Whether an advantage of 0 alone has no gradient, so that it need not be computed."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What options of the loss keep from update to update, such as an adaptive coefficient."""
    minibatches: int = 1
    weight: float = 1.0
    """Factor on the whole loss."""

    @property
    def units(self) -> int:
        """Distinct token sequences."""
        return len(self.sequences.spans)

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
        s = self.sequences
        kept_CL = kept_mask(self.spec, self._old_CL, s.logp_behaviour_CL, s.mask_CL)
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
        s = self.sequences
        if not self.filters:
            return spans
        assert s.advantage_CL is not None
        not_zero_C = ((s.advantage_CL != 0) & s.mask_CL).any(1)
        taught = set(s.span_C[not_zero_C].tolist())
        return [span for span in spans if span in taught]

    @property
    def _old_CL(self) -> Tensor:
        s = self.sequences
        return s.logp_behaviour_CL if s.logp_old_CL is None else s.logp_old_CL

    @torch.no_grad()
    def _batch_statistics(
        self, spans: Sequence[int], generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """Look at a whole mini-batch for the options that compare its tokens, [C, L] each."""
        s, spec = self.sequences, self.spec
        if not spec.needs_batch_statistics:
            return {}
        chosen = torch.isin(s.span_C, torch.tensor(spans)).unsqueeze(1)
        old_CL = self._old_CL
        now_CL, entropy_CL = old_CL.clone(), torch.zeros_like(old_CL)
        for part in self.passes.micro_batches(s, spans) if spec.measuring else ():
            logp_N, entropy_N = self.passes.score(s, part).reduce(_with_entropy)
            now_CL[part.at] = part.spread(logp_N, s).to(now_CL)
            entropy_CL[part.at] = part.spread(entropy_N, s).to(now_CL)
        assert s.advantage_CL is not None
        whole = LossInputs(
            logp_CL=now_CL,
            logp_old_CL=now_CL if s.logp_old_CL is None else old_CL,
            advantage_CL=s.advantage_CL.to(now_CL),
            mask_CL=s.mask_CL & chosen,
            turn_id_CL=s.turn_CL,
            logp_behaviour_CL=s.logp_behaviour_CL,
            entropy_CL=entropy_CL,
            state=self.state,
        )
        return batch_statistics(spec, whole, generator)

    def _share(self, mask_CL: Tensor) -> Denominators:
        """Return a mini-batch's equal share of the counts of the whole batch.

        Mini-batches are drawn over distinct token sequences, which stand for different numbers of
        sequences: with counts of their own, one in a small mini-batch would weigh more.
        """
        whole = count(mask_CL, self.passes.agent.sampling.max_new_tokens)
        parts = self.minibatches
        return Denominators(whole.tokens / parts, whole.rows / parts, whole.max_length)

    def _losses(
        self, part: MicroBatch, denom: Denominators, found: Mapping[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        s, scored = self.sequences, self.passes.score(self.sequences, part)
        inputs = self._inputs(part, scored)
        own = {name: t[part.at].to(inputs.logp_CL.device) for name, t in found.items()}
        out = policy_loss(self.spec, replace(inputs, statistics=own), denom)
        if s.return_CL is None or not isinstance(self.critic, ValueCritic):
            return out.loss, out.stats
        assert s.return_mask_CL is not None and s.value_CL is not None
        value_CL = part.spread(self.passes.value_N(scored), s)
        value = value_loss(
            value_CL,
            s.value_CL[part.at].to(value_CL),
            s.return_CL[part.at].to(value_CL),
            s.return_mask_CL[part.at].to(value_CL.device),
            self._share(s.return_mask_CL),
            clip=self.critic.clip,
        )
        return out.loss + value.loss, out.stats | {"loss/value": value.stats["loss/value"]}

    def _inputs(self, part: MicroBatch, scored: Scored) -> LossInputs:
        s, at = self.sequences, part.at
        logp_N, entropy_N, *pull_N = self._of_tokens(part, scored)
        logp_CL = part.spread(logp_N, s)

        def given(value_CL: Tensor | None) -> Tensor | None:
            return None if value_CL is None else value_CL[at].to(logp_CL)

        old_CL, advantage_CL = given(s.logp_old_CL), given(s.advantage_CL)
        assert advantage_CL is not None
        return LossInputs(
            logp_CL=logp_CL,
            logp_old_CL=logp_CL.detach() if old_CL is None else old_CL,
            advantage_CL=advantage_CL,
            mask_CL=s.mask_CL[at].to(logp_CL.device),
            turn_id_CL=s.turn_CL[at].to(logp_CL.device),
            logp_behaviour_CL=given(s.logp_behaviour_CL),
            logp_ref_CL=given(s.logp_ref_CL),
            entropy_CL=part.spread(entropy_N, s),
            kl_magnet_CL=part.spread(pull_N[0], s) if pull_N else None,
            state=self.state,
        )

    def _of_tokens(self, part: MicroBatch, scored: Scored) -> tuple[Tensor, ...]:
        """Return log-probability and entropy of every token, and the KL to the magnet if any."""
        gradient = bool(self.spec.regularise)  # else the entropy is for the log alone

        def read(ids_N: Tensor, logp_NV: Tensor, *target_NV: Tensor) -> tuple[Tensor, ...]:
            logp_N = chosen(logp_NV, ids_N)
            pull_N = [exact_kl(logp_NV, t_NV) for t_NV in target_NV]
            with torch.set_grad_enabled(gradient and torch.is_grad_enabled()):
                return logp_N, exact_entropy(logp_NV), *pull_N

        if self.magnet is None:
            return scored.reduce(read)
        with torch.no_grad():
            target = self.passes.score(self.sequences, part, self.magnet)
        return scored.reduce(read, target)


def _with_entropy(ids_N: Tensor, logp_NV: Tensor) -> tuple[Tensor, ...]:
    return chosen(logp_NV, ids_N), exact_entropy(logp_NV)
