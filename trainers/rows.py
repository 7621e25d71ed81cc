"""From episodes to training rows: one row per context a policy wrote in, with explicit keys.

A trajectory is what one seat did in one episode; its policy tokens, joined over its turns, are
the stream on which advantages live. A row is one token sequence with the replies written in it:
a chat that grew by appending is one row with several turns, a fresh prompt per turn gives one
row per turn. Either way a row's reply tokens are one slice of its trajectory's stream.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coevo.agents.scoring import Span
from coevo.envs.core.episode import Episode, Turn
from coevo.trainers.estimators import Trajectories
from coevo.trainers.seats import SeatRecord, as_tensors, padded, seat_records


@dataclass(frozen=True)
class Rows:
    """Rows of one batch: C rows, L reply tokens each, padded on the right."""

    spans: tuple[Span, ...]
    """The distinct token sequences; rows that share one are computed once."""
    span_C: Tensor
    """Index into `spans`."""
    trajectory_C: Tensor
    """Index of the trajectory that the row belongs to."""
    offset_C: Tensor
    """Where the row's reply tokens begin in the trajectory's stream."""
    mask_CL: Tensor
    """True at reply tokens."""
    turn_CL: Tensor
    """Time-step of its trajectory that a token belongs to; -1 is padding."""
    logp_roll_CL: Tensor
    """Log-probability under the behaviour policy, in nats; 0 at padding."""
    policy_C: tuple[str, ...]
    """Parameter set that wrote the row."""
    allowed: tuple[tuple[list[int], ...] | None, ...]
    """Per distinct sequence, for masked sampling: ids allowed at each reply token."""

    def written_by(self, policy: str) -> tuple[Rows, Tensor]:
        """Give the rows of one parameter set and their indices; distinct sequences are cut too."""
        mine = [i for i, p in enumerate(self.policy_C) if p == policy]
        at = torch.tensor(mine, dtype=torch.int64)
        return (self if len(at) == len(self.policy_C) else self.chosen(at)), at

    def chosen(self, at: Tensor) -> Rows:
        """Give some rows, in the order of their indices, and the sequences that they need."""
        used, local = self.span_C[at].unique(return_inverse=True)
        return Rows(
            spans=tuple(self.spans[i] for i in used.tolist()),
            span_C=local,
            trajectory_C=self.trajectory_C[at],
            offset_C=self.offset_C[at],
            mask_CL=self.mask_CL[at],
            turn_CL=self.turn_CL[at],
            logp_roll_CL=self.logp_roll_CL[at],
            policy_C=tuple(self.policy_C[i] for i in at.tolist()),
            allowed=tuple(self.allowed[i] for i in used.tolist()),
        )

    def from_stream(self, stream_BS: Tensor) -> Tensor:
        """Give the rows' share of a per-token stream: [B, S] -> [C, L], 0 at padding."""
        length = self.mask_CL.shape[1]
        at_CL = self.offset_C[:, None] + torch.arange(length)
        at_CL = at_CL.clamp(max=stream_BS.shape[1] - 1)
        picked = stream_BS[self.trajectory_C[:, None], at_CL]
        return picked * self.mask_CL

    def to_stream(self, value_CL: Tensor, like_BS: Tensor) -> Tensor:
        """Undo `from_stream` into the shape of a stream; 0 for trajectories without rows."""
        stream = value_CL.new_zeros(like_BS.shape)
        at_CL = self.offset_C[:, None] + torch.arange(value_CL.shape[1])
        row_CL = self.trajectory_C[:, None].expand_as(at_CL)
        stream[row_CL[self.mask_CL], at_CL[self.mask_CL]] = value_CL[self.mask_CL]
        return stream


@dataclass(frozen=True)
class Batch:
    """What one update learns from."""

    trajectories: Trajectories
    rows: Rows
    played_B: tuple[tuple[int, str], ...]
    """Per trajectory: place of its episode, and its seat."""
    turns_B: tuple[tuple[Turn, ...], ...] = ()
    """Per trajectory: its turns."""


