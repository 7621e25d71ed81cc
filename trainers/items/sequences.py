"""From episodes to what is learnt from: trajectories of seats, and token sequences.

A trajectory is what one seat did in one episode; its response tokens, joined over its turns, carry
the advantages, [B, S]. A sequence is one context with the responses written in it, [C, L]: a chat
that grew by appending is one sequence with several turns, a fresh prompt per turn gives one
sequence per turn. Either way its response tokens are one slice of its trajectory's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from coevo.agents.scoring import Span
from coevo.envs.core.episode import Episode, Turn
from coevo.trainers.estimators import Trajectories
from coevo.trainers.items.trajectories import Trajectory, as_tensors, padded, trajectories_of


@dataclass(frozen=True)
class Sequences:
    """C sequences with L response tokens each, padded on the right, and what they learn from."""

    spans: tuple[Span, ...]
    """The distinct token sequences; those that share one are computed once."""
    span_C: Tensor
    """Index into `spans`."""
    trajectory_C: Tensor
    """Index of the trajectory that the sequence belongs to."""
    offset_C: Tensor
    """Where its response tokens begin among those of the trajectory."""
    mask_CL: Tensor
    """True at response tokens that are learnt from."""
    turn_CL: Tensor
    """Time-step of its trajectory that a token belongs to; -1 is padding."""
    role_CL: Tensor
    """Index into `roles` of the role that a token was written in; -1 is padding."""
    logp_behaviour_CL: Tensor
    """Log-probability under the behaviour policy, in nats; 0 at padding."""
    policy_C: tuple[str, ...]
    """Parameter set that wrote the sequence."""
    allowed: tuple[tuple[list[int], ...] | None, ...]
    """Per distinct sequence, for masked sampling: ids allowed at each response token."""
    roles: tuple[str, ...]
    """What follows a slash in a role tells apart what must not be compared; it is one role here."""
    logp_old_CL: Tensor | None = None
    """Behaviour in the trainer's numerics; None takes the current pass, for a single step."""
    logp_ref_CL: Tensor | None = None
    """Log-probability under the reference policy."""
    value_CL: Tensor | None = None
    """Value that the critic gave before each token."""
    advantage_CL: Tensor | None = None
    return_CL: Tensor | None = None
    """Target of the critic."""
    return_mask_CL: Tensor | None = None
    """Where the critic has a target."""

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.policy_C)

    def written_by(self, policy: str) -> tuple[Sequences, Tensor]:
        """Return the sequences of one parameter set, and their indices."""
        at = torch.tensor(
            [i for i, p in enumerate(self.policy_C) if p == policy], dtype=torch.int64
        )
        return (self if len(at) == len(self) else self.chosen(at)), at

    def said_as(self, roles: Collection[str]) -> Sequences:
        """Return what was said in some roles: their sequences, no other token to be learnt from."""
        wanted = [i for i, role in enumerate(self.roles) if role in roles]
        mask_CL = self.mask_CL & torch.isin(self.role_CL, torch.tensor(wanted, dtype=torch.int64))
        if torch.equal(mask_CL, self.mask_CL):
            return self
        return_mask_CL = None if self.return_mask_CL is None else self.return_mask_CL & mask_CL
        masked = replace(self, mask_CL=mask_CL, return_mask_CL=return_mask_CL)
        return masked.chosen(mask_CL.any(1).nonzero().squeeze(-1))

    def chosen(self, at: Tensor) -> Sequences:
        """Return some sequences, in the order of their indices, and the spans that they need."""
        used, local = self.span_C[at].unique(return_inverse=True)
        cut: dict[str, Any] = {n: v[at] for n, v in vars(self).items() if isinstance(v, Tensor)}
        cut |= {"span_C": local, "policy_C": tuple(self.policy_C[i] for i in at.tolist())}
        cut |= {n: tuple(getattr(self, n)[i] for i in used.tolist()) for n in ("spans", "allowed")}
        return replace(self, **cut)

    def by_turn(self) -> tuple[Sequences, Tensor]:
        """Return the sequences cut so that every turn is a trajectory of its own.

        Where a turn's tokens begin in its trajectory (`offset_C`) is not known of them.

        Returns:
            The sequences, and for every new trajectory the old one and the number of its turn,
            [U, 2].
        """
        at_N, place_N = self.mask_CL.nonzero(as_tuple=True)
        turn_N = self.turn_CL[at_N, place_N]
        at_C, turn_C = torch.stack([at_N, turn_N], 1).unique(dim=0).unbind(1)
        apart = self.chosen(at_C)
        both_C2 = torch.stack([apart.trajectory_C, turn_C], 1)
        of_U2, trajectory_C = both_C2.unique(dim=0, return_inverse=True)
        mask_CL = apart.mask_CL & (apart.turn_CL == turn_C.unsqueeze(1))
        return replace(apart, mask_CL=mask_CL, trajectory_C=trajectory_C), of_U2

    def cut(self, value_BS: Tensor) -> Tensor:
        """Cut values of trajectories into sequences: [B, S] -> [C, L], 0 at padding."""
        length = self.mask_CL.shape[1]
        at_CL = self.offset_C[:, None] + torch.arange(length)
        at_CL = at_CL.clamp(max=value_BS.shape[1] - 1)
        return value_BS[self.trajectory_C[:, None], at_CL] * self.mask_CL

    def joined(self, value_CL: Tensor, like_BS: Tensor) -> Tensor:
        """Undo `cut`, in the shape of another tensor; 0 for trajectories without sequences."""
        value_BS = value_CL.new_zeros(like_BS.shape)
        at_CL = self.offset_C[:, None] + torch.arange(value_CL.shape[1])
        trajectory_CL = self.trajectory_C[:, None].expand_as(at_CL)
        mask_CL = self.mask_CL
        value_BS[trajectory_CL[mask_CL], at_CL[mask_CL]] = value_CL[mask_CL]
        return value_BS


