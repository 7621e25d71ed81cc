"""Small torch networks over arrays: a multilayer perceptron or convolutions, perhaps with a memory.

    net                         two layers of 64 units
    net:conv,hidden=32          16 channels of 3 x 3 cells, then one layer of 32 units
    net:conv,gru                the same with 64 units and a GRU over the arrays of the episode

What a network reads is a token sequence like any other: the numbers of an array that are not 0,
each with its place, then the moves that are legal, then the move that was made, then the next
array. A prompt holds all that its reply depends on, so replay and checkpoints need nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from coevo.agents.sampling import Ids
from coevo.envs.core.config import config, parse, read, whole
from coevo.envs.core.errors import ConfigError, unknown

Tokens = Ids | NDArray[np.int64]
NET = "net"
BODIES, GRU = ("mlp", "conv"), "gru"
FIRST = 2**32
"""Smallest token of an array; smaller ones are moves."""
ONE = int(np.float32(1).view(np.uint32))
SMALL = 0.01
"""Factor on the start weights of the outputs, so that all moves are about equally likely."""


@config
class NetSettings:
    """How a network is built."""

    body: Literal["mlp", "conv"] = "mlp"
    """Layers on all numbers, or 3 x 3 convolutions on planes and one layer."""
    memory: Literal["none", "gru"] = "none"
    """Whether a GRU reads the arrays of the episode up to now."""
    hidden: Annotated[int, whole(1, 1024)] = 64
    """Units of a layer, and of the memory."""
    layers: Annotated[int, whole(1, 8)] = 2
    """Layers of an mlp, or convolutions."""
    channels: Annotated[int, whole(1, 256)] = 16
    """Of a convolution."""


class NetShape(NamedTuple):
    """What a network reads and says, as an environment has it."""

    array: tuple[int, ...]
    """Shape of `Task.array`."""
    moves: int
    """How many numbers moves may have (`Task.numbers`)."""
    values: bool = False
    """Whether outputs are values of moves, of which the highest is played, and no logits."""


def is_net(source: str) -> bool:
    """Return whether a start model is a network that is made for its environment."""
    return source.partition(":")[0] == NET


def net_settings(source: str) -> NetSettings:
    """Read the name of a network.

    >>> net_settings("net:conv,hidden=32").channels
    16

    Raises:
        ConfigError: a part of the name is unknown, or a number does not fit.
    """
    found: dict[str, Any] = {}
    for part in filter(None, source.partition(":")[2].split(",")):
        word, equals, value = part.strip().partition("=")
        if equals:
            found[word] = parse(value)
        elif word in BODIES:
            found["body"] = word
        elif word == GRU:
            found["memory"] = word
        else:
            raise unknown(f"part of {source!r}", word, [*BODIES, GRU, "hidden=64"])
    return read(NetSettings, found, source)


class NetRead(NamedTuple):
    """What a network makes of token sequences: of all their steps, sequence after sequence."""

    features_MH: Tensor
    outputs_MA: Tensor
    """Of every move, legal or not."""
    legal_MA: Tensor
    steps: list[int]
    """How many each sequence has: one for every array in it."""


class Net(nn.Module):
    """Outputs for every move, from the arrays of token sequences.

    Args:
        settings: how it is built.
        shape: of what it reads and says.
        seed: of its start weights.
    """

    def __init__(self, settings: NetSettings, shape: NetShape, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.shape = settings, shape
        self.size = math.prod(shape.array)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.body = _conv(settings, shape) if settings.body == "conv" else self._mlp()
            hidden = settings.hidden
            recurrent = settings.memory == GRU
            self.gru = nn.GRU(hidden, hidden, batch_first=True) if recurrent else None
            self.head = nn.Linear(hidden, shape.moves)
        with torch.no_grad():
            self.head.weight.mul_(SMALL)
            self.head.bias.zero_()

    def _mlp(self) -> nn.Sequential:
        widths = [self.size, *[self.settings.hidden] * self.settings.layers]
        layers = ((nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(widths))
        return nn.Sequential(*chain(*layers))

    def forward(self, rows: Sequence[Tokens]) -> NetRead:
        """Read token sequences."""
        known_MD, steps = decoded(rows, self.size + self.shape.moves)
        seen_MD, legal_MA = known_MD.split([self.size, self.shape.moves], dim=1)
        features_MH = self._remembered(self.body(seen_MD), steps)
        return NetRead(features_MH, self.head(features_MH), legal_MA > 0, steps)

    def _remembered(self, features_MH: Tensor, steps: Sequence[int]) -> Tensor:
        if self.gru is None:
            return features_MH
        padded_NTH, _ = self.gru(pad_sequence(features_MH.split(list(steps)), batch_first=True))
        at_NT = torch.arange(padded_NTH.shape[1]) < torch.tensor(steps).unsqueeze(1)
        return padded_NTH[at_NT]


def _conv(settings: NetSettings, shape: NetShape) -> nn.Sequential:
    if len(shape.array) != 3:
        raise ConfigError(
            f"net:conv reads planes, but arrays here have the shape {shape.array}; take net:mlp"
        )
    planes, rows, columns = shape.array
    widths = [planes, *[settings.channels] * settings.layers]
    layers = chain(*((nn.Conv2d(a, b, 3, padding=1), nn.ReLU()) for a, b in pairwise(widths)))
    flat = settings.channels * rows * columns
    last = (nn.Flatten(), nn.Linear(flat, settings.hidden), nn.ReLU())
    return nn.Sequential(nn.Unflatten(1, shape.array), *layers, *last)


def encoded(array: np.ndarray, moves: Iterable[int]) -> list[int]:
    """Return an array and the numbers of the legal moves as tokens.

    >>> rows = [encoded(np.array([0.0, 0.5]), [1])]
    >>> decoded(rows, 4)[0].tolist()
    [[0.0, 0.5, 0.0, 1.0]]
    """
    flat = np.ascontiguousarray(array, dtype=np.float32).ravel()
    at = np.flatnonzero(flat)
    seen: list[int] = ((at + 1) * FIRST + flat[at].view(np.uint32)).tolist()
    return seen + [(flat.size + number + 1) * FIRST + ONE for number in moves]


def decoded(rows: Sequence[Tokens], width: int) -> tuple[Tensor, list[int]]:
    """Return the arrays in token sequences, with their legal moves.

    Args:
        rows: sequences of arrays and, between or behind them, moves.
        width: numbers of an array, and of moves.

    Returns:
        All steps of all sequences [M, width], and how many steps each sequence has.
    """
    lengths = np.array([len(row) for row in rows])
    ids = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    starts = np.zeros(len(ids), dtype=bool)
    is_array = ids >= FIRST
    starts[1:] = is_array[1:] & ~is_array[:-1]
    starts[np.cumsum(lengths) - lengths] = True
    step = np.cumsum(starts) - 1
    found = np.zeros((int(starts.sum()), width), dtype=np.float32)
    seen = ids[is_array]
    bits = (seen % FIRST).astype(np.uint32)
    found[step[is_array], seen // FIRST - 1] = bits.view(np.float32)
    counts = np.add.reduceat(starts.astype(np.int64), np.cumsum(lengths) - lengths)
    return torch.from_numpy(found), counts.tolist()