def build(
    episodes: Sequence[Episode],
    groups: Sequence[int],
    learners: Collection[str] | None = None,
    baselines: Mapping[tuple[int, str], float] | None = None,
    *,
    steps: str = "turn",
    others: bool = False,
) -> Batch | None:
    """Turn episodes into trajectories and rows.

    Args:
        episodes: finished, with every reward module applied.
        groups: one key per episode; equal keys had the same start state.
        learners: players that learn; what frozen policies and past selves did must not enter the
            statistics that learners are compared with. None takes every player with tokens.
        baselines: (group, seat) -> what a greedy play of the same start earned.
        steps: `turn`, or `round`: the replies of a seat in one round are one time-step.
        others: give the other players trajectories too, after the learners', without rows or
            tokens: what a past self wrote is credited, but nobody learns it.

    Returns:
        None when no policy wrote anything.
    """
    found = [t for i, e in enumerate(episodes) for t in seat_records(i, e, learners, steps)]
    found = [t for t in found if t.learns] + [t for t in found if others and not t.learns]
    if not any(t.learns for t in found):
        return None
    played = tuple((t.episode, episodes[t.episode].agents[t.seat]) for t in found)
    trajectories = as_tensors(found, episodes, groups)
    if baselines is not None:
        value = [baselines[groups[at], seat] for at, seat in played]
        trajectories = replace(trajectories, baseline_B=torch.tensor(value, dtype=torch.float64))
    rows = _rows([t for t in found if t.learns])
    return Batch(trajectories, rows, played, tuple(tuple(t.turns) for t in found))


def note_advantages(batch: Batch, advantage_BS: Tensor, episodes: int) -> None:
    """Write on the turns of the first episodes the mean advantage of their tokens.

    Args:
        batch: of one update.
        advantage_BS: advantage of every token of every trajectory.
        episodes: how many; those that are going to be logged.
    """
    for b, (at, _) in enumerate(batch.played_B):
        if at >= episodes:
            continue
        counted_S = batch.trajectories.token_mask_BS[b]
        end = 0
        for turn in batch.turns_B[b]:
            here_S = torch.zeros_like(counted_S)
            begin, end = end, end + len(turn.token_ids or ())
            here_S[begin:end] = counted_S[begin:end]
            turn.advantage = float(advantage_BS[b][here_S].mean()) if here_S.any() else None


def _rows(found: list[SeatRecord]) -> Rows:
    spans: dict[tuple[Span, str], int] = {}
    allowed: list[tuple[list[int], ...] | None] = []
    span, trajectory, offset, turns, logp, policy = [], [], [], [], [], []
    for b, t in enumerate(found):
        at = 0
        for first, last in _contexts(t.turns):
            wrote = t.turns[first:last]
            open_ids = _allowed(wrote)
            key = _span(wrote), str(open_ids)
            if key not in spans:
                spans[key] = len(spans)
                allowed.append(open_ids)
            span.append(spans[key])
            trajectory.append(b)
            offset.append(at)
            own = zip(t.steps[first:last], wrote, strict=True)
            turns.append([k for k, turn in own for _ in turn.token_ids or ()])
            logp.append([p for turn in wrote for p in turn.logprobs or ()])
            policy.append(t.policy)
            at += len(turns[-1])
    turn_CL = padded(turns, -1)
    logp_CL = torch.zeros(turn_CL.shape)
    logp_CL[turn_CL >= 0] = torch.tensor([p for row in logp for p in row])
    return Rows(
        spans=tuple(s for s, _ in spans),
        span_C=torch.tensor(span),
        trajectory_C=torch.tensor(trajectory),
        offset_C=torch.tensor(offset),
        mask_CL=turn_CL >= 0,
        turn_CL=turn_CL,
        logp_roll_CL=logp_CL,
        policy_C=tuple(policy),
        allowed=tuple(allowed),
    )


def _contexts(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Cut turns into runs whose prompts only append to what was read and written before."""
    cuts = [0]
    for k in range(1, len(turns)):
        before = [*(turns[k - 1].prompt_ids or ()), *(turns[k - 1].token_ids or ())]
        if (turns[k].prompt_ids or [])[: len(before)] != before:
            cuts.append(k)
    return list(zip(cuts, [*cuts[1:], len(turns)], strict=True))


def _span(turns: Sequence[Turn]) -> Span:
    starts = [len(t.prompt_ids or ()) for t in turns]
    ends = [len(t.prompt_ids or ()) + len(t.token_ids or ()) for t in turns]
    ids = (*(turns[-1].prompt_ids or ()), *(turns[-1].token_ids or ()))
    return Span(ids, tuple(starts), tuple(ends))


def _allowed(turns: Sequence[Turn]) -> tuple[list[int], ...] | None:
    if all(t.allowed is None for t in turns):
        return None
    return tuple(ids for t in turns for ids in (t.allowed or [[]] * len(t.token_ids or ())))
