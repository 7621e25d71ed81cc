"""Sampling: settings, and the distribution that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError

Ids = tuple[int, ...]


COLDEST = 1e-4
"""Lowest temperature but 0: logits divided by less overflow."""
BLOCK = 256
"""Ids whose probabilities are summed at a time when one of them is drawn."""
NEUTRAL = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Settings that change more than the temperature does -> the value that changes nothing."""


@config
class SamplingConfig:
    """How replies are drawn."""

    temperature: Annotated[float, real(0, 1000)] = 1.0
    """Divides the logits; 0 takes the most probable token."""
    top_p: Annotated[float, real(above=0, high=1)] = 1.0
    """Draws among the fewest likeliest tokens that have this probability together (Holtzman et al.
    2020, arXiv:1904.09751, section 3.1); 1 keeps all. It comes after the three below."""
    top_k: Annotated[int, whole(0)] = 0
    """Draws among this many likeliest tokens, and those as likely as the last; 0 keeps all."""
    min_p: Annotated[float, real(0, 1)] = 0.0
    """Draws among tokens with this share of the likeliest one's probability (Nguyen et al. 2024,
    arXiv:2407.01082, section 3); 0 keeps all."""
    repetition_penalty: Annotated[float, real(0.01, 100)] = 1.0
    """Divides positive logits of tokens of the prompt and the reply so far, and multiplies negative
    ones (Keskar et al. 2019, arXiv:1909.05858, section 4.1); 1 changes none."""
    guided: Literal["none", "choice"] = "none"
    """`choice` restricts replies to the legal moves, spelled as the environment reads them, where
    a turn lists moves. Learners score the tokens under the same restriction."""
    thoughts: Annotated[int, whole(0)] = 0
    """Tokens of free thought that a guided reply may put before its move, between <think> and
    </think>."""
    max_new_tokens: Annotated[int, whole(1, 1_000_000)] = 16
    """Longest reply, end token included."""
    token_budget: Annotated[int, whole(1)] = 16_384
    """Prompt tokens of one forward pass, padding included."""

    def __post_init__(self) -> None:
        if 0 < self.temperature < COLDEST:
            raise ConfigError(
                f"temperature={self.temperature} must be 0 (greedy) or at least {COLDEST}"
            )
        if self.thoughts and self.guided == "none":
            raise ConfigError(
                f"thoughts={self.thoughts} limits the thoughts of guided replies, and "
                "guided='none' guides no reply: set guided=choice, or leave thoughts out"
            )

    @property
    def guidance(self) -> Mapping[str, str | int]:
        """The settings of guided choice that differ from free replies.

        >>> SamplingConfig().guidance, SamplingConfig(guided="choice").guidance
        ({}, {'guided': 'choice'})
        """
        given = {"guided": self.guided, "thoughts": self.thoughts}
        return {name: value for name, value in given.items() if value not in ("none", 0)}

    @property
    def filters(self) -> Mapping[str, float]:
        """The settings by which tokens are drawn from another distribution than the tempered one.

        >>> SamplingConfig().filters, SamplingConfig(top_p=0.9, temperature=0.5).filters
        ({}, {'top_p': 0.9})
        """
        given = {name: getattr(self, name) for name in NEUTRAL}
        return {name: value for name, value in given.items() if value != NEUTRAL[name]}


def filtered(
    logits_NV: Tensor, contexts_N: Sequence[Sequence[int]], config: SamplingConfig
) -> Tensor:
    """Return the logits of the distribution that is drawn from; what is ruled out has -inf.

    The order is that of vLLM: penalty, min-p, top-k, top-p, each of what the one before has left.
    Greedy play needs the penalty only: the likeliest token is never ruled out. `logits_NV` are
    processed, and divided by the temperature unless that is 0; `contexts_N` holds the ids before
    each of the N tokens, for the penalty.
    """
    if config.repetition_penalty != 1:
        logits_NV = _penalised(logits_NV, contexts_N, config.repetition_penalty)
    if not config.temperature:
        return logits_NV
    if config.min_p:
        p_NV = logits_NV.softmax(-1)
        least_N1 = config.min_p * p_NV.amax(-1, keepdim=True)
        logits_NV = logits_NV.masked_fill(p_NV < least_N1, -torch.inf)
    if config.top_k:
        kept = min(config.top_k, logits_NV.shape[-1])
        last_N1 = logits_NV.topk(kept, -1).values[:, -1:]
        logits_NV = logits_NV.masked_fill(logits_NV < last_N1, -torch.inf)
    return logits_NV if config.top_p == 1 else _nucleus(logits_NV, config.top_p)


