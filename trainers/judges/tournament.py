"""A tournament of the replies to a task: their places are the rewards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode
from coevo.envs.core.rewards import Judges, Rewards, ScoreContext, Scores
from coevo.trainers.judges import question as q
from coevo.trainers.judges.judge import Place, groups
from coevo.trainers.judges.reward_model import AskingModule, last_turns

Pair = tuple[int, int]
Rounds = Generator[list[Pair], Sequence[float], NDArray[np.float64]]
"""Yields the pairs of a round; is sent by how many points each first one is ahead."""


def placed(score_N: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for the best, 0 for the last and the mean place for equal ones: 1 - rank / (N - 1).

    >>> placed([3.0, 1.0, 2.0]), placed([5.0, 5.0])
    (array([1. , 0. , 0.5]), array([0.5, 0.5]))
    """
    from scipy.stats import rankdata  # takes seconds to import, and few runs rank anything

    found: NDArray[np.float64] = (rankdata(score_N) - 1) / max(len(score_N) - 1, 1)
    return found if len(score_N) > 1 else np.array([0.5])


def anchor(count: int) -> Rounds:
    """Compare all with the first one: N - 1 pairs."""
    ahead = yield [(i, 0) for i in range(1, count)]
    return placed([0.0, *ahead])


def round_robin(count: int) -> Rounds:
    """Compare all with all: N (N - 1) / 2 pairs, half a win for a tie."""
    pairs = list(itertools.combinations(range(count), 2))
    won_N = np.zeros(count)
    for (one, other), ahead in zip(pairs, (yield pairs), strict=True):
        won_N[one] += 0.5 + 0.5 * np.sign(ahead)
        won_N[other] += 0.5 - 0.5 * np.sign(ahead)
    return placed(won_N)


def single(count: int) -> Rounds:
    """Seed by a comparison with the first one, then a knock-out: 2 N - 2 pairs.

    Who is out later is better; who is out in the same round has its place by the mean points ahead.
    Without a full table the best seeds rest in the first round. If all pairs tie, all places do.
    """
    if count == 1:
        return placed([0.0])
    ahead_N: list[list[float]] = [[] for _ in range(count)]

    def note(pairs: Sequence[Pair], ahead: Sequence[float]) -> None:
        for (one, other), by in zip(pairs, ahead, strict=True):
            ahead_N[one].append(by)
            ahead_N[other].append(-by)

    pairs = [(i, 0) for i in range(1, count)]
    note(pairs, (yield pairs))
    seeds = sorted(range(count), key=lambda i: -np.mean(ahead_N[i]))
    left = [seeds[slot] if slot < count else None for slot in slots(count)]
    lasted_N = np.zeros(count)
    while len(left) > 1:
        drawn = list(zip(left[::2], left[1::2], strict=True))
        pairs = [(one, other) for one, other in drawn if one is not None and other is not None]
        ahead = yield pairs
        note(pairs, ahead)
        won = {pair: pair[int(by < 0)] for pair, by in zip(pairs, ahead, strict=True)}
        left = [won.get((a, b), b if a is None else a) for a, b in drawn]  # type: ignore[arg-type]
        lasted_N[[i for i in left if i is not None]] += 1
    if not any(by for every in ahead_N for by in every):
        return placed(np.zeros(count))
    mean_N = [np.mean(every) for every in ahead_N]
    from scipy.stats import rankdata

    return placed(rankdata(list(zip(lasted_N, mean_N, strict=True)), axis=0) @ [count, 1.0])


def slots(count: int) -> list[int]:
    """Return which seed has which slot of a knock-out, so that the best meet last.

    >>> slots(8)
    [0, 7, 3, 4, 1, 6, 2, 5]
    """
    order = [0]
    while len(order) < count:
        order = [seed for i in order for seed in (i, 2 * len(order) - 1 - i)]
    return order


BRACKETS: Mapping[str, Callable[[int], Rounds]] = {
    "anchor": anchor,
    "single": single,
    "round_robin": round_robin,
}


@dataclass
class _Group:
    """The different answers to one task, and their tournament."""

    places: Sequence[Sequence[Place]]
    """Of each answer, the replies that give it."""
    task: str
    answers: Sequence[str]
    rounds: Rounds
    pairs: Sequence[Pair] = ()
    failed: bool = False
    result: NDArray[np.float64] | None = None

    def go(self, ahead: Sequence[float] | None) -> None:
        try:
            self.pairs = next(self.rounds) if ahead is None else self.rounds.send(ahead)
            while not self.pairs:  # a lone answer meets no other
                self.pairs = self.rounds.send(())
        except StopIteration as end:
            self.pairs, self.result = (), end.value

    def questions(self) -> list[q.Question]:
        return [
            q.versus(self.task, self.answers[a], self.answers[b])
            for one, other in self.pairs
            for a, b in ((one, other), (other, one))
        ]


@config
class Tournament(AskingModule):
    """Pays every seat, at its last turn, the place of its answer in a tournament of its task.

    r = 1 - rank / (N - 1), rank 0 for the best of N different answers, and 1/2 for a lone one. A
    role gives points to both answers of a pair, in both orders. Where neither order can be read the
    group of that task has no valid reward. Source: ArenaRL, whose Swiss and double elimination are
    left out: the first is less exact than `anchor` for more questions.
    """

    name: Literal["tournament"] = "tournament"
    role: str = "judge"
    """Role that is asked."""
    bracket: Literal["single", "anchor", "round_robin"] = "single"
    """Knock-out among seeds, all against the first reply, or all against all."""

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        judges = self.judges(context)
        played = [self._group(episodes, at) for at in groups(episodes, last_turns(episodes))]
        while playing := [g for g in played if g.pairs and not g.failed]:
            self._round(playing, judges)
        table: list[list[Rewards]] = [[{} for _ in e.turns] for e in episodes]
        invalid = {}
        for group in played:
            for n, places in enumerate(group.places):
                for i, k in places:
                    seat = episodes[i].turns[k].agent
                    if group.result is None:
                        invalid[i, k, seat] = f"{self.role} gave no points that can be read"
                    else:
                        table[i][k][seat] = float(group.result[n])
        return Scores(table, judges.version(self.role), invalid)

    def _group(self, episodes: Sequence[Episode], at: Sequence[Place]) -> _Group:
        given: dict[str, list[Place]] = {}
        for i, k in at:
            given.setdefault(q.answer_of(episodes[i].turns[k]), []).append((i, k))
        task = q.asked_of(episodes[at[0][0]].turns[at[0][1]])
        rounds = BRACKETS[self.bracket](len(given))
        group = _Group(list(given.values()), task, list(given), rounds)
        group.go(None)
        return group

    def _round(self, playing: Sequence[_Group], judges: Judges) -> None:
        asked = [group.questions() for group in playing]
        said = iter(judges.ask(self.role, [x for questions in asked for x in questions]))
        for group in playing:
            ahead = []
            for _ in group.pairs:
                one, other = (next(said).move for _ in range(2))
                read = [s * _ahead(m) for s, m in ((1, one), (-1, other)) if m is not None]
                group.failed = group.failed or not read
                ahead.append(float(np.mean(read)) if read else 0.0)
            if not group.failed:
                group.go(ahead)


def _ahead(said: str) -> int:
    one, other = map(int, said.split())
    return one - other
