"""A tabular policy: a row of logits for every prompt, a column for every legal move.

The smallest policy that the shipped loop trains, exact where a language model is approximate. A
prompt gets its row when it is met first; one token is a whole move, so a token sequence is the
number of the row and the number of the move. It needs a list of legal moves at every turn.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import one_hot

from coevo.agents.agent import Request
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.move_engine import MoveEngine, closed
from coevo.agents.engines.scoring import InnerLayer, Scored, Span
from coevo.agents.models.folders import PROMPTS
from coevo.agents.move_policy import MovePolicy
from coevo.agents.sampling import Ids, SamplingConfig, filtered
from coevo.agents.weights import Weights
from coevo.envs.core.errors import ConfigError, legible

ROWS, MOVES = 4096, 64
"""Most prompts and most legal moves of a table."""
WEIGHTS = "table.safetensors"


class Table(nn.Module):
    """Logits of moves by prompt, uniform at first."""

    def __init__(self, rows: int = ROWS, moves: int = MOVES) -> None:
        super().__init__()
        self.logits_RA = nn.Parameter(torch.zeros(rows, moves, dtype=torch.float64))

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows, [N, A]."""
        return self.logits_RA[row_N]


class Rows:
    """Which prompt has which row, and how many moves it allows; all policies of a run share it.

    Args:
        sees: what a table makes of a message: prompts that look alike to it have one row.
    """

    def __init__(self, sees: Callable[[str], str] = str) -> None:
        self.sees = sees
        self.of: dict[str, int] = {}
        self.moves: list[int] = []

    def known(self, request: Request) -> tuple[str, int | None]:
        """Return the key of a request's prompt, and its row if it has one."""
        legal = request.info["legal_actions"]
        if not legal:
            raise ConfigError(
                f"seat {request.seat} may say anything here, but a table needs listed moves"
            )
        key = self.key([m["content"] for m in request.chat], legal)
        return key, self.of.get(key)

    def key(self, messages: Sequence[str], legal: Sequence[str]) -> str:
        """Return the name of a prompt: what is seen of its messages, and the legal moves."""
        return json.dumps([list(map(self.sees, messages)), list(legal)])

    def add(self, key: str, moves: int) -> int:
        """Return the number of a new row."""
        self.moves.append(moves)
        return self.of.setdefault(key, len(self.of))

    def row(self, request: Request) -> int:
        """Return the row of a request's prompt, a new one if need be."""
        key, row = self.known(request)
        if row is None:
            row, moves = len(self.moves), len(request.info["legal_actions"])
            if row == ROWS or moves > MOVES:
                raise ConfigError(
                    f"a table holds {ROWS} prompts of at most {MOVES} moves; this is prompt number "
                    f"{row + 1}, with {moves}. Train a model instead (--model starter)"
                )
            self.add(key, moves)
        return row


