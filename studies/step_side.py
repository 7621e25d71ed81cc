"""What both sides of `train_throughput` share: models, the meter, and steps on demand.

A side is a process of its own. It reads a case from the JSON file that it is given, says `ready`,
then takes one whole GRPO step (generate, score, update) for every line it reads, and answers with
a JSON line of what the step took. It imports nothing of coevo, which TRL's environment lacks.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEBI = 2**20

Case = dict[str, Any]


def read_case() -> Case:
    """Return the case of the file that the command line names, in a quiet process."""
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    case: Case = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.set_num_threads(case["threads"])
    torch.manual_seed(0)
    return case


def model_of(case: Case) -> tuple[PreTrainedModel, Any]:
    """Return the model of a case, from its folder or at random from its shape, and a tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(case["tokenizer"], local_files_only=True)
    dtype = getattr(torch, case["dtype"])
    if isinstance(case["model"], str):
        made = AutoModelForCausalLM.from_pretrained(case["model"], dtype=dtype)
        return made.to(case["device"]).eval(), tokenizer
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    shape = AutoConfig.for_model(**case["model"], **ends)
    with torch.device(case["device"]):
        made = AutoModelForCausalLM.from_config(shape, dtype=dtype)
    return made.eval(), tokenizer


class Meter:
    """Seconds of the wall and of the processor, and the most memory that was held.

    On a CPU memory is what the process holds, libraries included; `base` is what was held at first.
    """

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        self.start()
        self.base = self.held

    def start(self) -> None:
        """Begin to measure."""
        if self.cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            self.held = torch.cuda.memory_allocated() / MEBI
        else:
            CLEAR.write_text("5", encoding="ascii")  # the high-water mark starts anew
            self.held = _status("VmRSS")
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def stop(self, tokens: int, prompt_tokens: int = 0) -> dict[str, float]:
        """Return what was measured since the start.

        Args:
            tokens: that replies have in the mean.
            prompt_tokens: that prompts have in the mean.
        """
        if self.cuda:
            torch.cuda.synchronize()
        return {
            "seconds": time.perf_counter() - self.wall,
            "processor": time.process_time() - self.processor,
            "peak": torch.cuda.max_memory_allocated() / MEBI if self.cuda else _status("VmHWM"),
            "base": self.base,
            "tokens": tokens,
            "prompt_tokens": prompt_tokens,
        }


def wait() -> None:
    """Wait for the next line; the end of input ends the process."""
    if not sys.stdin.readline():
        raise SystemExit(0)


def say(data: Any) -> None:
    """Answer with a line; whatever libraries print goes elsewhere."""
    _OUT.write(json.dumps(data) + "\n")
    _OUT.flush()


def serve(step: Callable[[], dict[str, float]]) -> None:
    """Take a step for every line."""
    say("ready")
    while True:
        wait()
        say(step())


def reward(ids: list[int]) -> float:
    """Return a reward that differs between replies of any model: whether their ids sum to odd."""
    return float(sum(ids) % 2)


def _status(name: str) -> float:
    lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="ascii").splitlines())
    return int(lines[name].split()[0]) / 1024


_OUT, sys.stdout = sys.stdout, sys.stderr
