"""A small multilayer perceptron in NumPy, to play a trained policy without its framework.

One observation takes 70 microseconds, half of what a step of a text environment takes, so past
selves can sit in the other seats; one row through the policies of stable-baselines3 takes longer
than the step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coevo.envs.core.errors import DataError, unknown

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "none": lambda x: x,
}
"""What stands between two layers; `none` where there is but one."""
KINDS = ("softmax", "greedy")


@dataclass(frozen=True)
class Network:
    """Layers, and how their outputs become odds.

    h_0 = x, h_k = f(W_k h_k-1 + b_k), and the outputs are the last layer's without f.
    """

    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    """(W [out, in], b [out]) from the first to the last."""
    activation: str
    """One of `ACTIVATIONS`."""
    kind: str
    """`softmax`: outputs are logits; `greedy`: outputs are values, the highest is taken."""
    masked: bool = False
    """Whether illegal actions are ruled out."""
    epsilon: float = 0.0
    """Share of random actions when it plays as an opponent; reports never have any."""
    name: str = "past_self"
    """Of the player, in records."""

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise unknown("activation", self.activation, ACTIVATIONS)
        if self.kind not in KINDS:
            raise unknown("kind of network", self.kind, KINDS)
        sizes = [(w.shape[1], w.shape[0], b.shape[0]) for w, b in self.layers]
        joined = all(a[1] == b[0] for a, b in itertools.pairwise(sizes))
        if not sizes or not joined or any(out != bias for _, out, bias in sizes):
            raise DataError(f"layers of shapes {sizes} (in, out, bias) do not fit together")

    @property
    def inputs(self) -> int:
        return int(self.layers[0][0].shape[1])

    @property
    def actions(self) -> int:
        return int(self.layers[-1][0].shape[0])

    def outputs(self, seen_BD: np.ndarray) -> np.ndarray:
        """Return the last layer's outputs, [rows, actions]."""
        f, h_BD = ACTIVATIONS[self.activation], seen_BD
        for weight, bias in self.layers[:-1]:
            h_BD = f(h_BD @ weight.T + bias)
        weight, bias = self.layers[-1]
        return np.asarray(h_BD @ weight.T + bias, dtype=np.float64)

    def odds(self, seen_BD: np.ndarray, mask_BA: np.ndarray) -> np.ndarray:
        """Return the probability of every action; 0 where the mask is False.

        softmax: p_a = exp(z_a) / sum_b exp(z_b) over what the mask leaves
        greedy:  p_a = 1 for the highest z_a that the mask leaves, the first of equals

        >>> net = Network([(np.array([[1.0], [2.0], [9.0]]), np.zeros(3))], "none", "softmax")
        >>> seen, mask = np.array([[np.log(2)]]), np.array([[True, True, False]])
        >>> net.odds(seen, mask).round(4).tolist()
        [[0.3333, 0.6667, 0.0]]
        """
        z_BA = np.where(mask_BA, self.outputs(seen_BD), -np.inf)
        if self.kind == "greedy":
            return np.eye(self.actions)[z_BA.argmax(axis=1)]
        p_BA = np.exp(z_BA - z_BA.max(axis=1, keepdims=True))
        return p_BA / p_BA.sum(axis=1, keepdims=True)

    def __call__(self, seen: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        """Draw an action, as a player in the vector view."""
        allowed = mask if self.masked else np.ones_like(mask)
        if self.epsilon and rng.random() < self.epsilon:
            return int(rng.choice(np.flatnonzero(allowed)))
        edges = np.cumsum(self.odds(seen[None], allowed[None])[0])
        return min(int(np.searchsorted(edges, rng.random() * edges[-1], "right")), len(edges) - 1)

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the weights by name, as they are stored."""
        named = {f"{k}.weight": w for k, (w, _) in enumerate(self.layers)}
        return named | {f"{k}.bias": b for k, (_, b) in enumerate(self.layers)}


def layers_of(tensors: Mapping[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Put stored weights in order.

    >>> layers_of({"0.bias": np.zeros(2), "0.weight": np.ones((2, 3))})[0][0].shape
    (2, 3)
    """
    try:
        pairs = range(len(tensors) // 2)
        return [(tensors[f"{k}.weight"], tensors[f"{k}.bias"]) for k in pairs]
    except KeyError as error:
        raise DataError(f"the weights lack {error.args[0]}: found {sorted(tensors)}") from None
