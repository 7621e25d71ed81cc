"""LoRA adapters on a base that several policies share (peft).

Every policy has modules of its own around the base's tensors, which are held once and never
trained: nothing is switched between policies, so that nothing can be switched wrongly.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from coevo.agents.models.copies import shared_copy
from coevo.envs.core.errors import ConfigError, DataError, missing_extra

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedModel

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""Files of a peft folder."""


@dataclass(frozen=True)
class Adapter:
    """Low-rank changes W + (alpha / rank) B A of linear layers; B is 0 at the start."""

    rank: int = 8
    """Columns of B."""
    alpha: float = 16.0
    """Size of the change, times the rank."""
    targets: str = "all-linear"
    """Names of the layers, separated by spaces or `+`; `all-linear` takes all but the output's."""

    def __post_init__(self) -> None:
        if self.rank < 1 or not self.alpha > 0 or not self.layers:
            raise ConfigError(
                f"adapters(rank={self.rank}, alpha={self.alpha:g}, targets={self.targets!r}): rank "
                "must be at least 1, alpha above 0, and targets must name a layer"
            )

    @property
    def layers(self) -> list[str]:
        """Names of the layers.

        >>> Adapter(targets="q_proj+v_proj").layers
        ['q_proj', 'v_proj']
        """
        return [name for name in re.split(r"[\s+;,]+", self.targets) if name]


def adapted(
    base: PreTrainedModel, adapter: Adapter, *, name: str, seed: int, source: str
) -> PreTrainedModel:
    """Return a model that shares a base's tensors and has an adapter of its own to be trained.

    Args:
        base: is frozen by this.
        adapter: size and place of the adapter.
        name: of the policy; equal names and seeds give equal start weights of A.
        seed: of the run.
        source: where the base is, for those who load the adapter with peft.
    """
    peft = _peft()
    layers = adapter.layers
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=adapter.rank,
        lora_alpha=adapter.alpha,
        target_modules=layers[0] if layers == ["all-linear"] else layers,
        base_model_name_or_path=source,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(zlib.crc32(f"{seed}/{name}".encode()))
        return _wrapped(base, config)


def _wrapped(base: PreTrainedModel, config: PeftConfig) -> PreTrainedModel:
    own: Any = shared_copy(base.requires_grad_(False))
    try:
        with warnings.catch_warnings():
            # peft 0.21 reads a property by the name that transformers 5.23 renamed
            warnings.simplefilter("ignore", FutureWarning)
            made: Any = _peft().get_peft_model(own, config)
    except ValueError as error:
        why = " ".join(str(error).split()).replace("`target_modules`", "targets")
        linear = {n.rpartition(".")[2] for n, m in base.named_modules() if isinstance(m, nn.Linear)}
        fit = sorted(name for name in linear if name not in why)
        raise ConfigError(
            f"no adapter on this model: {why}; targets may name {', '.join(fit) or 'nothing here'}"
        ) from None
    found: PreTrainedModel = made.eval()
    return found


def _peft() -> Any:
    try:
        import peft  # takes seconds, and most runs have no adapter
    except ModuleNotFoundError:
        raise missing_extra("peft", "train") from None
    return peft


def is_adapted(model: nn.Module) -> bool:
    """Return whether a model is a base with an adapter."""
    return hasattr(model, "peft_config")


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return what a model has for itself: the adapter of an adapted one, all of another."""
    if is_adapted(model):
        found: dict[str, Tensor] = _peft().get_peft_model_state_dict(
            model, save_embedding_layers=False
        )
        return found
    return dict(model.state_dict())


def load_own(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Fill a model with what `own_tensors` gave.

    Raises:
        DataError: a tensor is missing, left over, or has another shape.
    """
    if not is_adapted(model):
        model.load_state_dict(tensors)
        return
    own = {name: tuple(t.shape) for name, t in own_tensors(model).items()}
    given = {name: tuple(t.shape) for name, t in tensors.items()}
    if own != given:
        wrong = sorted(own.items() ^ given.items())[0]
        raise DataError(f"the adapter does not fit its base: {wrong[0]} of shape {wrong[1]}")
    _peft().set_peft_model_state_dict(model, dict(tensors))


def save_adapter(model: Any, folder: Path) -> None:
    """Write an adapter as a folder that peft loads as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {n: t.detach().cpu().contiguous() for n, t in own_tensors(model).items()}
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    model.peft_config["default"].save_pretrained(folder)


def load_adapter(base: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Put the adapter of a folder on a base, whose tensors are shared.

    Raises:
        DataError: the folder is damaged, or belongs to another base.
    """
    try:
        model = _wrapped(base, _peft().PeftConfig.from_pretrained(str(folder)))
        load_own(model, load_file(folder / WEIGHTS))
    except Exception as error:  # peft, json and safetensors raise many kinds
        reason = " ".join(str(error).split())[:300]
        raise DataError(f"cannot load the adapter in {folder}: {reason}") from None
    return model.requires_grad_(False)


def merged(model: Any) -> PreTrainedModel:
    """Return an ordinary model with the adapter's change added to the weights of its base.

    The base is changed by that: nothing else may use it.
    """
    found: PreTrainedModel = model.merge_and_unload()
    return found.requires_grad_(True).eval()
