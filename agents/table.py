"""A tabular policy: a row of logits for every prompt, a column for every legal move.

The smallest policy that the shipped loop trains, exact where a language model is approximate. A
prompt gets its row when it is met first; one token is a whole move, so a token sequence is the
number of the row and the number of the move. It needs a list of legal moves at every turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import one_hot

from coevo.agents.agent import Reply, Request
from coevo.agents.policy import Policy
from coevo.agents.scoring import Scored, Span
from coevo.envs.core.errors import ConfigError, legible
from coevo.envs.core.parsing import answer, parse_move

ROWS, MOVES = 4096, 64
"""Most prompts and most legal moves of a table."""
WEIGHTS, PROMPTS = "table.safetensors", "table.json"
CLOSED = -1e30
"""Logit of a column without a move: finite, so that 0 times it is 0."""


class Table(nn.Module):
    """Logits of moves by prompt, uniform at first."""

    def __init__(self, rows: int = ROWS, moves: int = MOVES) -> None:
        super().__init__()
        self.logits_RA = nn.Parameter(torch.zeros(rows, moves, dtype=torch.float64))

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows, [N, A]."""
        return self.logits_RA[row_N]


class Rows:
    """Which prompt has which row, and how many moves it allows; all policies of a run share it."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}
        self.moves: list[int] = []

    def known(self, request: Request) -> tuple[str, int | None]:
        """Return the key of a request's prompt, and its row if it has one."""
        legal = request.info["legal_actions"]
        if not legal:
            raise ConfigError(
                f"seat {request.seat} may say anything here, but a table needs listed moves"
            )
        key = json.dumps([[m["content"] for m in request.chat], list(legal)])
        return key, self.of.get(key)

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
            self.of[key] = row
            self.moves.append(moves)
        return row


class TabularPolicy(Policy):
    """Draws a legal move from the row of its prompt.

    Args:
        model: the table, or anything else that maps rows to logits.
        rows: shared by all tables of a run.
        **common: as of `Policy`.
    """

    def __init__(self, model: nn.Module, rows: Rows | None = None, **common: Any) -> None:
        super().__init__(model, **common)
        self.rows = rows or Rows()

    @property
    def hidden_size(self) -> int:
        """A critic sees which row it is."""
        return ROWS

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Draw one move per request."""
        rows = [self.rows.row(r) for r in requests]
        with torch.no_grad():
            logp_NA = self._logits(torch.tensor(rows), self.model).log_softmax(-1)
        if self.sampling.temperature:
            arm_N = torch.multinomial(logp_NA.exp(), 1, generator=self._generator).squeeze(1)
        else:
            arm_N = logp_NA.argmax(1)
        drawn = zip(requests, rows, arm_N.tolist(), logp_NA, strict=True)
        self.sampled_tokens += len(rows)
        return [
            Reply(answer(r.info["legal_actions"][arm]), [row], [arm], [float(logp_A[arm])])
            for r, row, arm, logp_A in drawn
        ]

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of every legal move; a prompt not met yet is uniform."""
        out = []
        for request in requests:
            moves = len(request.info["legal_actions"])
            row = self.rows.known(request)[1]
            logits_A = torch.zeros(1, moves, dtype=torch.float64)
            if row is not None:
                logits_A = self._logits(torch.tensor([row]), self.model)[:, :moves].detach()
            out.append(logits_A.log_softmax(-1)[0].numpy())
        return out

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the probability of every legal move."""
        return [np.exp(logp) for logp in self.move_logprobs(requests)]

    def read_without(self, request: Request, reply: Reply) -> list[int]:
        """Return the row of a prompt."""
        return [self.rows.row(request)]

    def spell(self, request: Request, text: str) -> Reply:
        """Return the row of a prompt and the column of a move."""
        legal = request.info["legal_actions"] or ()
        move = parse_move(text, legal).move
        if move not in legal:
            raise ConfigError(f"a table has no move for {text[:60]!r}; expected one of {legal[:6]}")
        return Reply(text, [self.rows.row(request)], [list(legal).index(move)], [0.0])

    def reward_head(self) -> nn.Module:
        """Return a table of its own: a number for every prompt and move."""
        return Table()

    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        """Look the numbers up."""
        assert scored.hidden_NH is not None  # asked for
        row_N = scored.hidden_NH.argmax(-1)
        found: Tensor = head(row_N).gather(1, scored.ids_N.unsqueeze(1)).squeeze(1)
        return found

    def score(
        self,
        spans: Sequence[Span],
        model: nn.Module | None = None,
        hidden: bool = False,
        autocast: torch.dtype | None = None,
    ) -> Scored:
        """Look the moves up."""
        row_N = torch.tensor([s.ids[0] for s in spans])
        logits_NA = self._logits(row_N, model or self.model)
        hidden_NH = one_hot(row_N, ROWS).float() if hidden else None
        ids_N = torch.tensor([s.ids[1] for s in spans])
        return Scored(lambda part: logits_NA[part], ids_N, hidden_NH)

    def _logits(self, row_N: Tensor, model: nn.Module) -> Tensor:
        """Return logits over the temperature; columns without a move are closed."""
        logits_NA = model(row_N) / (self.sampling.temperature or 1.0)
        moves_N1 = torch.tensor([self.rows.moves[row] for row in row_N.tolist()]).unsqueeze(1)
        return logits_NA.masked_fill(torch.arange(logits_NA.shape[1]) >= moves_N1, CLOSED)

    def write(self, folder: Path, model: nn.Module) -> None:
        """Write the table, and which prompt has which row."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: t.detach().clone() for name, t in model.state_dict().items()}
        save_file(tensors, folder / WEIGHTS)
        text = json.dumps({"prompts": list(self.rows.of), "moves": self.rows.moves})
        (folder / PROMPTS).write_text(text, encoding="utf-8")

    def read(self, folder: Path) -> Mapping[str, Tensor]:
        """Return the table that `write` wrote."""
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


def load_table(folder: Path, **common: Any) -> TabularPolicy:
    """Return the tabular policy of a folder."""
    policy = TabularPolicy(Table(), **common)
    tensors = dict(policy.read(folder))
    with legible(folder / WEIGHTS):
        policy.model.load_state_dict(tensors)
    return policy
