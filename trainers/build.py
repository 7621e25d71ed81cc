"""From episodes to a batch: whose reward is whose, what is compared, what a model reads."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coevo.agents.engines.scoring import Span
from coevo.agents.sampling import Ids
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.trainers.batch import Batch


def build(
    episodes: Sequence[Episode],
    groups: Sequence[int],
    learners: Collection[str] | None = None,
    baselines: Mapping[tuple[int, str], float] | None = None,
    *,
    steps: str = "turn",
    others: bool = False,
    invalid: bool = False,
    paying: Mapping[str, tuple[float, float]] | None = None,
) -> Batch | None:
    """Turn finished, rewarded episodes into a batch; None where no policy wrote anything.

    Args:
        episodes: of the update.
        groups: one key per episode; equal keys had the same task.
        learners: policies that learn; what frozen policies and past selves did must not enter the
            statistics that learners are compared with. None takes every policy with tokens.
        baselines: (group, seat) -> what a greedy episode of the same task earned.
        steps: `turn`, or `round`: the replies of a seat in one round are one time-step.
        others: give other agents trajectories too, after the learners', without contexts or
            tokens: what a past self wrote gets an advantage, but is not learnt.
        invalid: keep trajectories that a reward module found no reward for, see `Batch.valid_B`.
        paying: environment -> the least and the most that it can pay. Some of them may be missing
            in this batch; their seats keep their numbers.
    """
    found = [t for i, e in enumerate(episodes) for t in trajectories_of(i, e, learners, steps)]
    found = [t for t in found if t.valid or invalid]
    found = [t for t in found if t.learns] + [t for t in found if others and not t.learns]
    if not any(t.learns for t in found):
        return None
    origin = tuple((t.episode, episodes[t.episode].agents[t.seat]) for t in found)
    baseline_B = None
    if baselines is not None:
        value = [baselines[groups[at], seat] for at, seat in origin]
        baseline_B = torch.tensor(value, dtype=torch.float64)
    return Batch(
        **_rewards(found),
        **_marks(found),
        keys=_keys(found, episodes, groups, paying or ()),
        origin_B=origin,
        turns_B=tuple(tuple(t.turns) for t in found),
        **_contexts([t for t in found if t.learns]),
        baseline_B=baseline_B,
        state_BT=padded([[_digest(str(u[0].chat)) for u in t.by_step()] for t in found], -1),
        action_BT=padded(
            _numbered([["\n".join(map(_said, u)) for u in t.by_step()] for t in found]), -1
        ),
        role_BT=padded(_numbered([[u[0].role for u in t.by_step()] for t in found]), -1),
        place_BT=padded([t.places for t in found], -1),
        **_ranges([episodes[t.episode].env for t in found], paying),
        valid_B=torch.tensor([t.valid for t in found]),
    )


@dataclass
class Trajectory:
    """What one seat did in one episode."""

    episode: int
    """Place of the episode in the batch."""
    seat: int
    policy: str
    turns: list[Turn]
    steps: list[int]
    """Time-step of every turn: its number, or that of its round."""
    places: list[int]
    """Place of the first turn of every step among the turns of the episode."""
    rewards: list[dict[str, float]]
    """One table per step: component -> what fell due from its first turn until the next step's."""
    learns: bool
    """Whether its player learns; others get an advantage, but have no contexts."""
    valid: bool = True
    """Whether every reward module found a reward for it."""

    def by_step(self) -> list[list[Turn]]:
        """Return the turns of every time-step."""
        out: list[list[Turn]] = [[] for _ in self.rewards]
        for step, turn in zip(self.steps, self.turns, strict=True):
            out[step].append(turn)
        return out


