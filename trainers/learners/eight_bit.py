"""AdamW whose moments have 8 bits: blocks of 256 numbers share a scale (torchao).

Tensors of fewer than 4,096 elements, or not of whole blocks, keep moments in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, missing_extra
from coevo.trainers import ranks

PARTS = ("codes", "scale", "qmap")
"""What a quantised moment is made of."""
BLOCK, SMALL = 256, 4096


def adamw8bit(groups: list[dict[str, Any]], **settings: Any) -> torch.optim.Optimizer:
    """Return the optimiser.

    Args:
        groups: of parameters.
        settings: lr, betas, weight_decay.

    Raises:
        ConfigError: torchao is missing, or there are several ranks.
    """
    if ranks.count() > 1:
        raise ConfigError(
            f"optim.optimiser='adamw8bit' and {ranks.count()} ranks contradict each other: shards "
            "have moments of 32 bits; use adamw"
        )
    try:
        from torchao.optim import AdamW8bit
    except ImportError:
        raise missing_extra("torchao", "torchao") from None
    return cast("torch.optim.Optimizer", AdamW8bit(groups, block_size=BLOCK, **settings))


def parts_of(tensor: Tensor) -> dict[str, Tensor]:
    """Return what a moment is made of, by the ending of its name; plain ones are one part."""
    if not hasattr(tensor, "codes"):
        return {"": tensor}
    return {f".{part}": getattr(tensor, part) for part in PARTS}


def joined(slots: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return moments by name, put together again from the parts of all of them."""
    found = {name: t for name, t in slots.items() if "." not in name}
    for name in {name.partition(".")[0] for name in slots if "." in name}:
        from torchao.optim.subclass_8bit import OptimState8bit

        own = [slots[f"{name}.{part}"] for part in PARTS]
        found[name] = OptimState8bit(*own, signed=name != "exp_avg_sq")
    return found


def moments_size(p: Tensor) -> int:
    """Return the bytes that the moments of a parameter will take."""
    n = p.numel()
    return 2 * (4 * n if n < SMALL or n % BLOCK else n + 4 * n // BLOCK)
