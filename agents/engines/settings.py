"""Which engine samples the tokens of a run."""

from __future__ import annotations

from typing import Annotated, Literal

from coevo.envs.core.config import choice, config, named, real, whole


@config
class TorchConfig:
    """The model itself, in this process."""

    name: Literal["torch"] = "torch"


@config
class VllmConfig:
    """vLLM in this process; weights are published to it after every update.

    One engine holds the start model. Adapters lie beside it, several at a time; whole models take
    turns in it.
    """

    name: Literal["vllm"] = "vllm"
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Of its weights. In bfloat16 log-probabilities differ from the learner's by about 0.01 to 0.03
    a token; correct for it (`loss.is_correction`)."""
    context: Annotated[int, whole(2)] | None = None
    """Longest prompt and reply, in tokens; None takes what the model allows."""
    cache_gib: Annotated[float, real(above=0)] = 1.0
    """Memory for keys and values, on a CPU."""
    batch: Annotated[int, whole(1)] = 256
    """Replies that are written at the same time."""
    adapters: Annotated[int, whole(1)] = 4
    """Adapters that answer at the same time; more take turns."""
    max_rank: Annotated[int, whole(1)] = 16
    """Largest rank of an adapter."""


EngineConfig = Annotated[TorchConfig | VllmConfig, choice(), named(TorchConfig, VllmConfig)]
"""Where the tokens of policies come from."""
