"""Sampling replies from a causal language model, computing every distinct context once.

Requests that share a prompt, and samples that share what was written so far, are one row of
the batch: a thousand plays of a small game cost as much as its few information states. Prompts that
go on from what an earlier call has read or written read the rest only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from coevo.agents.engines.contexts import Contexts, Past, contexts
from coevo.agents.engines.engine import Prompt, Sample
from coevo.agents.engines.logit_processors import LogitProcessor, Place
from coevo.agents.engines.prefix_cache import PrefixCache
from coevo.agents.engines.scoring import context_of, micro_batches
from coevo.agents.sampling import SamplingConfig, drawn, filtered, uniform
from coevo.envs.core.errors import ConfigError, UndefinedError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Nodes = list[tuple[Prompt, tuple[int, ...]]]
"""Distinct contexts: a prompt, and the rows whose replies to it are equal so far."""


def sample(
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    end_ids: Sequence[int],
    config: SamplingConfig,
    seeds: Sequence[int],
    cache: PrefixCache | None = None,
    processors: Sequence[LogitProcessor] = (),
) -> list[Sample]:
    """Draw one reply per prompt.

    Args:
        model: in eval mode.
        prompts: contexts; equal ones are computed once and sampled independently.
        end_ids: tokens that end a reply.
        config: temperature, filters and limits.
        seeds: one per prompt, of the random numbers of its reply, so that they do not depend on how
            prompts are batched.
        cache: what the model has read before; prompts that may go on are added.
        processors: of the scores of every token, in this order.

    Raises:
        ConfigError: a prompt and its reply do not fit into the model's context.
    """
    if not prompts:
        return []
    _check_room(model, prompts, config)
    distinct = list(dict.fromkeys(prompts))
    members: dict[Prompt, list[int]] = {p: [] for p in distinct}
    for row, prompt in enumerate(prompts):
        members[prompt].append(row)
    samples = [Sample([], []) for _ in prompts]
    uniform_RT = uniform(seeds, config.max_new_tokens if config.temperature else 0)
    uniform_RT = uniform_RT.to(model.device)
    cache = cache or PrefixCache(0)
    known = [cache.longest(p.ids[:-1]) for p in distinct]
    with cache.holding(known):
        for batch in micro_batches(_loads(distinct, known, cache, config), config.token_budget):
            here = [distinct[i] for i in batch]
            wave = _Wave(model, here, set(end_ids), config, uniform_RT, processors)
            past = Past(cache, [known[i] for i in batch])
            wave.run([members[distinct[i]] for i in batch], samples, past)
    return samples


def _loads(
    prompts: Sequence[Prompt],
    known: Sequence[np.ndarray],
    cache: PrefixCache,
    config: SamplingConfig,
) -> list[int]:
    """Return what prompts weigh in a batch, in tokens that are read.

    Keys and values of a batch take no more room than those that are kept, or those of a batch of
    which nothing is known.
    """
    room = max(cache.slots, config.token_budget)
    return [
        max(len(p.ids) - len(slots), -(-len(p.ids) * config.token_budget // room))
        for p, slots in zip(prompts, known, strict=True)
    ]


def _check_room(model: PreTrainedModel, prompts: Sequence[Prompt], config: SamplingConfig) -> None:
    limit = context_of(model)
    longest = max(len(p.ids) for p in prompts)
    if limit is not None and limit < longest + config.max_new_tokens:
        raise ConfigError(
            f"a prompt of {longest} tokens and max_new_tokens={config.max_new_tokens} exceed the "
            f"model's context of {limit}: use prompt_style='terse' or a model with a longer context"
        )


class _Wave:
    """Continues one batch of distinct prompts until every reply has ended."""

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: list[Prompt],
        end_ids: set[int],
        config: SamplingConfig,
        uniform_RT: Tensor,
        processors: Sequence[LogitProcessor],
    ) -> None:
        self.model, self.prompts, self.end_ids = model, prompts, end_ids
        self.config, self.uniform_RT, self.processors = config, uniform_RT, processors

    @torch.no_grad()
    def run(self, members: list[list[int]], samples: list[Sample], past: Past) -> None:
        """Fill `samples`; `members[i]` are the rows that continue prompt i."""
        written = contexts(self.model, [p.ids for p in self.prompts], past)
        nodes = [(p, tuple(rows)) for p, rows in zip(self.prompts, members, strict=True)]
        for step in range(self.config.max_new_tokens):
            logits = written.logits().float()
            if not bool(logits.amax(-1).isfinite().all()):  # NaN is the largest, too
                raise UndefinedError("the policy's next-token scores are not numbers any more")
            tokens = self._draw(logits, nodes, samples)
            last = step + 1 == self.config.max_new_tokens
            self._keep(
                written, nodes, samples, {r for r, t in tokens.items() if last or t in self.end_ids}
            )
            nodes, parents, new = self._split(nodes, tokens)
            if last or not nodes:
                return
            written.grow(parents, new)

    def _keep(
        self, written: Contexts, nodes: Nodes, samples: list[Sample], ended: set[int]
    ) -> None:
        """Let what was read of replies that have ended be remembered where prompts may go on."""
        found = {}
        for n, (prompt, rows) in enumerate(nodes):
            if prompt.goes_on and not ended.isdisjoint(rows):
                found[n] = (*prompt.ids, *samples[rows[0]].ids[:-1])
        if found:
            written.keep(found)

    def _draw(self, logits: Tensor, nodes: Nodes, samples: list[Sample]) -> dict[int, int]:
        """Draw the next token of every row; give row -> token."""
        node_of_row = [n for n, (_, rows) in enumerate(nodes) for _ in rows]
        rows = [r for _, members in nodes for r in members]
        written = [(p, samples[members[0]].ids) for p, members in nodes]
        for process in self.processors:
            places = [Place(p.ids, ids, len(ids), p.choices) for p, ids in written]
            logits = process(logits, places)
        if self.config.temperature not in (0, 1):
            logits = logits / self.config.temperature
        if self.config.filters:
            logits = filtered(logits, [(*p.ids, *ids) for p, ids in written], self.config)
        p_NV, index = logits.softmax(-1), torch.tensor(node_of_row, device=logits.device)
        if self.config.temperature:
            step = len(samples[rows[0]].ids)
            tokens = drawn(p_NV, index, self.uniform_RT[rows, step])
        else:
            tokens = logits.argmax(-1)[index]
        logp = p_NV[index, tokens].log()
        for row, token, lp in zip(rows, tokens.tolist(), logp.tolist(), strict=True):
            samples[row].ids.append(token)
            samples[row].logprobs.append(lp)
        return dict(zip(rows, tokens.tolist(), strict=True))

    def _split(self, nodes: Nodes, tokens: dict[int, int]) -> tuple[Nodes, list[int], list[int]]:
        """Group unfinished rows by (context, token): new nodes, their parents, their tokens."""
        grown: dict[tuple[int, int], list[int]] = {}
        for n, (_, rows) in enumerate(nodes):
            for row in rows:
                if tokens[row] not in self.end_ids:
                    grown.setdefault((n, tokens[row]), []).append(row)
        new = [(nodes[n][0], tuple(rows)) for (n, _), rows in grown.items()]
        return new, [n for n, _ in grown], [t for _, t in grown]
