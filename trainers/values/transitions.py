"""Transitions of finished episodes, and the memory that keeps the newest of them.

A transition is a time-step of some seats: what each saw and did, what it was paid, what each sees
next. Arrays stay in the tokens of their prompts, which hold only the numbers that are not 0.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.agents.models.nets import NetShape, decoded
from coevo.envs.core.episode import Episode, StopReason, Turn

Seen = NDArray[np.int64]
"""Tokens of a prompt, int64; empty where a seat is not asked."""
NOTHING: Seen = np.zeros(0, dtype=np.int64)
CALLED = "called"
"""Note of the turns whose moves a centre chose."""


@dataclass(frozen=True, eq=False)
class Transition:
    """One time-step of some seats."""

    owners: tuple[str, ...]
    """Parameter set of every seat."""
    seen: tuple[Seen, ...]
    moves: tuple[int, ...]
    """Token of the move of every seat; 0 where it was not asked."""
    reward: float
    """Paid until the next time-step, on average over the seats."""
    then: tuple[Seen, ...]
    """What they see next; nothing after the end."""
    called: bool = False
    """Whether a centre chose the moves."""


def transitions(
    episode: Episode, owners: Mapping[str, str], weights: Mapping[str, float]
) -> Iterator[Transition]:
    """Yield the transitions of some seats together, oldest first.

    Replies of one round are one time-step. What was cut off has no known successor, and its last
    time-step is left out, as is all of an episode that ended in an error.

    Args:
        episode: finished and rewarded.
        owners: seat -> parameter set, of the seats that count.
        weights: of reward components; 1 where not given.
    """
    turns, seats = episode.turns, tuple(owners)
    own = [i for i, t in enumerate(turns) if t.agent in owners and t.token_ids]
    if not own or episode.stop is StopReason.ERROR:
        return
    starts = [i for k, i in enumerate(own) if not k or turns[own[k - 1]].round != turns[i].round]
    spans = [turns[a:b] for a, b in pairwise([0, *starts[1:], len(turns)])]
    steps = [{t.agent: t for t in span if t.agent in owners and t.token_ids} for span in spans]
    seen = [tuple(_seen(step.get(s)) for s in seats) for step in steps]
    after = [*seen[1:], (NOTHING,) * len(seats)]
    cut = episode.stop is StopReason.TURN_LIMIT
    for step, span, now, then in list(zip(steps, spans, seen, after, strict=True))[: -cut or None]:
        moves = tuple(_token(step.get(s)) for s in seats)
        called = any(t.notes.get(CALLED) for t in step.values())
        paid = _paid(span, seats, weights)
        yield Transition(tuple(owners.values()), now, moves, paid, then, called)


def _seen(turn: Turn | None) -> Seen:
    return NOTHING if turn is None else np.array(turn.prompt_ids, dtype=np.int64)


def _token(turn: Turn | None) -> int:
    return 0 if turn is None or not turn.token_ids else turn.token_ids[0]


def _paid(span: Sequence[Turn], seats: Sequence[str], weights: Mapping[str, float]) -> float:
    paid = sum(
        weights.get(component, 1.0) * rewards.get(seat, 0.0)
        for turn in span
        for component, rewards in turn.rewards.items()
        for seat in seats
    )
    return paid / len(seats)


def joined(seen: Sequence[Sequence[Seen]], shape: NetShape) -> Tensor:
    """Return the arrays of all seats, one after the other, [B, S]; zeros where one is not asked."""
    return _decoded(seen, shape)[..., : math.prod(shape.array)].flatten(1)


def legal(seen: Sequence[Sequence[Seen]], shape: NetShape) -> Tensor:
    """Return the legal moves of all seats, [B, N, A]; none of a seat that is not asked."""
    return _decoded(seen, shape)[..., math.prod(shape.array) :] > 0


def _decoded(seen: Sequence[Sequence[Seen]], shape: NetShape) -> Tensor:
    """Return the arrays and the legal moves of seats, [B, N, D]."""
    width = math.prod(shape.array) + shape.moves
    at = [(b, i) for b, row in enumerate(seen) for i, s in enumerate(row) if len(s)]
    found_BND = torch.zeros(len(seen), len(seen[0]), width)
    if at:
        found_BND[tuple(torch.tensor(at).T)] = decoded([seen[b][i] for b, i in at], width)[0]
    return found_BND


class Transitions:
    """The newest transitions of a run."""

    def __init__(self) -> None:
        self.kept: deque[Transition] = deque()

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, found: Sequence[Transition], most: int) -> None:
        """Keep new transitions; beyond so many the oldest go."""
        self.kept.extend(found)
        while len(self.kept) > most:
            self.kept.popleft()

    def draw(self, count: int, rng: np.random.Generator) -> list[Transition]:
        """Draw transitions with replacement, all with equal chances."""
        return [self.kept[i] for i in rng.integers(len(self.kept), size=count).tolist()]

    def state_dict(self) -> dict[str, Any]:
        """Return the names of the parameter sets of every distinct group of seats."""
        return {"owners": [list(names) for names in dict.fromkeys(t.owners for t in self.kept)]}

    def tensors(self) -> dict[str, Tensor]:
        """Return the rest: every prompt once, and the transitions by their numbers."""
        if not self.kept:
            return {}
        number, prompts = dict[int, int](), list[Seen]()
        for seen in itertools.chain(*((*t.seen, *t.then) for t in self.kept)):
            if id(seen) not in number:
                number[id(seen)] = len(prompts)
                prompts.append(seen)
        owners = list(dict.fromkeys(t.owners for t in self.kept))
        widths = [len(t.owners) for t in self.kept]
        flat = itertools.chain.from_iterable
        return {
            "ids": torch.from_numpy(np.concatenate(prompts)),
            "lengths": torch.tensor([len(p) for p in prompts]),
            "owners": torch.tensor([owners.index(t.owners) for t in self.kept]),
            "widths": torch.tensor(widths),
            "seen": torch.tensor([number[id(s)] for s in flat(t.seen for t in self.kept)]),
            "then": torch.tensor([number[id(s)] for s in flat(t.then for t in self.kept)]),
            "moves": torch.tensor(list(flat(t.moves for t in self.kept))),
            "reward": torch.tensor([t.reward for t in self.kept], dtype=torch.float64),
            "called": torch.tensor([t.called for t in self.kept]),
        }

    def load(self, state: Mapping[str, Any], given: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` and `tensors` gave."""
        self.kept.clear()
        if "ids" not in given:
            return
        owners = [tuple(map(str, names)) for names in state["owners"]]
        every = given["ids"].split(given["lengths"].tolist())
        prompts = [p.numpy() if len(p) else NOTHING for p in every]
        widths = given["widths"].tolist()
        cut = [given[name].split(widths) for name in ("seen", "then", "moves")]
        numbers = (given[name].tolist() for name in ("owners", "reward", "called"))
        for (whose, reward, called), seen, then, moves in zip(
            zip(*numbers, strict=True), *cut, strict=True
        ):
            now, after = (tuple(prompts[i] for i in x.tolist()) for x in (seen, then))
            kept = Transition(owners[whose], now, tuple(moves.tolist()), reward, after, called)
            self.kept.append(kept)