def trajectories_of(
    index: int, episode: Episode, learners: Collection[str] | None, counted: str
) -> list[Trajectory]:
    """Return one trajectory per seat that acted; of learners, of the replies that they wrote.

    An episode that ended in an error gives none. Replies of one round are one time-step where
    `counted` is `round`, else every turn is one; without learners all players with tokens count.
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
        whose = index, seat, turns[0].player
        out.append(Trajectory(*whose, turns, steps, firsts, rewards, learns, valid))
    return out


def note_advantages(batch: Batch, episodes: int) -> None:
    """Write on the turns of the first so many episodes the mean advantage of their tokens."""
    advantage_BS = batch.joined(batch.needed("advantage_CL", "the log of episodes"))
    for b, (at, _) in enumerate(batch.origin_B):
        if at >= episodes:
            continue
        counted_S = batch.token_mask_BS[b]
        end = 0
        for turn in batch.turns_B[b]:
            here_S = torch.zeros_like(counted_S)
            begin, end = end, end + len(turn.token_ids or ())
            here_S[begin:end] = counted_S[begin:end]
            turn.advantage = float(advantage_BS[b][here_S].mean()) if here_S.any() else None


def _learns(turn: Turn, learners: Collection[str] | None) -> bool:
    return bool(turn.token_ids) and (learners is None or turn.player in learners)


def _due(turns: Sequence[Turn], agent: str) -> dict[str, float]:
    total: dict[str, float] = {}
    for turn in turns:
        for component, reward in turn.rewards.items():
            total[component] = total.get(component, 0.0) + reward.get(agent, 0.0)
    return total


def _rewards(found: list[Trajectory]) -> dict[str, Any]:
    components = tuple(sorted({c for t in found for table in t.rewards for c in table}))
    most = max(len(t.rewards) for t in found)
    none = [0.0] * len(components)
    reward = [
        [[table.get(c, 0.0) for c in components] for table in t.rewards]
        + [none] * (most - len(t.rewards))
        for t in found
    ]
    reward_BTK = torch.tensor(reward, dtype=torch.float64)
    turn_mask = [[k < len(t.rewards) for k in range(most)] for t in found]
    turn_of = [
        [k for k, turn in zip(t.steps, t.turns, strict=True) for _ in turn.token_ids or ()]
        if t.learns
        else []
        for t in found
    ]
    return {
        "reward_BTK": reward_BTK.reshape(len(found), most, len(components)),
        "components": components,
        "turn_mask_BT": torch.tensor(turn_mask),
        "turn_of_BS": padded(turn_of, -1),
    }


def _marks(found: list[Trajectory]) -> dict[str, Any]:
    """Return the marks of every time-step: the mean over its replies that have one."""
    names = tuple(sorted({name for t in found for turn in t.turns for name in turn.marks}))
    if not names:
        return {}
    most = max(len(t.rewards) for t in found)
    mark_BTM = torch.full((len(found), most, len(names)), float("nan"), dtype=torch.float64)
    for b, t in enumerate(found):
        for k, turns in enumerate(t.by_step()):
            for m, name in enumerate(names):
                given = [turn.marks[name] for turn in turns if name in turn.marks]
                if given:
                    mark_BTM[b, k, m] = sum(given) / len(given)
    return {"mark_BTM": mark_BTM, "marks": names}


def _keys(
    found: list[Trajectory],
    episodes: Sequence[Episode],
    groups: Sequence[int],
    envs: Collection[str],
) -> Mapping[str, Tensor]:
    # Running statistics are kept by these numbers: they must depend neither on who learns this
    # time nor on which environments were drawn.
    games = _codes([episodes[t.episode].env for t in found], envs)
    most = max(len(e.agents) for e in episodes)
    seats = [t.seat for t in found]
    # What was injected is part of a task: how good a text is must not look like a good reply.
    tasks = [(groups[t.episode], *sorted({i for u in t.turns for i in u.injected})) for t in found]
    first_moves = [_said(t.turns[0]) for t in found]
    keys = {
        "group": _codes(tasks),
        "trajectory": list(range(len(found))),
        "seat": seats,
        "game": games,
        "agent": [g * most + s for g, s in zip(games, seats, strict=True)],
        "policy": _codes([t.policy for t in found]),
        "first_move": _codes(first_moves),
        "answer": _codes([_said(t.turns[-1]) for t in found]),
        "episode": [t.episode for t in found],
        "role": _codes([t.turns[0].role for t in found]),
        "branch": _codes(list(zip(tasks, seats, first_moves, strict=True))),
    }
    return {name: torch.tensor(key, dtype=torch.int64) for name, key in keys.items()}


def _ranges(
    envs: Sequence[str], paying: Mapping[str, tuple[float, float]] | None
) -> dict[str, Any]:
    if paying is None:
        return {}
    unknown = (float("nan"), float("nan"))  # such as the questions of judges
    ends = [paying.get(env, unknown) for env in envs]
    least_B, most_B = torch.tensor(ends, dtype=torch.float64).unbind(1)
    return {"least_B": least_B, "most_B": most_B}


def _contexts(found: list[Trajectory]) -> dict[str, Any]:
    spans: dict[tuple[Span, Span, tuple[tuple[Ids, ...], ...]], int] = {}
    roles: dict[str, int] = {}
    span, trajectory, offset, policy = [], [], [], []
    turn_of, role_of, logp = [], [], []
    for b, t in enumerate(found):
        at = 0
        for first, last in _appended(t.turns):
            wrote = t.turns[first:last]
            mine = _span(wrote)
            read = _span(wrote, _reference_prompt) if _hidden(wrote) else mine
            key = mine, read, tuple(map(_choices, wrote))
            span.append(spans.setdefault(key, len(spans)))
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
    return {
        "spans": tuple(s for s, _, _ in spans),
        "reference_spans": tuple(s for _, s, _ in spans),
        "choices": tuple(c for _, _, c in spans),
        "span_C": torch.tensor(span),
        "trajectory_C": torch.tensor(trajectory),
        "offset_C": torch.tensor(offset),
        "policy_C": tuple(policy),
        "mask_CL": turn_CL >= 0,
        "turn_CL": turn_CL,
        "role_CL": padded(role_of, -1),
        "roles": tuple(roles),
        "logp_behaviour_CL": logp_CL,
    }


def _appended(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Cut turns where a prompt does not only append to what was read and written before."""
    reads = (_prompt, _reference_prompt) if _hidden(turns) else (_prompt,)
    pairs = enumerate(itertools.pairwise(turns), 1)
    cuts = [0, *(k for k, pair in pairs if not all(_appends(*pair, read) for read in reads))]
    return list(zip(cuts, [*cuts[1:], len(turns)], strict=True))


