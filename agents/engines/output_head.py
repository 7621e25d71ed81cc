"""The output layer of a language model: from hidden states to logits, apart from its trunk.

A causal language model of transformers computes the logits of all positions at once. Taken apart,
they can be computed for the tokens that count, a piece at a time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from coevo.envs.core.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Head = Callable[[Tensor], Tensor]
"""Hidden states [n, H] -> logits [n, V], float32."""

NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm")
"""What the last norm is called in models of transformers."""
PROBE = (1, 2, 3)
TOLERANCE = 1e-3
"""Of a log-probability, between a model and its parts; other formulas differ by far more."""

_TRUNKS: weakref.WeakSet[PreTrainedModel] = weakref.WeakSet()
"""Models that give hidden states where they are called."""
_CHECKED: weakref.WeakKeyDictionary[PreTrainedModel, bool] = weakref.WeakKeyDictionary()


def output_head(model: PreTrainedModel) -> Head | None:
    """Return what makes a model's logits of its last hidden states.

    Returns:
        None where the parts do not give what the whole gives, which is tried once per model: the
        architecture scales or caps its logits in a way that is not known here.
    """
    if model not in _CHECKED:
        _CHECKED[model] = _agrees(model)
    return _composed(_inner(model)) if _CHECKED[model] else None


def trunk(model: PreTrainedModel) -> nn.Module:
    """Return what makes the last hidden states, without the output layer."""
    return model if model in _TRUNKS else _inner(model).base_model


def last_norm(model: PreTrainedModel) -> nn.Module:
    """Return the norm between the last layer and the output layer.

    Raises:
        ConfigError: none is known by its usual names.
    """
    inside = trunk(model)
    for name in NORMS:
        if isinstance(found := getattr(inside, name, None), nn.Module):
            return found
    raise ConfigError(f"{type(model).__name__} has no last norm called {', '.join(NORMS)}")


def as_trunk(model: PreTrainedModel, like: PreTrainedModel) -> None:
    """Let a model make hidden states where it is called, and logits no more.

    What gathers the weights of a sharded model does so around the call of the whole.

    Args:
        model: a copy of the other one.
        like: whose parts are known, or are tried now.
    """
    known = output_head(like) is not None
    _CHECKED[model] = known
    if known:
        inside = trunk(model)
        _TRUNKS.add(model)
        model.forward = inside.forward


def _inner(model: PreTrainedModel) -> PreTrainedModel:
    """Return the language model itself, where an adapter is wrapped around it."""
    if hasattr(model, "peft_config"):
        return cast("PreTrainedModel", cast("Any", model).get_base_model())
    return model


def _composed(model: PreTrainedModel) -> Head:
    config = model.config.get_text_config()
    layer = model.get_output_embeddings()
    cap = getattr(config, "final_logit_softcapping", None) or getattr(
        config, "logits_soft_cap", None
    )
    factor = (getattr(config, "logit_scale", None) or 1.0) / (
        getattr(config, "logits_scaling", None) or 1.0
    )

    def head(hidden_NH: Tensor) -> Tensor:
        logits_NV = layer(hidden_NH).float()
        if factor != 1:
            logits_NV = logits_NV * factor
        return logits_NV if cap is None else torch.tanh(logits_NV / cap) * cap

    return head


@torch.no_grad()
def _agrees(model: PreTrainedModel) -> bool:
    inner = _inner(model)
    if inner.get_output_embeddings() is None or trunk(model) is inner:
        return False
    vocabulary = model.config.get_text_config().vocab_size
    ids = torch.tensor([[i % vocabulary for i in PROBE]], device=model.device)
    whole = model(input_ids=ids, use_cache=False).logits[0].float()
    hidden = trunk(model)(input_ids=ids, use_cache=False).last_hidden_state[0]
    layer = inner.get_output_embeddings()
    if hidden.shape[-1] != getattr(layer, "in_features", hidden.shape[-1]):
        return False  # there is more between them than the output layer
    parts = _composed(inner)(hidden)
    gap = (parts.log_softmax(-1) - whole.log_softmax(-1)).abs().max()
    return bool(gap < TOLERANCE * max(1.0, float(whole.abs().max())))
