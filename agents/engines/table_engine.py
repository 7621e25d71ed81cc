"""The engine of tables: one token is a whole move, a prompt is the number of its row."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from coevo.agents.engines.engine import InProcess, Prompt, Sample
from coevo.agents.engines.logit_processors import CLOSED, LogitProcessor
from coevo.agents.sampling import Ids, SamplingConfig, drawn, filtered, uniform
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError


class TableEngine(InProcess):
    """Draws moves from rows of logits; the choices of a prompt are the moves of its row."""

    def generate(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        sampling: SamplingConfig,
        seeds: Sequence[int],
        end_ids: Sequence[int] = (),
        processors: Sequence[LogitProcessor] = (),
    ) -> list[Sample]:
        if not prompts:
            return []
        logp_NA = self._logp(policy, prompts, sampling)
        if sampling.temperature:
            every_N = torch.arange(len(prompts))
            arm_N = drawn(logp_NA.exp(), every_N, uniform(seeds, 1)[:, 0])
        else:
            arm_N = logp_NA.argmax(1)
        pairs = zip(arm_N.tolist(), logp_NA, strict=True)
        return [Sample([arm], [float(logp_A[arm])]) for arm, logp_A in pairs]

    def logprobs(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        replies: Sequence[Ids],
        sampling: SamplingConfig,
        processors: Sequence[LogitProcessor] = (),
    ) -> list[Tensor]:
        logp_NA = self._logp(policy, prompts, sampling)
        return [logp_A[list(reply)] for logp_A, reply in zip(logp_NA, replies, strict=True)]

    @torch.no_grad()
    def _logp(
        self, policy: PolicyRef, prompts: Sequence[Prompt], sampling: SamplingConfig
    ) -> Tensor:
        row_N = torch.tensor([p.ids[0] for p in prompts])
        moves = [len(p.choices) for p in prompts]
        logits_NA = open_logits(self.module(policy), row_N, moves, sampling)
        if sampling.repetition_penalty != 1:
            raise ConfigError(
                f"sampling.repetition_penalty={sampling.repetition_penalty:g} must be 1 for a "
                "table: a move is one token, and nothing in it repeats; a model takes others"
            )
        if sampling.filters:
            logits_NA = filtered(logits_NA, (), sampling)
        return logits_NA.log_softmax(-1)


def open_logits(
    model: nn.Module, row_N: Tensor, moves: Sequence[int], sampling: SamplingConfig
) -> Tensor:
    """Return logits over the temperature, [N, A]; columns without a move are closed."""
    logits_NA = model(row_N) / (sampling.temperature or 1.0)
    return logits_NA.masked_fill(
        torch.arange(logits_NA.shape[1]) >= torch.tensor(moves).unsqueeze(1), CLOSED
    )
