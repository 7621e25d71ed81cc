"""From episodes to trajectories: what every seat did, what it was paid for it, and its keys."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.trainers.estimators import Trajectories


@dataclass
class Trajectory:
    """What one seat did in one episode."""

    episode: int
    """Place of the episode in the batch."""
    seat: int
    """Number of the seat."""
    policy: str
    """Player that sat there."""
    turns: list[Turn]
    steps: list[int]
    """Time-step of every turn: its number, or that of its round."""
    rewards: list[dict[str, float]]
    """One table per step: component -> what fell due from its first turn until the next step's."""
    learns: bool
    """Whether its player learns; others are credited, but have no rows."""
    valid: bool = True
    """Whether every reward module found a reward for it."""


def trajectories_of(
    index: int, episode: Episode, learners: Collection[str] | None, counted: str
) -> list[Trajectory]:
    """Return one record per seat that acted; of learners, of the replies that they wrote.

    Args:
        index: place of the episode in the batch.
        episode: a finished one; one that ended in an error gives nothing.
        learners: players that learn; None takes every player with tokens.
        counted: `turn`, or `round`: replies of one round are one time-step.
    """
    out: list[Trajectory] = []
    if episode.stop is StopReason.ERROR:
        return out  # what it would have been worth is unknown
    for seat, agent in enumerate(episode.agents):
        every = [i for i, t in enumerate(episode.turns) if t.agent == agent]
        own = [i for i in every if _learns(episode.turns[i], learners)]
        learns = bool(own)
        own = own or every
        if not own:
            continue
        turns = [episode.turns[i] for i in own]
        rounds = [t.round for t in turns] if counted == "round" else list(range(len(turns)))
        steps = [sorted(set(rounds)).index(r) for r in rounds]
        firsts = [own[steps.index(k)] for k in range(steps[-1] + 1)]
        # What fell due before the seat's first reply is credited to that reply.
        cuts = [0, *firsts[1:], len(episode.turns)]
        spans = [episode.turns[a:b] for a, b in itertools.pairwise(cuts)]
        rewards = [_due(span, agent) for span in spans]
        valid = not episode.unrewarded(agent)
        out.append(Trajectory(index, seat, turns[0].player, turns, steps, rewards, learns, valid))
    return out


def _learns(turn: Turn, learners: Collection[str] | None) -> bool:
    return bool(turn.token_ids) and (learners is None or turn.player in learners)


def _due(turns: Sequence[Turn], agent: str) -> dict[str, float]:
    total: dict[str, float] = {}
    for turn in turns:
        for component, paid in turn.rewards.items():
            total[component] = total.get(component, 0.0) + paid.get(agent, 0.0)
    return total


def as_tensors(
    found: list[Trajectory],
    episodes: Sequence[Episode],
    groups: Sequence[int],
    envs: Collection[str] = (),
) -> Trajectories:
    """Lay records side by side, padded on the right, with every key that estimators may ask for."""
    components = tuple(sorted({c for t in found for table in t.rewards for c in table}))
    most = max(len(t.rewards) for t in found)
    none = [0.0] * len(components)
    reward = [
        [[table.get(c, 0.0) for c in components] for table in t.rewards]
        + [none] * (most - len(t.rewards))
        for t in found
    ]
    turn_mask = [[k < len(t.rewards) for k in range(most)] for t in found]
    stream = [
        [k for k, turn in zip(t.steps, t.turns, strict=True) for _ in turn.token_ids or ()]
        if t.learns
        else []
        for t in found
    ]
    return Trajectories(
        reward_BTK=torch.tensor(reward, dtype=torch.float64).reshape(
            len(found), most, len(components)
        ),
        components=components,
        turn_mask_BT=torch.tensor(turn_mask),
        turn_of_BS=padded(stream, -1),
        keys=_keys(found, episodes, groups, envs),
        state_BT=padded([[_digest(str(u[0].chat)) for u in _by_step(t)] for t in found], -1),
        action_BT=padded(
            _numbered([["\n".join(map(_said, u)) for u in _by_step(t)] for t in found]), -1
        ),
        role_BT=padded(_numbered([[u[0].role for u in _by_step(t)] for t in found]), -1),
        valid_B=torch.tensor([t.valid for t in found]),
    )


def _keys(
    found: list[Trajectory],
    episodes: Sequence[Episode],
    groups: Sequence[int],
    envs: Collection[str],
) -> Mapping[str, Tensor]:
    # Nor on which environments were drawn this time.
    games = _codes([episodes[t.episode].env for t in found], envs)
    seats = [t.seat for t in found]
    # What was injected is part of a task: how good a text is must not look like a good reply.
    tasks = [(groups[t.episode], *sorted({i for u in t.turns for i in u.injected})) for t in found]
    # Running statistics are kept by these numbers: they must not depend on who learns this time.
    most = max(len(e.agents) for e in episodes)
    keys = {
        "group": _codes(tasks),
        "trajectory": list(range(len(found))),
        "seat": seats,
        "game": games,
        "agent": [g * most + s for g, s in zip(games, seats, strict=True)],
        "policy": _codes([t.policy for t in found]),
        "opening": _codes([_said(t.turns[0]) for t in found]),
        "answer": _codes([_said(t.turns[-1]) for t in found]),
        "play": [t.episode for t in found],
        "role": _codes([t.turns[0].role for t in found]),
        # Plays of one start that share a seat's first move have a beginning in common.
        "tree": _codes([(g, t.seat, _said(t.turns[0])) for g, t in zip(tasks, found, strict=True)]),
        "truncated": [int(episodes[t.episode].stop is StopReason.TURN_LIMIT) for t in found],
    }
    return {name: torch.tensor(key, dtype=torch.int64) for name, key in keys.items()}


def _by_step(trajectory: Trajectory) -> list[list[Turn]]:
    out: list[list[Turn]] = [[] for _ in trajectory.rewards]
    for step, turn in zip(trajectory.steps, trajectory.turns, strict=True):
        out[step].append(turn)
    return out


def _said(turn: Turn) -> str:
    """Return what a turn did: its move, or its text where it was no move."""
    return turn.text if turn.move is None else turn.move


def _digest(text: str) -> int:
    """Return for a text a number that stays its own from batch to batch and run to run."""
    return (
        int.from_bytes(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        )
        >> 1
    )


def _numbered(rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """Number texts: equal ones get equal numbers."""
    table: dict[str, int] = {}
    return [[table.setdefault(text, len(table)) for text in row] for row in rows]


def _codes(values: Sequence[Any], known: Collection[Any] = ()) -> list[int]:
    table = {value: code for code, value in enumerate(sorted({*values, *known}))}
    return [table[v] for v in values]


def padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Make a table of rows of different lengths."""
    longest = max(map(len, rows))
    return torch.tensor([[*r, *[fill] * (longest - len(r))] for r in rows])