def _appends(last: Turn, turn: Turn, read: Callable[[Turn], list[int]]) -> bool:
    before = [*read(last), *(last.token_ids or ())]
    return read(turn)[: len(before)] == before


def _prompt(turn: Turn) -> list[int]:
    """Return the prompt that a turn is learnt under: injected text may be stripped from it."""
    return (turn.prompt_ids if turn.stripped_ids is None else turn.stripped_ids) or []


def _reference_prompt(turn: Turn) -> list[int]:
    """Return the prompt under which a reference reads the reply of a turn."""
    return _prompt(turn) if turn.reference_ids is None else turn.reference_ids


def _hidden(turns: Sequence[Turn]) -> bool:
    return any(t.reference_ids is not None for t in turns)


def _span(turns: Sequence[Turn], read: Callable[[Turn], list[int]] = _prompt) -> Span:
    starts = [len(read(t)) for t in turns]
    ends = [len(read(t)) + len(t.token_ids or ()) for t in turns]
    ids = (*read(turns[-1]), *(turns[-1].token_ids or ()))
    return Span(ids, tuple(starts), tuple(ends))


def _choices(turn: Turn) -> tuple[Ids, ...]:
    return tuple(tuple(ids) for ids in turn.choices or ())


def _said(turn: Turn) -> str:
    """Return what a turn did: its move, or its text where it was no move."""
    return turn.text if turn.move is None else turn.move


def _digest(text: str) -> int:
    """Return for a text a number that stays its own from batch to batch and run to run."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


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
