"""Learning rates for models that are not the starter model.

The algorithms' learning rates are for the starter model, of a million parameters. A larger model
gets the rate divided by its parameters in millions, at least `LOWEST`: 1e-3 becomes 8e-6 for GPT-2
(124 million) and `LOWEST` from a billion on, which is what released code uses for full fine-tuning
there (TRL's GRPOConfig has 1e-6). An adapter learns at up to `ADAPTER`, whatever it rests on.
Imitation (`sft`) bears more: there the rate falls with the square root of the parameters, and that
of an adapter not at all. Nothing is scaled where a setting of `optim` is given.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from coevo.agents.models.folders import NAMED, is_made, model_folder
from coevo.agents.population.team import Adapters
from coevo.envs.core.config import assign
from coevo.trainers.config import TrainConfig
from coevo.trainers.steps.demonstrate import Demonstrate

MILLION = 1_000_000
LOWEST = 1e-6
ADAPTER = 1e-4


def parameters(folder: Path) -> int | None:
    """Return the number of parameters in a folder's safetensors; None where that is not known.

    What is wrong with a damaged file is said when the model is loaded.
    """
    files = sorted(folder.glob("*.safetensors"))
    try:
        return sum(map(_in_file, files)) if files else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _size(model: str) -> int | None:
    """Return the parameters of a start model as a configuration names it."""
    return parameters(model_folder(model) if model in NAMED else Path(model))


def _in_file(path: Path) -> int:
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")


def suited_rate(rate: float, count: int, *, adapted: bool = False, imitates: bool = False) -> float:
    """Return the learning rate for a model of that many parameters."""
    if adapted:
        return rate if imitates else min(rate, ADAPTER)
    scaled = rate * min(1.0, MILLION / count) ** (0.5 if imitates else 1.0)
    return min(rate, max(LOWEST, float(f"{scaled:.2g}")))


def ours(model: str) -> bool:
    """Return whether the algorithms' learning rates are for this start model."""
    return model == "starter" or is_made(model)


def suited(config: TrainConfig) -> TrainConfig:
    """Return a configuration with the learning rate that suits the size of its model."""
    count = None if ours(config.model) else _size(config.model)
    if count is None:
        return config
    optim = config.algorithm.optim
    adapted = isinstance(config.algorithm.population, Adapters)
    imitates = any(isinstance(step, Demonstrate) for step in config.algorithm.cycle)
    rate = suited_rate(optim.lr, count, adapted=adapted, imitates=imitates)
    if rate == optim.lr:
        return config
    return assign(config, {"algorithm.optim.lr": rate})


def start_note(config: TrainConfig) -> str:
    """Return one line about a model that is not ours; empty for one that is."""
    if ours(config.model):
        return ""
    count = _size(config.model)
    size = f"{count:,} parameters" if count else "parameters not counted before it is loaded"
    style = config.env_options.get("prompt_style", "full")
    return (
        f"{config.model}: {size}, float32, learning rate {config.algorithm.optim.lr:g}, prompts in "
        f"{style} style, replies of up to {config.sampling.max_new_tokens} tokens; others with "
        "--set optim.lr=RATE, --env-option prompt_style=STYLE, --max-new-tokens N"
    )
