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

from coevo.agents.agent import Reply, Request
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.logit_processors import LogitProcessor
from coevo.agents.engines.scoring import InnerLayer, Scored, Span
from coevo.agents.engines.table_engine import TableEngine, open_logits
from coevo.agents.models.folders import PROMPTS
from coevo.agents.policy import Policy
from coevo.agents.sampling import Ids, SamplingConfig, filtered
from coevo.agents.weights import Weights
from coevo.envs.core.errors import ConfigError, legible
from coevo.envs.core.parsing import answer, parse_move

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
        logits_NA = open_logits(model or self.model, row_N, moves, sampling)
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


class TabularPolicy(Policy):
    """Draws a legal move from the row of its prompt; rows are shared by all tables of a run.

    A prompt has the number of the row in which it was met: two that played at once would number
    them by chance.
    """

    plays_ahead: ClassVar = False

    def __init__(self, model: nn.Module, rows: Rows | None = None, **common: Any) -> None:
        self.rows = rows or Rows()
        super().__init__(TableWeights(model, self.rows), TableEngine(), **common)

    @property
    def processors(self) -> tuple[LogitProcessor, ...]:
        """Return none: its tokens are the legal moves, guided or not."""
        if self.sampling.thoughts:
            raise ConfigError(
                f"sampling.thoughts={self.sampling.thoughts}: a table says its move at once; leave "
                "it out"
            )
        return ()

    def _in_moves(self, request: Request) -> bool:
        return True

    def _write(self, requests: Sequence[Request]) -> list[Reply]:
        prompts = [self._prompt(r, self.rows.row(r)) for r in requests]
        drawn = zip(requests, prompts, self._generate(requests, prompts), strict=True)
        return [
            Reply(
                answer(r.info["legal_actions"][s.ids[0]]),
                list(p.ids),
                s.ids,
                s.logprobs,
                policy=self.ref,
            )
            for r, p, s in drawn
        ]

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of every legal move; a prompt not met yet is uniform."""
        out = []
        for request in requests:
            row = self.rows.known(request)[1]
            moves = len(request.info["legal_actions"])
            logp_A = torch.full((moves,), -float(np.log(moves)), dtype=torch.float64)
            if row is not None:
                prompt = self._prompt(request, row)
                each = [prompt] * moves
                found = self.engine.logprobs(self.ref, each, prompt.choices, self.sampling)
                logp_A = torch.cat(found)
            elif self.sampling.filters:
                logp_A = filtered(logp_A[None], (), self.sampling).log_softmax(-1)[0]
            out.append(logp_A.numpy())
        return out

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        return [np.exp(logp) for logp in self.move_logprobs(requests)]

    def reread(self, request: Request, reply: Reply) -> list[int]:
        return [self.rows.row(request)]

    def spell(self, request: Request, text: str) -> Reply:
        legal = request.info["legal_actions"] or ()
        move = parse_move(text, legal).move
        if move not in legal:
            raise ConfigError(f"a table has no move for {text[:60]!r}; expected one of {legal[:6]}")
        return Reply(text, [self.rows.row(request)], [list(legal).index(move)], [0.0])

    def _prompt(self, request: Request, row: int) -> Prompt:
        return Prompt((row,), _choices(len(request.info["legal_actions"])))


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
