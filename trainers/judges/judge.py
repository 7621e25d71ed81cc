"""A judge that answers in words: yes or no, which of two, or an order of a group."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import Judges, Rewards, ScoreContext, Scores
from coevo.trainers.judges import question as q
from coevo.trainers.judges.reward_model import AskingModule, last_turns

Place = tuple[int, int]
"""Episode and turn."""
Opinion = tuple[Place, float]
"""What one answer says of a reply, from 0 to 1."""


@dataclass
class _Inquiry:
    """Questions of a batch, and what each answer says of which replies."""

    episodes: Sequence[Episode]
    at: Sequence[Place]
    """The replies that are judged."""
    rng: np.random.Generator
    questions: list[q.Question] = field(default_factory=list)
    readers: list[Callable[[str], list[Opinion]]] = field(default_factory=list)
    about: list[tuple[Place, ...]] = field(default_factory=list)
    rubrics: Mapping[str, str] = field(default_factory=dict)
    """Task -> what its pairs are judged by."""
    settled: list[Opinion] = field(default_factory=list)
    """What needs no question: equal replies tie."""

    def turn(self, place: Place) -> Turn:
        return self.episodes[place[0]].turns[place[1]]

    def add(
        self, question: q.Question, about: tuple[Place, ...], read: Callable[[str], list[Opinion]]
    ) -> None:
        self.questions.append(question)
        self.about.append(about)
        self.readers.append(read)


@config
class Judge(AskingModule):
    """Pays every seat, at its last turn, what a role thinks of its final answer, from 0 to 1.

    `pointwise`: the share of its answers that say it is right. `pairwise`: how often it is
    preferred to the others of its task, each pair asked in both orders, so that which stands first
    gains nothing. `groupwise`: its mean rank in orders of up to `size` replies of its task, 1 for
    the best. Equal replies of a pair tie and are not asked about.

    Pairs may be judged by rubrics that another role writes (`rubric_by`); the judge rejects those
    that mislead it. Source: C2, arXiv 2604.13618.
    """

    name: Literal["judge"] = "judge"
    role: str = "judge"
    """Role that is asked."""
    how: Literal["pointwise", "pairwise", "groupwise"] = "pointwise"
    samples: Annotated[int, whole(1, 1000)] = 1
    """Times that a question is asked."""
    size: Annotated[int, whole(2, q.MOST)] = 4
    """Replies that are put in order at once."""
    of: Literal["all", "unverified"] = "all"
    """Which replies are judged: all, or those that no verifier has judged."""
    rubric_by: str = ""
    """Role that writes a rubric for each task, by which its pairs are judged; empty for none."""
    rubrics: tuple[str, ...] = ()
    """What that role may choose from; empty lets it write any text."""
    critical: bool = True
    """Whether the judge is asked first if a rubric helps; it judges without one that it rejects."""
    on_failure: Literal["raise", "tie", "drop"] = "drop"
    """What an answer that cannot be read does: it ends the run, it counts as a tie (1/2), or it
    counts for nothing, so that a reply without any other answer has no valid reward."""

    def __post_init__(self) -> None:
        if self.rubric_by and self.how != "pairwise":
            raise ConfigError(
                f"rubric_by={self.rubric_by!r} needs how='pairwise', not {self.how!r}"
            )

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role, self.rubric_by) if self.rubric_by else (self.role,)

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        judges = self.judges(context)
        at = last_turns(episodes)
        at = [(i, k) for i, k in at if self._counts(episodes[i].turns[k])]
        rng = np.random.default_rng([context.seed, context.step, 11])
        inquiry = _Inquiry(episodes, at, rng)
        if self.rubric_by:
            inquiry.rubrics = self._written([q.asked_of(inquiry.turn(p)) for p in at], judges)
        ways = {"pointwise": self._points, "pairwise": self._pairs, "groupwise": self._orders}
        ways[self.how](inquiry)
        opinions = self._opinions(inquiry, judges)
        table: list[list[Rewards]] = [[{} for _ in e.turns] for e in episodes]
        invalid = {}
        for i, k in at:
            seat = episodes[i].turns[k].agent
            if opinions.get((i, k)):
                table[i][k][seat] = fmean(opinions[i, k])
            else:
                invalid[i, k, seat] = f"{self.role} gave no answer that can be read"
        return Scores(table, judges.version(self.role), invalid)

    def _counts(self, turn: Turn) -> bool:
        return self.of == "all" or turn.verified is None

    def _written(self, tasks: Sequence[str], judges: Judges) -> Mapping[str, str]:
        """Return a rubric for each task; none for those that the judge rejects."""
        every = list(dict.fromkeys(tasks))
        wanted = [q.rubric_for(task, self.rubrics) for task in every]
        said = judges.ask(self.rubric_by, wanted)
        found = {t: turn.move or "" for t, turn in zip(every, said, strict=True) if turn.move}
        if not self.critical:
            return found
        verdicts = judges.ask(self.role, [q.helps(task, text) for task, text in found.items()])
        return {
            task: text
            for (task, text), verdict in zip(found.items(), verdicts, strict=True)
            if verdict.move == q.YES
        }

    def _opinions(self, inquiry: _Inquiry, judges: Judges) -> Mapping[Place, list[float]]:
        found: dict[Place, list[float]] = {}
        questions = [x for x in inquiry.questions for _ in range(self.samples)]
        turns = iter(judges.ask(self.role, questions))
        said = list(inquiry.settled)
        for about, read in zip(inquiry.about, inquiry.readers, strict=True):
            for turn in itertools.islice(turns, self.samples):
                if turn.move is not None:
                    said += read(turn.move)
                elif self.on_failure == "tie":
                    said += [(place, 0.5) for place in about]
                elif self.on_failure == "raise":
                    raise q.JudgeError(
                        f"reward {self.component!r}: {self.role} answered {turn.text[:60]!r}, "
                        f"expected one of {', '.join((turn.legal or ())[:6])}; or choose "
                        "on_failure=tie or drop"
                    )
        for place, opinion in said:
            found.setdefault(place, []).append(opinion)
        return found

    def _points(self, inquiry: _Inquiry) -> None:
        for place in inquiry.at:
            turn = inquiry.turn(place)
            asked = q.pointwise(q.asked_of(turn), q.answer_of(turn))
            inquiry.add(asked, (place,), partial(_opinions_of, (place,), (q.YES,)))

    def _pairs(self, inquiry: _Inquiry) -> None:
        for group in groups(inquiry.episodes, inquiry.at):
            turns = {place: inquiry.turn(place) for place in group}
            if len(group) == 1:
                inquiry.settled.append((group[0], 0.5))
            for pair in itertools.combinations(group, 2):
                answers = [q.answer_of(turns[p]) for p in pair]
                if answers[0] == answers[1]:
                    # As often as others are asked, so that every pair weighs alike.
                    inquiry.settled += [(p, 0.5) for p in pair] * (2 * self.samples)
                    continue
                for one, other in (pair, pair[::-1]):
                    first, second = (q.answer_of(turns[p]) for p in (one, other))
                    both = (one, other)
                    task = q.asked_of(turns[one])
                    asked = q.pairwise(task, first, second, rubric=inquiry.rubrics.get(task, ""))
                    inquiry.add(asked, both, partial(_opinions_of, both, (q.FIRST, q.SECOND)))

    def _orders(self, inquiry: _Inquiry) -> None:
        for group in groups(inquiry.episodes, inquiry.at):
            shuffled = [group[int(n)] for n in inquiry.rng.permutation(len(group))]
            for first in range(0, len(shuffled), self.size):
                part = tuple(shuffled[first : first + self.size])
                if len(part) == 1:
                    inquiry.settled.append((part[0], 0.5))
                    continue
                turns = [inquiry.turn(place) for place in part]
                asked = q.groupwise(q.asked_of(turns[0]), [q.answer_of(t) for t in turns])
                inquiry.add(asked, part, partial(_ranked, part))


def _opinions_of(about: tuple[Place, ...], words: tuple[str, ...], said: str) -> list[Opinion]:
    """Return 1 for the reply that an answer stands for, 0 for others."""
    return [(place, float(said == word)) for place, word in zip(about, words, strict=True)]


def _ranked(about: tuple[Place, ...], said: str) -> list[Opinion]:
    return list(zip(about, q.ranks(said), strict=True))


def groups(episodes: Sequence[Episode], at: Sequence[Place]) -> Iterator[list[Place]]:
    """Return the places that may be compared: one seat's in the episodes of one task."""
    found: dict[tuple[object, ...], list[Place]] = {}
    for i, k in at:
        e = episodes[i]
        found.setdefault((e.env, e.seed, e.task, e.turns[k].agent), []).append((i, k))
    yield from found.values()