class TableWeights(Weights):
    """A table, or anything else that maps rows to logits, and which prompt has which row."""

    def __init__(self, model: nn.Module, rows: Rows) -> None:
        super().__init__(model)
        self.rows = rows

    @property
    def hidden_size(self) -> int:
        """A critic sees which row it is."""
        return ROWS

    def reward_head(self) -> nn.Module:
        return Table()

    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        assert scored.hidden_NH is not None  # asked for
        row_N = scored.hidden_NH.argmax(-1)
        found: Tensor = head(row_N).gather(1, scored.ids_N.unsqueeze(1)).squeeze(1)
        return found

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
            raise ConfigError(f"a table has no layer {inner.layer}; take a language model")
        row_N = torch.tensor([s.ids[0] for s in spans])
        moves = [self.rows.moves[row] for row in row_N.tolist()]
        logits_NA = _open(model or self.model, row_N, moves, sampling)
        hidden_NH = one_hot(row_N, ROWS).float() if hidden else None
        ids_N = torch.tensor([s.ids[1] for s in spans])
        return Scored(lambda part: logits_NA[part], ids_N, hidden_NH)

    def write(self, folder: Path, model: nn.Module) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: t.detach().clone() for name, t in model.state_dict().items()}
        save_file(tensors, folder / WEIGHTS)
        text = json.dumps({"prompts": list(self.rows.of), "moves": self.rows.moves})
        (folder / PROMPTS).write_text(text, encoding="utf-8")

    def write_frozen(self, folder: Path) -> None:
        self.write(folder, self.model)

    def read(self, folder: Path) -> Mapping[str, Tensor]:
        with legible(folder / PROMPTS):
            known = json.loads((folder / PROMPTS).read_text(encoding="utf-8"))
            self.rows.of = {str(key): row for row, key in enumerate(known["prompts"])}
            self.rows.moves = [int(n) for n in known["moves"]]
            if len(self.rows.of) != len(self.rows.moves):
                raise ValueError("as many prompts as numbers of moves were expected")
            if not all(1 <= n <= MOVES for n in self.rows.moves):
                raise ValueError(f"numbers of moves from 1 to {MOVES} were expected")
        with legible(folder / WEIGHTS):
            return dict(load_file(folder / WEIGHTS))


class TabularPolicy(MovePolicy):
    """Draws a legal move from the row of its prompt; rows are shared by all tables of a run.

    A prompt has the number of the row in which it was met: two that played at once would number
    them by chance.
    """

    plays_ahead = False
    kind: ClassVar = "a table"

    def __init__(self, model: nn.Module, rows: Rows | None = None, **common: Any) -> None:
        self.rows = rows or Rows()
        super().__init__(TableWeights(model, self.rows), MoveEngine(read_rows), **common)

    def _prompt(self, request: Request) -> Prompt:
        return _prompt(self.rows.row(request), request)

    def _move(self, request: Request, token: int) -> str:
        return str(request.info["legal_actions"][token])

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of every legal move; a prompt not met yet is uniform."""
        out = []
        for request in requests:
            row = self.rows.known(request)[1]
            moves = len(request.info["legal_actions"])
            logp_A = torch.full((moves,), -float(np.log(moves)), dtype=torch.float64)
            if row is not None:
                prompt = _prompt(row, request)
                each = [prompt] * moves
                found = self.engine.logprobs(self.ref, each, prompt.choices, self.sampling)
                logp_A = torch.cat(found)
            elif self.sampling.filters:
                logp_A = filtered(logp_A[None], (), self.sampling).log_softmax(-1)[0]
            out.append(logp_A.numpy())
        return out


def _prompt(row: int, request: Request) -> Prompt:
    return Prompt((row,), _choices(len(request.info["legal_actions"])))


def read_rows(model: nn.Module, prompts: Sequence[Prompt], sampling: SamplingConfig) -> Tensor:
    """Return what a table says of prompts; see `MoveEngine`."""
    row_N = torch.tensor([p.ids[0] for p in prompts])
    return _open(model, row_N, [len(p.choices) for p in prompts], sampling)


def _open(
    model: nn.Module, row_N: Tensor, moves: Sequence[int], sampling: SamplingConfig
) -> Tensor:
    """Return logits over the temperature, [N, A]; columns without a move are closed."""
    logits_NA = model(row_N)
    columns_A = torch.arange(logits_NA.shape[1])
    return closed(logits_NA, columns_A < torch.tensor(moves).unsqueeze(1), sampling)


@functools.lru_cache(maxsize=1024)
def _choices(moves: int) -> tuple[Ids, ...]:
    return tuple((arm,) for arm in range(moves))


def load_table(folder: Path, **common: Any) -> TabularPolicy:
    """Return the tabular policy of a folder."""
    policy = TabularPolicy(Table(), **common)
    tensors = dict(policy.weights.read(folder))
    with legible(folder / WEIGHTS):
        policy.model.load_state_dict(tensors)
    return policy
