"""The engine of policies whose tokens are whole moves: tables, networks over arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from coevo.agents.engines.engine import Ask, InProcess, Prompt, Sample
from coevo.agents.engines.logit_processors import CLOSED, LogitProcessor
from coevo.agents.sampling import Ids, SamplingConfig, drawn, filtered, uniform
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError

Reader = Callable[[nn.Module, Sequence[Prompt], SamplingConfig], Tensor]
"""(module, prompts, sampling) -> logits of all moves over the temperature, [N, A]; `CLOSED` where a
move is not legal."""


class MoveEngine(InProcess):
    """Draws one token per prompt, which is a move; the choices of a prompt are its legal moves.

    Args:
        read: what a module says of prompts.
    """

    def __init__(self, read: Reader) -> None:
        super().__init__()
        self.read = read

    def samples(self, ask: Ask) -> list[Sample]:
        if not ask.prompts:
            return []
        logp_NA = self._logp(ask.policy, ask.prompts, ask.sampling)
        if ask.sampling.temperature:
            every_N = torch.arange(len(ask.prompts))
            arm_N = drawn(logp_NA.exp(), every_N, uniform(ask.seeds, 1)[:, 0])
        else:
            arm_N = logp_NA.argmax(1)
        logp_N = logp_NA.gather(1, arm_N.unsqueeze(1)).squeeze(1)
        pairs = zip(arm_N.tolist(), logp_N.tolist(), strict=True)
        return [Sample([arm], [logp]) for arm, logp in pairs]

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
        if sampling.repetition_penalty != 1:
            raise ConfigError(
                f"sampling.repetition_penalty={sampling.repetition_penalty:g} must be 1 where a "
                "move is one token, in which nothing repeats; a language model takes others"
            )
        logits_NA = self.read(self.module(policy), prompts, sampling)
        if sampling.filters:
            logits_NA = filtered(logits_NA, (), sampling)
        return logits_NA.log_softmax(-1)


def closed(logits_NA: Tensor, legal_NA: Tensor, sampling: SamplingConfig) -> Tensor:
    """Return logits over the temperature; columns without a legal move are closed."""
    return (logits_NA / (sampling.temperature or 1.0)).masked_fill(~legal_NA, CLOSED)
