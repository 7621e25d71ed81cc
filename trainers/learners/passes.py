"""Forward passes over sequences: log-probabilities, values, hidden states.

They run in micro-batches of distinct token sequences; all contexts that share one get its result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn

from coevo.agents.engines.scoring import InnerLayer, Scored, micro_batches
from coevo.agents.policy import Policy
from coevo.trainers import ranks
from coevo.trainers.batch import Batch
from coevo.trainers.learners.memory import recomputed, within_memory
from coevo.trainers.learners.utterance_critic import UtteranceCriticNet


@dataclass(frozen=True)
class MicroBatch:
    """Some distinct token sequences, and all contexts that share them."""

    spans: list[int]
    at: Tensor
    """Indices of the contexts."""
    local: Tensor
    """Per context: index into `spans`."""
    rows: list[range]
    """The places in `spans` of those that are computed in one row."""

    def spread(self, packed_N: Tensor, batch: Batch) -> Tensor:
        """Return every context the values of its response tokens: packed -> [here, L, ...]."""
        sizes = [len(batch.spans[s].positions()) for s in self.spans]
        columns = torch.cat([torch.arange(n) for n in sizes])
        lines = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        grid_UL = packed_N.new_zeros(len(sizes), batch.mask_CL.shape[1], *packed_N.shape[1:])
        at = (lines.to(packed_N.device), columns.to(packed_N.device))
        return grid_UL.index_put(at, packed_N)[self.local.to(packed_N.device)]


@dataclass
class Passes:
    """Runs the model of a policy, or another one, over sequences."""

    agent: Policy
    head: nn.Linear | UtteranceCriticNet | None
    """The critic's heads on the last hidden state of the policy's model."""
    token_budget: int
    """Tokens of one pass, padding included; halved where memory runs out."""
    recompute: bool = False
    """Whether layers are computed again for the gradient instead of kept."""
    reward_head: nn.Module | None = None
    """What reads rewards from the states, where the policy is a reward model."""
    learning: nn.Module | None = None
    """What passes with gradient run; None for the policy's model."""

    @torch.no_grad()
    def logp(self, batch: Batch, of: nn.Module | None = None) -> Tensor:
        """Return every response token's log-probability under this or another model: [C, L]."""
        return self._each(batch, lambda scored: scored.logp_N(), of)

    @torch.no_grad()
    def values(self, batch: Batch) -> Tensor:
        """Return the critic's value before every response token: [C, L]."""
        return self._each(batch, self.value_N)

    @torch.no_grad()
    def rewards(self, batch: Batch) -> Tensor:
        """Return what the reward head says of every context, at its last token: [C, L]."""
        read_CL = self._each(batch, self.reward_N, rewards=True)
        return torch.where(last_tokens(batch), read_CL, 0.0)

    def reward_N(self, scored: Scored) -> Tensor:
        """Return what the reward head reads before the tokens of a micro-batch."""
        assert self.reward_head is not None  # the run was checked
        return self.agent.weights.reward_N(scored, self.reward_head)

    def value_N(self, scored: Scored) -> Tensor:
        """Return the critic's value before the tokens of a micro-batch."""
        assert isinstance(self.head, nn.Linear) and scored.hidden_NH is not None  # by the algorithm
        return self.head(scored.hidden_NH.detach()).squeeze(-1)

    @torch.no_grad()
    def turn_states(self, batch: Batch, shape: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Return the hidden states before the first and before the last token of every turn.

        Args:
            batch: all contexts of this parameter set.
            shape: trajectories and turns of the batch.

        Returns:
            Two tensors [B, T, H]; 0 at turns that this parameter set did not write.
        """
        size = self.agent.weights.hidden_size
        before_BTH, after_BTH = (torch.zeros(*shape, size) for _ in range(2))
        for part in self.micro_batches(batch):
            scored = self.score(batch, part)
            assert scored.hidden_NH is not None  # there is a critic
            hidden_CLH = part.spread(scored.hidden_NH, batch).cpu()
            turn_CL, mask_CL = batch.turn_CL[part.at], batch.mask_CL[part.at]
            trajectory_CL = batch.trajectory_C[part.at].unsqueeze(1).expand_as(turn_CL)
            for out_BTH, step in ((before_BTH, 1), (after_BTH, -1)):
                edge_CL = mask_CL & (turn_CL != turn_CL.roll(step, 1))
                edge_CL[:, 0 if step == 1 else -1] |= mask_CL[:, 0 if step == 1 else -1]
                out_BTH[trajectory_CL[edge_CL], turn_CL[edge_CL]] = hidden_CLH[edge_CL]
        return before_BTH, after_BTH

    def _each(
        self,
        batch: Batch,
        read: Callable[[Scored], Tensor],
        model: nn.Module | None = None,
        *,
        rewards: bool = False,
    ) -> Tensor:
        def every() -> Tensor:
            out_CL = torch.zeros(batch.mask_CL.shape)
            parts = list(self.micro_batches(batch))
            for number, part in enumerate(parts[ranks.number() :: ranks.count()]):
                scored = self.score(batch, part, model, rewards=rewards)
                value_CL = part.spread(read(scored).cpu(), batch)
                if not number:
                    out_CL = out_CL.to(value_CL)
                out_CL[part.at] = value_CL
            ranks.add(out_CL)
            return out_CL

        return within_memory(self, every)

    def micro_batches(
        self, batch: Batch, spans: Sequence[int] | None = None
    ) -> Iterator[MicroBatch]:
        """Cut some distinct token sequences, or all, into micro-batches within the token budget."""
        spans = range(len(batch.spans)) if spans is None else spans
        given = [batch.spans[s] for s in spans]
        rows = self.agent.weights.in_rows(given, self._budget([len(s.ids) for s in given]))
        lengths = [row.length for row in rows]
        for chosen in micro_batches(lengths, self._budget(lengths)):
            here = [spans[i] for b in chosen for i in rows[b].members]
            ends = list(accumulate(len(rows[b].members) for b in chosen))
            cut = [range(*ends) for ends in pairwise([0, *ends])]
            place = torch.full((len(batch.spans),), -1)
            place[torch.tensor(here)] = torch.arange(len(here))
            local_C = place[batch.span_C]
            at = torch.nonzero(local_C >= 0).squeeze(-1)
            yield MicroBatch(here, at, local_C[at], cut)

    def _budget(self, lengths: Sequence[int]) -> int:
        """Return the tokens of a pass, few enough for every rank to have one."""
        share = max(1, sum(lengths) // ranks.count())
        return self.token_budget if ranks.count() == 1 else min(self.token_budget, share)

    def score(
        self,
        batch: Batch,
        part: MicroBatch,
        model: nn.Module | None = None,
        *,
        rewards: bool = False,
        inner: InnerLayer | None = None,
    ) -> Scored:
        """Run this or another model once, under the processors with which the policy samples."""
        hidden = rewards or (self.head is not None and model in (None, self.agent.model))
        if model is None:
            own = self.learning if torch.is_grad_enabled() else None
            model = own or self.agent.model
        spans = [batch.spans[s] for s in part.spans]
        kept = self.recompute and torch.is_grad_enabled()
        with recomputed(model) if kept else contextlib.nullcontext():
            weights, sampling = self.agent.weights, self.agent.sampling
            precision = _precision(model)
            scored = weights.score(
                spans, sampling, model, hidden, precision, rows=part.rows, inner=inner
            )
        choices = [batch.choices[s] for s in part.spans]
        if not any(map(any, choices)):
            return scored
        given = zip(spans, choices, strict=True)
        places = [place for span, own in given for place in span.places(own)]
        return replace(scored, processors=self.agent.processors, places=places)


def last_tokens(batch: Batch) -> Tensor:
    """Return where the last token of every context is that is learnt from."""
    mask_CL = batch.mask_CL
    later_CL = mask_CL.flip(1).cumsum(1).flip(1)
    return mask_CL & (later_CL == 1)


def _precision(model: nn.Module) -> torch.dtype | None:
    return torch.bfloat16 if next(model.parameters()).is_cuda else None