@dataclass(frozen=True)
class Batch:
    """What one update learns from."""

    trajectories: Trajectories
    sequences: Sequences
    origin_B: tuple[tuple[int, str], ...]
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
    invalid: bool = False,
    envs: Collection[str] = (),
) -> Batch | None:
    """Turn episodes into trajectories and sequences.

    Args:
        episodes: finished, with every reward module applied.
        groups: one key per episode; equal keys had the same task.
        learners: policies that learn; what frozen policies and past selves did must not enter the
            statistics that learners are compared with. None takes everybody with tokens.
        baselines: (group, seat) -> what a greedy episode of the same task earned.
        steps: `turn`, or `round`: the replies of a seat in one round are one time-step.
        others: give other agents trajectories too, after the learners', without sequences or
            tokens: what a past self wrote is credited, but nobody learns it.
        invalid: keep what a reward module found no reward for; `Trajectories.valid_B` tells it.
        envs: environments that may be missing in this batch; their seats keep their numbers.

    Returns:
        None when no policy wrote anything.
    """
    found = [t for i, e in enumerate(episodes) for t in trajectories_of(i, e, learners, steps)]
    found = [t for t in found if t.valid or invalid]
    found = [t for t in found if t.learns] + [t for t in found if others and not t.learns]
    if not any(t.learns for t in found):
        return None
    origin = tuple((t.episode, episodes[t.episode].agents[t.seat]) for t in found)
    trajectories = as_tensors(found, episodes, groups, envs)
    if baselines is not None:
        value = [baselines[groups[at], seat] for at, seat in origin]
        trajectories = replace(trajectories, baseline_B=torch.tensor(value, dtype=torch.float64))
    sequences = _sequences([t for t in found if t.learns])
    return Batch(trajectories, sequences, origin, tuple(tuple(t.turns) for t in found))


def note_advantages(batch: Batch, advantage_BS: Tensor, episodes: int) -> None:
    """Write on the turns of the first episodes the mean advantage of their tokens.

    Args:
        batch: of one update.
        advantage_BS: advantage of every token of every trajectory.
        episodes: how many; those that are going to be logged.
    """
    for b, (at, _) in enumerate(batch.origin_B):
        if at >= episodes:
            continue
        counted_S = batch.trajectories.token_mask_BS[b]
        end = 0
        for turn in batch.turns_B[b]:
            here_S = torch.zeros_like(counted_S)
            begin, end = end, end + len(turn.token_ids or ())
            here_S[begin:end] = counted_S[begin:end]
            turn.advantage = float(advantage_BS[b][here_S].mean()) if here_S.any() else None


def _sequences(found: list[Trajectory]) -> Sequences:
    spans: dict[tuple[Span, str], int] = {}
    allowed: list[tuple[list[int], ...] | None] = []
    roles: dict[str, int] = {}
    span, trajectory, offset, policy = [], [], [], []
    turn_of, role_of, logp = [], [], []
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
            policy.append(t.policy)
            own = zip(t.steps[first:last], wrote, strict=True)
            turn_of.append([k for k, turn in own for _ in turn.token_ids or ()])
            codes = [roles.setdefault(x.role.partition("/")[0], len(roles)) for x in wrote]
            said = zip(codes, wrote, strict=True)
            role_of.append([code for code, turn in said for _ in turn.token_ids or ()])
            logp.append([p for turn in wrote for p in turn.logprobs or ()])
            at += len(turn_of[-1])
    turn_CL = padded(turn_of, -1)
    logp_CL = torch.zeros(turn_CL.shape)
    logp_CL[turn_CL >= 0] = torch.tensor([p for one in logp for p in one])
    return Sequences(
        spans=tuple(s for s, _ in spans),
        span_C=torch.tensor(span),
        trajectory_C=torch.tensor(trajectory),
        offset_C=torch.tensor(offset),
        mask_CL=turn_CL >= 0,
        turn_CL=turn_CL,
        role_CL=padded(role_of, -1),
        logp_behaviour_CL=logp_CL,
        policy_C=tuple(policy),
        allowed=tuple(allowed),
        roles=tuple(roles),
    )


def _contexts(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Cut turns where a prompt does not only append to what was read and written before."""
    cuts = [0]
    for k in range(1, len(turns)):
        before = [*_prompt(turns[k - 1]), *(turns[k - 1].token_ids or ())]
        if _prompt(turns[k])[: len(before)] != before:
            cuts.append(k)
    return list(zip(cuts, [*cuts[1:], len(turns)], strict=True))


def _span(turns: Sequence[Turn]) -> Span:
    starts = [len(_prompt(t)) for t in turns]
    ends = [len(_prompt(t)) + len(t.token_ids or ()) for t in turns]
    ids = (*_prompt(turns[-1]), *(turns[-1].token_ids or ()))
    return Span(ids, tuple(starts), tuple(ends))


def _prompt(turn: Turn) -> list[int]:
    """Return the prompt that a turn is learnt under: injected text may be stripped from it."""
    return (turn.prompt_ids if turn.stripped_ids is None else turn.stripped_ids) or []


def _allowed(turns: Sequence[Turn]) -> tuple[list[int], ...] | None:
    if all(t.allowed is None for t in turns):
        return None
    return tuple(ids for t in turns for ids in (t.allowed or [[]] * len(t.token_ids or ())))
