"""vLLM as an engine: it samples, and learners publish weights to it through files in memory.

It runs in this process or in one of its own; both are asked in the same way.

Whole models are written as one file each and loaded in place when another is asked for than the
one that is loaded. Every version of an adapter is a folder with a number of its own, so that
several answer in one batch and nothing that was cached for one is taken for another's.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor, nn

from coevo.agents.engines.engine import Ask, Engine, EngineError, Prompt, Sample, unpublished
from coevo.agents.engines.logit_processors import GuidedChoice, LogitProcessor
from coevo.agents.engines.processes import MemoryFolder, answer, unsignalled
from coevo.agents.engines.settings import Vllm
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.models.adapters import is_adapted, save_adapter
from coevo.agents.sampling import Ids, SamplingConfig
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError

WORKER = "coevo.agents.engines.vllm_worker"
P = ParamSpec("P")
T = TypeVar("T")
BLOCK = 32
"""Tokens of a block of keys and values on a CPU; the start of a prompt is found in whole blocks."""
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
    """Runs vLLM, which is started when it is asked first.

    Args:
        source: folder or Hub id of the start model.
        settings: size, precision and place.

    Raises:
        ConfigError: the settings ask for what this process or machine does not have.
    """

    def __init__(self, source: str, settings: Vllm) -> None:
        _check_place(settings)
        self.source, self.settings = source, settings
        self._folder = MemoryFolder()
        self._numbers = itertools.count(1)
        self._published: dict[str, Published] = {}
        self._loaded: Path | None = None
        """File or folder of the weights that are loaded; None where there are none."""
        self._llm: Any = None
        self._processes: list[BaseProcess] = []
        """Those of its own, where it has some."""
        self._asleep = False
        self._torch = TorchEngine()
        self._closed = ""
        self._one = threading.RLock()
        """Held by the one call that runs; episodes that are played ahead ask from other threads."""

    @_alone
    def publish(self, policy: PolicyRef, model: nn.Module) -> None:
        number, old = next(self._numbers), self._published.get(policy.name)
        path = self._folder.path / f"{number}"
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
        old = self._published.pop(name, None)
        self._torch.retire(name)
        if old is not None:
            self._drop(old)

    @_alone
    def generate(self, asks: Sequence[Ask]) -> list[list[Sample]]:
        """Draw the replies of all adapters in one batch; whole models take turns."""
        found: list[list[Sample]] = [[] for _ in asks]
        known = {n: self._known(a.policy) for n, a in enumerate(asks) if a.prompts}
        together: dict[Path, list[int]] = {}
        for n, published in known.items():
            weights = Path(self.source) if published.number else published.path
            together.setdefault(weights, []).append(n)
        for weights, numbers in together.items():
            given = [each for n in numbers for each in _rows(known[n], asks[n])]
            outputs = iter(self._asked(partial(self._ask, weights, given)))
            for n in numbers:
                found[n] = [_sample(o.outputs[0]) for o in islice(outputs, len(asks[n].prompts))]
        return found

    def logprobs(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        replies: Sequence[Ids],
        sampling: SamplingConfig,
        processors: Sequence[LogitProcessor] = (),
    ) -> list[Tensor]:
        """Ask the learner's own model: vLLM scores without temperature and processors."""
        return self._torch.logprobs(policy, prompts, replies, sampling, processors)

    @_alone
    def rest(self) -> None:
        """Let vLLM sleep as deeply as its settings say; the next request wakes it."""
        level = self.settings.sleep_level
        if not level or self._llm is None or self._asleep:
            return
        if level == 2:
            self._asked(self._forget_weights)
        self._asked(lambda: self._llm.sleep(level=level))
        self._asleep = True

    def close(self, reason: str = "it was closed") -> None:
        self._closed = self._closed or reason
        llm, self._llm = self._llm, None
        if llm is not None:
            llm.llm_engine.engine_core.shutdown()

    def _asked(self, question: Callable[[], T]) -> T:
        """Return what vLLM answers; whatever it dies of is one error."""
        if self._closed:
            raise self._stopped()
        try:
            if self._llm is None:
                self._start()
            return answer(question, self._processes)
        except (ConfigError, EngineError):
            raise
        except Exception as error:  # what vLLM raises when it dies is of many kinds
            self.close(" ".join(f"{type(error).__name__}: {error}".split())[:300])
            raise self._stopped() from error

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

    def _ask(self, weights: Path, rows: Sequence[Wanted]) -> Any:
        from vllm import SamplingParams
        from vllm.lora.request import LoRARequest

        self._wake()
        self._load(weights)
        prompts = [{"prompt_token_ids": list(row.prompt.ids)} for row in rows]
        params = [SamplingParams(**row.params) for row in rows]
        who = {row.who for row in rows if row.who.number}
        loras = {w: LoRARequest(str(w.policy), w.number, str(w.path)) for w in who}
        adapters = [loras.get(row.who) for row in rows]
        return self._llm.generate(prompts, params, lora_request=adapters, use_tqdm=False)

    def _wake(self) -> None:
        if self._asleep:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()  # what the learner has computed with and let go
            self._llm.wake_up()
            self._asleep = False

    def _start(self) -> None:
        before = {*multiprocessing.active_children()}
        with torch.random.fork_rng(devices=[]):  # vLLM seeds torch's generator
            self._llm = self._made()
        self._processes = [p for p in multiprocessing.active_children() if p not in before]
        if self.settings.own_process:
            self._llm.collective_rpc("follow", args=(os.getpid(),))
        self._loaded = Path(self.source)

    def _made(self) -> Any:
        given = self.settings
        quiet = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
        cores = {"VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        if given.own_process:
            cores["OMP_NUM_THREADS"] = str(torch.get_num_threads())
        for name, value in (quiet | cores).items():
            os.environ.setdefault(name, value)
        os.environ |= {
            "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(given.own_process)),
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # the learner has threads, and may have a GPU
            "VLLM_USE_V2_MODEL_RUNNER": "0",
        }
        try:
            from vllm import LLM
            from vllm.platforms import current_platform
        except ModuleNotFoundError:
            raise ConfigError(f"engine=vllm: {INSTALL}") from None
        memory: dict[str, Any] = {"gpu_memory_utilization": given.gpu_memory_utilization}
        if current_platform.is_cpu():
            memory = {"kv_cache_memory_bytes": round(given.cache_gib * 2**30), "block_size": BLOCK}
        with unsignalled() if given.own_process else contextlib.nullcontext():
            return LLM(
                self.source,
                **memory,
                dtype=given.dtype,
                max_model_len=given.context,
                max_num_seqs=given.batch,
                enforce_eager=True,
                logprobs_mode="processed_logprobs",  # of the distribution that is sampled from
                enable_chunked_prefill=False,  # with seeds it stops the engine on a CPU
                enable_sleep_mode=given.sleep_level > 0,
                skip_tokenizer_init=True,
                use_tqdm_on_load=False,
                enable_lora=any(p.number for p in self._published.values()),
                max_loras=given.adapters,
                max_lora_rank=given.max_rank,
                worker_extension_cls=f"{WORKER}.WorkerExtension",
                logits_processors=[f"{WORKER}:Guided"],
            )

    def _load(self, path: Path) -> None:
        """Put whole weights in place.

        Args:
            path: a published file, or the folder or Hub id of the start model.
        """
        if path == self._loaded:
            return
        (missing,) = self._llm.collective_rpc("load_files", args=(_weight_files(path),))
        if missing and self._loaded is None:
            raise ConfigError(
                f"engine.sleep_level=2 has dropped weights that {path} does not have, such as "
                f"{missing[0]}; set it to 1"
            )
        self._llm.reset_prefix_cache()  # else new samples rest on old keys and values
        self._loaded = path

    def _forget_weights(self) -> None:
        """Let the next question load all weights anew, those of adapters too."""
        for published in self._published.values():
            if published.number:
                self._llm.llm_engine.remove_lora(published.number)
        self._loaded = None

    def _drop(self, old: Published) -> None:
        if not old.number:
            old.path.unlink()
            return
        if self._llm is not None:
            self._asked(lambda: self._llm.llm_engine.remove_lora(old.number))
        shutil.rmtree(old.path)


def _check_place(settings: Vllm) -> None:
    """Refuse what a process or a machine cannot do."""
    if settings.gives_way and not torch.cuda.is_available():
        raise ConfigError(
            f"engine.{settings.gives_way} gives back memory of a GPU, and torch sees none here; "
            "leave it out"
        )
    ranks = dist.get_world_size() if dist.is_initialized() else 1  # vLLM's own group has one
    if ranks > 1 and not settings.own_process:
        raise ConfigError(
            "engine=vllm takes torch's process group, which the ranks of this run need; "
            "set engine.own_process=true"
        )


def _weight_files(path: Path) -> list[str]:
    """Return the safetensors files of a published file, a folder, or a Hub id in the cache."""
    from huggingface_hub import snapshot_download  # a third of a second, which few runs need

    if path.is_file():
        return [str(path)]
    folder = path if path.is_dir() else Path(snapshot_download(str(path), local_files_only=True))
    found = sorted(map(str, folder.glob("*.safetensors")))
    if not found:
        raise ConfigError(f"engine=vllm: {path} has no weights as safetensors")
    return found


def _check(sampling: SamplingConfig) -> None:
    temperature = sampling.temperature
    if temperature and not COLDEST <= temperature <= HOTTEST:
        raise ConfigError(
            f"sampling.temperature={temperature:g} must be 0 or from {COLDEST} to {HOTTEST:g} with "
            "engine=vllm; engine=torch takes others"
        )


def _guide(processors: Sequence[LogitProcessor]) -> GuidedChoice | None:
    """Return the one processor that workers can apply."""
    for processor in processors:
        if not isinstance(processor, GuidedChoice) or len(processors) > 1:
            raise ConfigError(
                f"engine=vllm applies one guided choice and not {type(processor).__name__} beside "
                "it; use engine=torch"
            )
    return next((p for p in processors if isinstance(p, GuidedChoice)), None)


@dataclass(frozen=True)
class Wanted:
    """One reply that is to be drawn."""

    who: Published
    prompt: Prompt
    params: Mapping[str, Any]
    """Fields of its `SamplingParams`."""


def _rows(who: Published, ask: Ask) -> Iterator[Wanted]:
    """Yield the replies that a policy asks for.

    Raises:
        ConfigError: vLLM cannot draw them so.
    """
    _check(ask.sampling)
    guide = _guide(ask.processors)
    common = {
        "temperature": ask.sampling.temperature,
        **ask.sampling.filters,
        "max_tokens": ask.sampling.max_new_tokens,
        "logprobs": 0,
        "detokenize": False,
        "ignore_eos": True,
        "stop_token_ids": list(ask.end_ids),
    }
    for prompt, seed in zip(ask.prompts, ask.seeds, strict=True):
        extra = None
        if guide is not None and prompt.choices:
            extra = {"guide": asdict(guide), "choices": prompt.choices}
        params = {**common, "seed": seed >> 1, "extra_args": extra}  # no larger seeds there
        yield Wanted(who, prompt, params)


def _whole(model: nn.Module) -> dict[str, Tensor]:
    """Return all weights of a model; what is tied stands once, under its first name."""
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict().items():
        found.setdefault(tensor.data_ptr(), (name, tensor))
    return {name: t.detach().cpu().contiguous() for name, t in found.values()}


def _sample(output: Any) -> Sample:
    ids = [int(i) for i in output.token_ids]
    logprobs = [float(seen[i].logprob) for i, seen in zip(ids, output.logprobs, strict=True)]
    return Sample(ids, logprobs)
