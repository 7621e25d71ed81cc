"""vLLM as an engine: it samples, and learners publish weights to it through files in memory.

Whole models are written as one file each and loaded in place when another is asked for than the
one that is loaded. Every version of an adapter is a folder with a number of its own, so that
several answer in one batch and nothing that was cached for one is taken for another's.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from coevo.agents.adapters import is_adapted, save_adapter
from coevo.agents.engines.engine import Engine, EngineError, Prompt, Sample, unpublished
from coevo.agents.engines.settings import VllmConfig
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.sampling import Ids, SamplingConfig, allowed_next
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError

SHARED = Path("/dev/shm")
"""Where files lie in memory."""
WORKER = "coevo.agents.engines.vllm_worker"
P = ParamSpec("P")
T = TypeVar("T")
COLDEST, HOTTEST = 0.01, 2.0
"""Range of vLLM's temperatures; lower ones would be raised without a word."""
INSTALL = "vLLM is not installed; docs/tutorials/engines.md says how to"


@dataclass(frozen=True)
class Published:
    """What answers for a name."""

    policy: PolicyRef
    path: Path
    """File of all weights, or folder of an adapter."""
    number: int = 0
    """Of an adapter; 0 is a whole model."""


def _alone(
    call: Callable[Concatenate[VllmEngine, P], T],
) -> Callable[Concatenate[VllmEngine, P], T]:
    """Let no other such call of an engine run beside one."""

    @functools.wraps(call)
    def held(self: VllmEngine, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._one:
            return call(self, *args, **kwargs)

    return held


class VllmEngine(Engine):
    """Runs vLLM in this process.

    Args:
        source: folder or Hub id of the start model.
        settings: size and precision.
    """

    def __init__(self, source: str, settings: VllmConfig) -> None:
        self.source, self.settings = source, settings
        place = SHARED if os.access(SHARED, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="coevo_", dir=place)
        self._numbers = itertools.count(1)
        self._published: dict[str, Published] = {}
        self._loaded: Path | None = None
        """File of the weights that are loaded; None is the start model."""
        self._llm: Any = None
        self._torch = TorchEngine()
        self._closed = ""
        self._one = threading.RLock()
        """Held by the one call that runs; episodes that are played ahead ask from other threads."""

    @_alone
    def publish(self, policy: PolicyRef, model: nn.Module) -> None:
        """Write weights to where vLLM reads them."""
        number, old = next(self._numbers), self._published.get(policy.name)
        path = Path(self._folder.name) / f"{number}"
        if is_adapted(model):
            save_adapter(model, path)
            self._published[policy.name] = Published(policy, path, number)
        else:
            save_file(_whole(model), path)
            self._published[policy.name] = Published(policy, path)
        self._torch.publish(policy, model)
        if old is not None:
            self._drop(old)

    @_alone
    def retire(self, name: str) -> None:
        """Forget the weights of a name."""
        old = self._published.pop(name, None)
        self._torch.retire(name)
        if old is not None:
            self._drop(old)

    @_alone
    def generate(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        sampling: SamplingConfig,
        seeds: Sequence[int],
        end_ids: Sequence[int] = (),
    ) -> list[Sample]:
        """Draw one reply per prompt."""
        if not prompts:
            return []
        known = self._known(policy)
        _check(sampling)
        try:
            outputs = self._ask(known, prompts, sampling, seeds, end_ids)
        except (ConfigError, EngineError):
            raise
        except Exception as error:  # what vLLM raises when it dies is of many kinds
            self.close(" ".join(f"{type(error).__name__}: {error}".split())[:300])
            raise self._stopped() from error
        return [_sample(p, o.outputs[0]) for p, o in zip(prompts, outputs, strict=True)]

    def logprobs(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        replies: Sequence[Ids],
        sampling: SamplingConfig,
    ) -> list[Tensor]:
        """Ask the learner's own model: vLLM scores without temperature and mask."""
        return self._torch.logprobs(policy, prompts, replies, sampling)

    def close(self, reason: str = "it was closed") -> None:
        """Stop vLLM and free its memory."""
        self._closed = self._closed or reason
        llm, self._llm = self._llm, None
        if llm is not None:
            llm.llm_engine.engine_core.shutdown()

    def _stopped(self) -> EngineError:
        return EngineError(
            f"the vLLM engine has stopped ({self._closed}); continue from the last checkpoint with "
            "--resume, which starts a new one"
        )

    def _known(self, policy: PolicyRef) -> Published:
        known = self._published.get(policy.name)
        if known is None or known.policy != policy:
            raise unpublished(policy, [p.policy for p in self._published.values()])
        return known

    def _ask(
        self,
        known: Published,
        prompts: Sequence[Prompt],
        sampling: SamplingConfig,
        seeds: Sequence[int],
        end_ids: Sequence[int],
    ) -> Any:
        llm = self._engine()
        from vllm import SamplingParams
        from vllm.lora.request import LoRARequest

        self._load(None if known.number else known.path)
        params = [
            SamplingParams(
                temperature=sampling.temperature,
                **sampling.filters,
                max_tokens=sampling.max_new_tokens,
                seed=seed >> 1,  # it takes no larger ones
                logprobs=0,
                detokenize=False,
                ignore_eos=True,
                stop_token_ids=list(end_ids),
                extra_args={"choices": p.choices} if p.choices else None,
            )
            for p, seed in zip(prompts, seeds, strict=True)
        ]
        lora = None
        if known.number:
            lora = LoRARequest(str(known.policy), known.number, str(known.path))
        given = [{"prompt_token_ids": list(p.ids)} for p in prompts]
        return llm.generate(given, params, lora_request=lora, use_tqdm=False)

    def _engine(self) -> Any:
        """Return vLLM, started when it is needed first."""
        if self._closed:
            raise self._stopped()
        if self._llm is None:
            with torch.random.fork_rng(devices=[]):  # vLLM seeds torch's generator
                self._llm = self._start()
        return self._llm

    def _start(self) -> Any:
        given = self.settings
        cores = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1"}
        cores["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, round(given.cache_gib)))
        quiet = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
        for name, value in (cores | quiet).items():
            os.environ.setdefault(name, value)
        os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_USE_V2_MODEL_RUNNER": "0"}
        try:
            from vllm import LLM
        except ModuleNotFoundError:
            raise ConfigError(f"engine={{name: vllm}}: {INSTALL}") from None
        return LLM(
            self.source,
            dtype=given.dtype,
            max_model_len=given.context,
            max_num_seqs=given.batch,
            enforce_eager=True,
            logprobs_mode="processed_logprobs",  # of the distribution that is sampled from
            enable_chunked_prefill=False,  # with seeds it stops the engine on a CPU
            skip_tokenizer_init=True,
            enable_lora=any(p.number for p in self._published.values()),
            max_loras=given.adapters,
            max_lora_rank=given.max_rank,
            worker_extension_cls=f"{WORKER}.InPlace",
            logits_processors=[f"{WORKER}:Choices"],
        )

    def _load(self, path: Path | None) -> None:
        """Put whole weights in place, those of the start model for None."""
        if path == self._loaded:
            return
        files = [path] if path else sorted(Path(self.source).glob("*.safetensors"))
        self._llm.collective_rpc("load_files", args=([str(f) for f in files],))
        self._llm.reset_prefix_cache()  # else new samples rest on old keys and values
        self._loaded = path

    def _drop(self, old: Published) -> None:
        if not old.number:
            old.path.unlink()
            return
        if self._llm is not None:
            self._llm.llm_engine.remove_lora(old.number)
        shutil.rmtree(old.path)


def _check(sampling: SamplingConfig) -> None:
    temperature = sampling.temperature
    if temperature and not COLDEST <= temperature <= HOTTEST:
        raise ConfigError(
            f"sampling.temperature={temperature:g} must be 0 or from {COLDEST} to {HOTTEST:g} with "
            "engine={name: vllm}; engine=torch takes others"
        )


def _whole(model: nn.Module) -> dict[str, Tensor]:
    """Return all weights of a model; what is tied stands once, under its first name."""
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict().items():
        found.setdefault(tensor.data_ptr(), (name, tensor))
    return {name: t.detach().cpu().contiguous() for name, t in found.values()}


def _sample(prompt: Prompt, output: Any) -> Sample:
    ids = [int(i) for i in output.token_ids]
    logprobs = [float(seen[i].logprob) for i, seen in zip(ids, output.logprobs, strict=True)]
    return Sample(ids, logprobs, [allowed_next(prompt.choices, ids[:n]) for n in range(len(ids))])
