"""A small network over arrays as a policy of the shipped loop: `--model net`.

It reads no text: a seat's array (`Task.array`) and the numbers of its legal moves make a prompt,
one token is a whole move. It needs a list of legal moves at every turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from coevo.agents.agent import Numbers, Request
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.logit_processors import CLOSED
from coevo.agents.engines.move_engine import MoveEngine, closed
from coevo.agents.engines.prefix_tree import Row
from coevo.agents.engines.scoring import InnerLayer, Scored, Span
from coevo.agents.models.folders import NET_CARD
from coevo.agents.models.nets import Net, NetRead, NetSettings, NetShape, encoded
from coevo.agents.move_policy import MovePolicy
from coevo.agents.sampling import SamplingConfig
from coevo.agents.weights import Weights
from coevo.envs.core.config import plain, read
from coevo.envs.core.errors import ConfigError, legible

WEIGHTS = "net.safetensors"


class NetWeights(Weights):
    """A network over arrays."""

    model: Net

    @property
    def hidden_size(self) -> int:
        return self.model.settings.hidden

    def in_rows(self, spans: Sequence[Span], longest: int) -> list[Row]:
        """Return each alone; what a pass costs are its arrays, not the tokens that spell them."""
        return [Row((i,), len(s.starts)) for i, s in enumerate(spans)]

    def reward_head(self) -> nn.Module:
        head = nn.Linear(self.hidden_size, self.model.shape.moves)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        return head

    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        assert scored.hidden_NH is not None  # asked for
        found: Tensor = head(scored.hidden_NH).gather(1, scored.ids_N.unsqueeze(1)).squeeze(1)
        return found

    def reads_like(self, other: Weights) -> bool:
        return isinstance(other, NetWeights) and other.model.shape == self.model.shape

    def score(
        self,
        spans: Sequence[Span],
        sampling: SamplingConfig,
        model: nn.Module | None = None,
        hidden: bool = False,
        autocast: torch.dtype | None = None,
        rows: Sequence[Sequence[int]] | None = None,
        inner: InnerLayer | None = None,
    ) -> Scored:
        if inner is not None:
            raise ConfigError(
                f"layer {inner.layer} of a network over arrays has no policy; take a language model"
            )
        found: NetRead = (model or self.model)([s.ids for s in spans])
        logits_NA = _logits(found, sampling, self.model.shape.values)
        ids_N = torch.tensor([s.ids[at] for s in spans for at in s.starts])
        return Scored(lambda part: logits_NA[part], ids_N, found.features_MH if hidden else None)

    def write(self, folder: Path, model: nn.Module) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: t.detach().clone() for name, t in model.state_dict().items()}
        save_file(tensors, folder / WEIGHTS)
        card = {"settings": plain(self.model.settings), **self.model.shape._asdict()}
        (folder / NET_CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")

    def write_frozen(self, folder: Path) -> None:
        self.write(folder, self.model)

    def read(self, folder: Path) -> Mapping[str, Tensor]:
        with legible(folder / WEIGHTS):
            return dict(load_file(folder / WEIGHTS))


class NetPolicy(MovePolicy):
    """Draws a legal move from what a network says of its array.

    With a memory it reads the arrays and moves of its conversation up to now, which a request
    without a conversation does not have.
    """

    reads_numbers = True
    kind: ClassVar = "a network over arrays"

    def __init__(self, model: Net, **common: Any) -> None:
        super().__init__(NetWeights(model), MoveEngine(read_arrays), **common)

    @property
    def plays_ahead(self) -> bool:  # type: ignore[override]  # it depends on the network
        """Whether a copy may play elsewhere; who learns values plays by twins that explore."""
        return not self.model.shape.values

    @property
    def gives_probabilities(self) -> bool:
        """Whether a move depends on what its seat sees now alone."""
        return self.model.gru is None

    def exploring(self, epsilon: float) -> Self:
        """Return a player with the same values that makes a random legal move with this chance."""
        twin = self.drawing(replace(self.sampling, temperature=1.0))
        twin.engine = MoveEngine(partial(read_arrays, epsilon=epsilon))
        twin.publish(self.version)
        return twin

    def forget(self) -> None:
        self._read: dict[str, list[int]] = {}
        """Conversation -> the tokens up to and including the last move."""

    def _noted(self, request: Request, ids: Sequence[int]) -> None:
        if self.model.gru is not None and request.conversation:
            self._read[request.conversation] = list(ids)

    def _prompt(self, request: Request) -> Prompt:
        known = self._numbers(request)
        before = self._read.get(request.conversation, [])
        ids = (*before, *encoded(known.array, known.moves))
        return Prompt(ids, tuple((number,) for number in known.moves))

    def _move(self, request: Request, token: int) -> str:
        return self._numbers(request).moves[token]

    def _numbers(self, request: Request) -> Numbers:
        known, shape = request.numbers, self.model.shape
        if known is None:
            raise ConfigError(
                f"{self.name} reads arrays, and {request.seat} was given text alone: a network "
                "plays in environments, and answers no questions of judges"
            )
        if known.array.shape != shape.array or max(known.moves) >= shape.moves:
            raise ConfigError(
                f"{self.name} was made for arrays of shape {shape.array} and {shape.moves} moves; "
                f"{request.seat} has {known.array.shape} and move number {max(known.moves)}"
            )
        return known

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of every legal move, in the order of `legal_actions`."""
        if not self.gives_probabilities:
            raise ConfigError(
                f"{self.name} has a memory: what it says depends on its episode, and is measured "
                "by games alone"
            )
        found = []
        for request in requests:
            known, legal = self._numbers(request), request.info["legal_actions"]
            tokens = {move: number for number, move in known.moves.items()}
            reply = tuple(tokens[move] for move in legal)
            (logp_A,) = self.engine.logprobs(
                self.ref, [self._prompt(request)], [reply], self.sampling
            )
            found.append(logp_A.double().numpy())
        return found


