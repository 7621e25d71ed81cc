"""Parts: the components of a reward before they are one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.rewards import RESERVED
from coevo.trainers.estimators.groups import wide


class Parts(NamedTuple):
    """What a composer is given and what it gives back."""

    reward_BTK: Tensor
    """Reward of every turn and component; float64 and 0 at padding once `checked`."""
    components: tuple[str, ...]
    """Names of the K components."""
    weights: Mapping[str, float]
    """Factor per component, 1 where not given; empty once they are used up."""
    mask_BT: Tensor
    """True at real turns."""
    state: Mapping[str, Any]
    """What is kept from batch to batch: JSON values, a composer's own under `<its name>/...`."""

    def at(self, name: str) -> int:
        """Return the place of a component among the K.

        Raises:
            UnknownNameError: The batch has no such component.
        """
        if name not in self.components:
            raise unknown("reward component", name, self.components)
        return self.components.index(name)

    def weight_K(self) -> Tensor:
        """Return the weight of every component."""
        return self.reward_BTK.new_tensor([self.weights.get(n, 1.0) for n in self.components])

    def outcome_BK(self) -> Tensor:
        """Sum every component over the turns of its trajectory."""
        return self.reward_BTK.sum(1)

    def means(self) -> dict[str, float]:
        """Return the mean outcome of every component; nothing for a batch without a real turn."""
        real_B = self.mask_BT.any(1)
        if not bool(real_B.any()):
            return {}
        mean_K = self.outcome_BK()[real_B].mean(0)
        return dict(zip(self.components, mean_K.tolist(), strict=True))

    def one(self, reward_BT: Tensor, state: Mapping[str, Any] | None = None) -> Parts:
        """Return parts with a single component, `reward`: the weights are used up."""
        after = self.state if state is None else {**self.state, **state}
        return Parts(reward_BT.unsqueeze(-1), ("reward",), {}, self.mask_BT, after)


def check_weights(weights: Mapping[str, float], modules: Iterable[str]) -> None:
    """Refuse the weight of a reward that nobody gives.

    Args:
        weights: factor per component.
        modules: components that reward modules give, beside those of the engine.

    >>> check_weights({"payoff": 1.0, "formt": 0.5}, ["format"])
    Traceback (most recent call last):
    coevo.envs.core.errors.UnknownNameError: unknown reward in advantage.reward_weights 'formt'; \
did you mean 'format'? Known: format, illegal, payoff
    """
    known = {*RESERVED, *modules}
    for name in weights:
        if name not in known:
            raise unknown("reward in advantage.reward_weights", name, known)


def checked(parts: Parts) -> Parts:
    """Check parts, widen their rewards and set padding to 0, whatever it held.

    Raises:
        UnknownNameError: A weight names a component that the batch lacks.
        ConfigError: Shapes disagree, or a weight or the reward of a real turn is not finite.

    >>> reward_BTK = torch.tensor([[[1.0], [torch.nan]]], dtype=torch.bfloat16)
    >>> parts = Parts(reward_BTK, ("payoff",), {}, torch.tensor([[True, False]]), {})
    >>> checked(parts).reward_BTK.tolist()
    [[[1.0], [0.0]]]
    """
    shape, expected = tuple(parts.reward_BTK.shape), (*parts.mask_BT.shape, len(parts.components))
    if shape != expected or parts.mask_BT.ndim != 2 or not parts.components:
        raise ConfigError(f"reward_BTK has shape {shape}; mask and components expect {expected}")
    for name, weight in parts.weights.items():
        if name not in {*parts.components, *RESERVED}:  # a batch may hold no illegal reply
            raise unknown("reward component", name, parts.components)
        if not isfinite(weight):
            raise ConfigError(f"the weight of {name!r} is {weight}; it must be finite")
    reward_BTK = torch.where(parts.mask_BT.bool().unsqueeze(-1), wide(parts.reward_BTK), 0.0)
    finite_K = reward_BTK.isfinite().flatten(0, 1).all(0)
    for name, finite in zip(parts.components, finite_K.tolist(), strict=True):
        if not finite:
            raise ConfigError(f"the reward {name!r} of a real turn is not finite")
    return parts._replace(reward_BTK=reward_BTK, mask_BT=parts.mask_BT.bool())
