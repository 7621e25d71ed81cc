"""The reference engine: causal language models in this process, in the learner's numerics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from coevo.agents.engines.engine import Ask, InProcess, Prompt, Sample
from coevo.agents.engines.logit_processors import LogitProcessor
from coevo.agents.engines.prefix_cache import PrefixCache
from coevo.agents.engines.scoring import Scored, Span, micro_batches, score
from coevo.agents.engines.settings import Torch
from coevo.agents.engines.wave import sample
from coevo.agents.sampling import Ids, SamplingConfig, filtered
from coevo.envs.core.episode import PolicyRef

if TYPE_CHECKING:
    from transformers import PreTrainedModel

COLD = 1e-6
"""Temperature at which given replies are scored for greedy play."""


class TorchEngine(InProcess):
    """Runs the very modules that learners move.

    Args:
        settings: None takes the defaults.
    """

    def __init__(self, settings: Torch | None = None) -> None:
        super().__init__()
        self.settings = settings or Torch()
        self._caches: dict[str, PrefixCache] = {}

    def publish(self, policy: PolicyRef, model: nn.Module) -> None:
        self.forget(policy.name)
        super().publish(policy, model)

    def retire(self, name: str) -> None:
        self.forget(name)
        super().retire(name)

    def forget(self, name: str) -> None:
        self._caches.pop(name, None)

    def samples(self, ask: Ask) -> list[Sample]:
        model, cache = self._model(ask.policy), self._cache(ask.policy.name)
        given = ask.prompts, ask.end_ids, ask.sampling, ask.seeds
        return sample(model, *given, cache, ask.processors)

    def _cache(self, name: str) -> PrefixCache:
        limit = int(self.settings.cache_gib * 2**30)
        return self._caches.setdefault(name, PrefixCache(limit))

    @torch.no_grad()
    def logprobs(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        replies: Sequence[Ids],
        sampling: SamplingConfig,
        processors: Sequence[LogitProcessor] = (),
    ) -> list[Tensor]:
        model, found = self._model(policy), [torch.empty(0)] * len(replies)
        spans = [_span(p.ids, reply) for p, reply in zip(prompts, replies, strict=True)]
        for batch in micro_batches([len(s.ids) for s in spans], sampling.token_budget):
            scored = score(model, [spans[i] for i in batch], sampling.temperature or COLD)
            places = [p for i in batch for p in spans[i].places([prompts[i].choices])]
            scored = replace(scored, processors=processors, places=places)
            if sampling.filters:
                scored = _filtered(scored, sampling)
            parts = scored.logp_N().split([len(replies[i]) for i in batch])
            for i, logp_N in zip(batch, parts, strict=True):
                found[i] = logp_N
        return found

    def _model(self, policy: PolicyRef) -> PreTrainedModel:
        return cast("PreTrainedModel", self.module(policy))


def _filtered(scored: Scored, sampling: SamplingConfig) -> Scored:
    """Return a pass whose logits are those of the filtered distribution."""

    def logits(part: slice) -> Tensor:
        before = [(*p.prompt, *p.reply[: p.at]) for p in scored.places[part]]
        return filtered(scored.drawn_from(part), before, sampling)

    return replace(scored, logits=logits, temperature=1.0, processors=())


def _span(prompt: Ids, reply: Ids) -> Span:
    return Span((*prompt, *reply), (len(prompt),), (len(prompt) + len(reply),))
