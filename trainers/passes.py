"""Passes of a model over training rows: log-probabilities, values, hidden states."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.scoring import Scored, micro_batches, score
from coevo.trainers.algorithm import Algorithm, OptimSpec
from coevo.trainers.micro_batch import MicroBatch, mask_logits
from coevo.trainers.rows import Rows
from coevo.trainers.utterance_critic import UtteranceCritic


class Passes:
    """Runs the model of a policy over rows, in micro-batches of distinct sequences.

    Args:
        agent: the policy.
        algorithm: the record.
        optim: settings of this parameter set; None takes the record's.
    """

    model: PreTrainedModel
    head: nn.Linear | UtteranceCritic | None
    """The critic's heads on the last hidden state."""

    def __init__(
        self, agent: LanguageModelAgent, algorithm: Algorithm, optim: OptimSpec | None = None
    ) -> None:
        self.agent, self.algorithm = agent, algorithm
        self.optim = optim or algorithm.optim

    @torch.no_grad()
    def logp(self, rows: Rows, of: PreTrainedModel | None = None) -> Tensor:
        """Give the log-probability of every reply token under this or another model: [C, L]."""
        return self._each(rows, lambda s: s.logp_N(), of or self.model)

    @torch.no_grad()
    def values(self, rows: Rows) -> Tensor:
        """Give the critic's value before every reply token: [C, L]."""
        return self._each(rows, self._value_N, self.model)

    def _value_N(self, scored: Scored) -> Tensor:
        assert isinstance(self.head, nn.Linear) and scored.hidden_NH is not None  # by the record
        return self.head(scored.hidden_NH.detach()).squeeze(-1)

    @torch.no_grad()
    def turn_states(self, rows: Rows, shape: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Give the hidden states before the first and before the last token of every turn.

        Args:
            rows: all rows of this parameter set.
            shape: trajectories and turns of the batch.

        Returns:
            Two tensors [B, T, H]; 0 at turns that this parameter set did not write.
        """
        size = self.model.config.get_text_config().hidden_size
        before_BTH, after_BTH = (torch.zeros(*shape, size) for _ in range(2))
        for part in self._parts(rows, range(len(rows.spans))):
            scored = self._score(rows, part, self.model)
            assert scored.hidden_NH is not None  # there is a critic
            hidden_RLH = part.spread(scored.hidden_NH.float(), rows).cpu()
            turn_RL, mask_RL = rows.turn_CL[part.rows], rows.mask_CL[part.rows]
            row_RL = rows.trajectory_C[part.rows].unsqueeze(1).expand_as(turn_RL)
            for out_BTH, step in ((before_BTH, 1), (after_BTH, -1)):
                edge_RL = mask_RL & (turn_RL != turn_RL.roll(step, 1))
                edge_RL[:, 0 if step == 1 else -1] |= mask_RL[:, 0 if step == 1 else -1]
                out_BTH[row_RL[edge_RL], turn_RL[edge_RL]] = hidden_RLH[edge_RL]
        return before_BTH, after_BTH

    def _each(self, rows: Rows, give: Callable[[Scored], Tensor], model: PreTrainedModel) -> Tensor:
        out_CL = torch.zeros(rows.mask_CL.shape)
        for part in self._parts(rows, range(len(rows.spans))):
            scored = self._score(rows, part, model)
            out_CL[part.rows] = part.spread(give(scored).cpu(), rows)
        return out_CL

    def _parts(self, rows: Rows, spans: Sequence[int]) -> Iterator[MicroBatch]:
        lengths = [len(rows.spans[s].ids) for s in spans]
        for batch in micro_batches(lengths, self.optim.token_budget):
            yield MicroBatch.make(rows, [spans[i] for i in batch])

    def _score(self, rows: Rows, part: MicroBatch, model: PreTrainedModel) -> Scored:
        hidden = self.head is not None and model is self.model
        with self._precision():
            scored = score(
                model,
                [rows.spans[s] for s in part.spans],
                self.agent.sampling.temperature or 1.0,
                hidden=hidden,
            )
        if all(rows.allowed[s] is None for s in part.spans):
            return scored
        return mask_logits(scored, [rows.allowed[s] for s in part.spans], rows, part.spans)

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        if self.model.device.type == "cuda":
            return torch.autocast("cuda", torch.bfloat16)
        return contextlib.nullcontext()
