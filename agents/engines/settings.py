"""Which engine samples the tokens of a run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from coevo.envs.core.config import choice, config, real, whole


@config
class Torch:
    """The model itself, in this process."""

    gives_way: ClassVar = ""
    name: Literal["torch"] = "torch"
    cache_gib: Annotated[float, real(0)] = 1.0
    """Memory of each policy, at most, for keys and values of chats that go on, so that a turn reads
    only what is new; 0 reads all chats anew."""


@config
class Vllm:
    """vLLM; weights are published to it after every update.

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
    gpu_memory_utilization: Annotated[float, real(above=0, high=1)] = 0.5
    """Share of a GPU's memory that it takes, for weights, keys and values; what learns on the same
    GPU has the rest."""
    sleep_level: Literal[0, 1, 2] = 0
    """What it gives back of a GPU while the learner computes: 0 nothing; 1 keys and values are
    dropped and its weights lie in main memory; 2 both are dropped, and the weights read again from
    what was published last."""
    own_process: bool = False
    """Whether it runs in a process of its own, which starts more slowly and leaves torch's threads,
    seeds and process group to the learner."""
    batch: Annotated[int, whole(1)] = 256
    """Replies that are written at the same time."""
    adapters: Annotated[int, whole(1)] = 4
    """Adapters that answer at the same time; more take turns."""
    max_rank: Annotated[int, whole(1)] = 16
    """Largest rank of an adapter."""

    @property
    def gives_way(self) -> str:
        """The setting by which it sleeps while a learner computes; empty where it does not."""
        return f"sleep_level={self.sleep_level}" if self.sleep_level else ""


EngineConfig = Annotated[Torch | Vllm, choice(Torch, Vllm)]
"""Where the tokens of policies come from."""