def read_arrays(
    model: nn.Module,
    prompts: Sequence[Prompt],
    sampling: SamplingConfig,
    epsilon: float = 0.0,
) -> Tensor:
    """Return what a network says of the last arrays of prompts; see `MoveEngine`.

    Args:
        model: a network.
        prompts: contexts.
        sampling: how moves are drawn.
        epsilon: chance of a random move, where outputs are values.
    """
    found: NetRead = model([p.ids for p in prompts])
    last_N = torch.tensor(found.steps).cumsum(0) - 1
    values = cast("Net", model).shape.values
    return _logits(found, sampling, values, epsilon)[last_N]


def _logits(found: NetRead, sampling: SamplingConfig, values: bool, epsilon: float = 0.0) -> Tensor:
    """Return logits over the temperature; of values, that the highest legal one is played."""
    legal_MA = found.legal_MA
    if not values:
        return closed(found.outputs_MA, legal_MA, sampling)
    best_M1 = found.outputs_MA.masked_fill(~legal_MA, CLOSED).argmax(-1, keepdim=True)
    odds_MA = epsilon * legal_MA / legal_MA.sum(-1, keepdim=True)
    odds_MA = odds_MA.scatter_add(1, best_M1, odds_MA.new_full(best_M1.shape, 1 - epsilon))
    return odds_MA.log().clamp(min=CLOSED)


def load_net(folder: Path, **common: Any) -> NetPolicy:
    """Return the network of a folder as a policy."""
    with legible(folder / NET_CARD):
        card = json.loads((folder / NET_CARD).read_text(encoding="utf-8"))
        settings: NetSettings = read(NetSettings, card["settings"])
        array = tuple(map(int, card["array"]))
        shape = NetShape(array, int(card["moves"]), bool(card["values"]))
    policy = NetPolicy(Net(settings, shape), **common)
    tensors = dict(policy.weights.read(folder))
    with legible(folder / WEIGHTS):
        policy.model.load_state_dict(tensors)
    return policy