def _nucleus(logits_NV: Tensor, top_p: float) -> Tensor:
    down_NV, order_NV = logits_NV.sort(stable=True, dim=-1, descending=True)
    p_NV = down_NV.softmax(-1)
    closed_NV = p_NV.cumsum(-1) - p_NV >= top_p  # likelier ones are enough
    closed_NV[:, 0] = False
    return logits_NV.masked_fill(closed_NV.gather(-1, order_NV.argsort(-1)), -torch.inf)


def _penalised(logits_NV: Tensor, contexts_N: Sequence[Sequence[int]], penalty: float) -> Tensor:
    logits_NV = logits_NV.clone()
    for logits_V, context in zip(logits_NV, contexts_N, strict=True):
        ids = torch.tensor(sorted(set(context)), device=logits_V.device)
        said = logits_V[ids]
        logits_V[ids] = torch.where(said > 0, said / penalty, said * penalty)
    return logits_NV


def drawn(p_NV: Tensor, node_R: Tensor, uniform_R: Tensor) -> Tensor:
    """Return one id per row, by the inverse of its cumulative distribution (Devroye 1986, II.2).

    Blocks of ids are summed first and one of them is looked into. Across blocks sums are in
    float64, so that the error stays that of float32 sums of `BLOCK` numbers. An id of probability 0
    is never drawn. Row r draws from distribution `node_R[r]`, which need not sum to exactly 1, by a
    number in [0, 1), float64.

    >>> p_NV = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    >>> uniform_R = torch.tensor([0.49, 0.51, 0.99], dtype=torch.float64)
    >>> drawn(p_NV, torch.tensor([0, 0, 1]), uniform_R).tolist()
    [0, 2, 1]
    """
    size = p_NV.shape[1]
    width = min(BLOCK, size)
    mass_NK = p_NV.unfold(-1, width, width).sum(-1)
    rest_N1 = p_NV[:, mass_NK.shape[1] * width :].sum(-1, keepdim=True)
    mass_NK = torch.cat([mass_NK, rest_N1], dim=1).double()
    sum_RK = mass_NK.cumsum(-1)[node_R]
    aim_R1 = uniform_R[:, None] * sum_RK[:, -1:]
    block_R1 = _reached(sum_RK, aim_R1)
    before_R1 = (sum_RK - mass_NK[node_R]).gather(1, block_R1)
    id_RB = block_R1 * width + torch.arange(width, device=p_NV.device)
    p_RB = p_NV[node_R[:, None], id_RB.clamp(max=size - 1)].double().masked_fill(id_RB >= size, 0)
    place_R1 = _reached(p_RB.cumsum(-1), (aim_R1 - before_R1).clamp(min=0))
    return (block_R1 * width + place_R1)[:, 0]


def uniform(seeds: Sequence[int], count: int) -> Tensor:
    """Return so many numbers in [0, 1) of the stream of every seed, [seeds, count], float64.

    SplitMix64 (Steele, Lea and Flood 2014, figure 16), whose n-th number needs none before it: no
    library draws from thousands of streams at once. Seeds are from 0 to 2^64 - 1.

    >>> uniform([0, 1], 2).shape, bool((uniform([5], 3)[:, :2] == uniform([5], 2)).all())
    (torch.Size([2, 2]), True)
    """
    step_T = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x_RT = np.array(seeds, dtype=np.uint64)[:, None] + step_T
    x_RT = (x_RT ^ (x_RT >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x_RT = (x_RT ^ (x_RT >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x_RT ^= x_RT >> np.uint64(31)
    return torch.from_numpy((x_RT >> np.uint64(11)) * 2.0**-53)


def _reached(sum_RK: Tensor, aim_R1: Tensor) -> Tensor:
    """Return where a growing sum first exceeds its aim, or else where it grows last."""
    last_R1 = torch.searchsorted(sum_RK, sum_RK[:, -1:].contiguous())
    return torch.searchsorted(sum_RK, aim_R1, right=True).minimum(last_R1)
