"""Classes that vLLM loads by name: weights in place, and guided choice.

vLLM 0.32 packs matrices for the CPU when it loads them and forgets the originals: afterwards
`load_weights` fails half way, and `reload_weights` leaves a tied output layer as it was without a
word. This module is imported before the model is made and asks for plain matrix products instead.
"""

from __future__ import annotations

import os
import select
import threading
from typing import Any

import torch
from safetensors.torch import load_file
from vllm.platforms import current_platform
from vllm.v1.sample.logits_processor import LogitsProcessor

from coevo.agents.engines.logit_processors import GuidedChoice, Place
from coevo.agents.sampling import Ids


def _unpacked(layer: Any, remove_weight: bool) -> None:
    layer.cpu_linear = torch.nn.functional.linear


if current_platform.is_cpu():
    import vllm.model_executor.layers.utils as layers

    layers.dispatch_cpu_unquantized_gemm = _unpacked


class WorkerExtension:
    """What becomes a part of vLLM's worker, called by name."""

    model_runner: Any

    def follow(self, pid: int) -> None:
        """End as soon as another process does, which vLLM outlives if that is killed."""
        process = os.pidfd_open(pid)

        def end() -> None:
            select.select([process], [], [])
            os._exit(1)

        threading.Thread(target=end, name="coevo-follows", daemon=True).start()

    def load_files(self, paths: list[str]) -> list[str]:
        """Overwrite the model's weights by those of safetensors files, named as transformers do.

        Returns:
            Names of the weights that no file has.
        """
        model, loaded = self.model_runner.model, set[str]()
        for path in paths:
            loaded |= set(model.load_weights(load_file(path).items()) or ())
        # Layers with room for adapters have their weights one level deeper.
        loaded = {name.replace(".base_layer.", ".") for name in loaded}
        names = {name.replace(".base_layer.", ".") for name, _ in model.named_parameters()}
        return sorted(names - loaded)


class Guided(LogitsProcessor):
    """Applies the guided choice of every request that has one."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self.rows: dict[int, tuple[GuidedChoice, tuple[Ids, ...], list[int]]] = {}

    def is_argmax_invariant(self) -> bool:
        """Return False: the likeliest id may be ruled out."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow requests that come, go and change places; what is written grows in its list."""
        if batch_update is None:
            return
        for row in batch_update.removed:
            self.rows.pop(row, None)
        for row, params, _, written in batch_update.added:
            self.rows.pop(row, None)
            if given := params.extra_args:
                choices = tuple(map(tuple, given["choices"]))
                self.rows[row] = _guide(given["guide"]), choices, written
        for one, two, direction in batch_update.moved:
            here, there = self.rows.pop(one, None), self.rows.pop(two, None)
            if here is not None:
                self.rows[two] = here
            if there is not None and direction.name == "SWAP":
                self.rows[one] = there

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Rule out what guided choice does not allow."""
        for row, (guide, choices, written) in self.rows.items():
            place = Place((), written, len(written), choices)
            logits[row] = guide(logits[row : row + 1], [place])[0]
        return logits


def _guide(fields: dict[str, Any]) -> GuidedChoice:
    """Return what a message between processes, which knows lists only, stands for."""
    tags, end_ids = (tuple(fields[name]) for name in ("tags", "end_ids"))
    return GuidedChoice(**{**fields, "tags": tags, "end_ids": end_ids})
