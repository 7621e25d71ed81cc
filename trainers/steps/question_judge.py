"""Question a judge where the answer is known, and learn from its answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import choice, config, whole
from coevo.envs.core.errors import DataError
from coevo.trainers.collect.collector import Collected
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.judges import question as q
from coevo.trainers.judges.roles import SEAT, episode

COMPONENT = "answer"
"""Reward component of a judge's answers to questions whose answers are known."""


@config
class Cached:
    """Questions that `recycle(questions)` left, the oldest first, once there are enough."""

    needs: ClassVar = ("questions",)
    name: Literal["cached"] = "cached"
    least: Annotated[int, whole(1)] = 64
    """How many must have come together."""
    take: Annotated[int, whole(1)] = 64
    """How many are asked then."""

    def __call__(self, ctx: UpdateContext, rng: np.random.Generator) -> list[q.Question]:
        kept = ctx.judges.cache
        if len(kept) < self.least:
            return []
        taken, ctx.judges.cache = kept[: self.take], kept[self.take :]
        return taken


@config
class Preferences:
    """Rankings that are known: replies to one task, and what each is worth.

    One reply is a question for yes or no, two for the better one, more for their order; which is
    shown first is drawn.
    """

    needs: ClassVar = ("episodes",)
    name: Literal["preferences"] = "preferences"
    path: str | None = None
    """JSON lines with `task`, `replies` and `worth`, such as {"task": "2 + 2?", "replies": ["4",
    "3"], "worth": [1, 0]}; None ranks the replies of this update by their verdicts."""
    count: Annotated[int, whole(1)] = 32
    """Questions of an update, at most."""

    def __call__(self, ctx: UpdateContext, rng: np.random.Generator) -> list[q.Question]:
        known = _own(ctx.episodes) if self.path is None else _read(self.path)
        drawn = rng.choice(len(known), min(self.count, len(known)), replace=False)
        return [_worded(*known[int(i)], rng) for i in drawn]


Source = Annotated[Cached | Preferences, choice()]


@config
class QuestionJudge(Step):
    """Asks a role each question several times; right answers are episodes with a reward of 1."""

    gives: ClassVar = ("episodes",)
    name: Literal["question_judge"] = "question_judge"
    of: Source = Preferences()
    role: str = "judge"
    """Role that is asked."""
    samples: Annotated[int, whole(1)] = 8
    """Answers to each question; they are one group."""
    join: bool = True
    """Whether the next steps learn from the answers together with the episodes of the update, or
    from the answers alone, after the update of these; that is logged as `answers/...`."""

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("episodes", *self.of.needs)))

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.of.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        rng = np.random.default_rng([ctx.seed, ctx.step, 12])
        questions = self.of(ctx, rng)
        asked = [x for x in questions for _ in range(self.samples)]
        turns = ctx.judges.ask(self.role, asked)
        ctx.count_judges()
        paid = [x.paid(t.move) for x, t in zip(asked, turns, strict=True)]
        ctx.metrics["items/answers"] = float(len(paid))
        if paid:
            ctx.metrics["answers/reward"] = float(np.mean(paid))
        ctx.metrics |= _yes_rate(asked, [t.move for t in turns])
        played = ctx.episodes
        first = max(played.groups, default=-1) + 1
        # Components that are weighed must be there, also where nothing else is learnt from.
        weighed = dict.fromkeys(ctx.algorithm.advantage.reward_weights, 0.0)
        answers = [episode(t, weighed | {COMPONENT: r}) for t, r in zip(turns, paid, strict=True)]
        groups = [first + i // self.samples for i in range(len(answers))]
        if self.join:
            episodes = [*played.episodes, *answers]
            ctx.answers = replace(played, episodes=episodes, groups=[*played.groups, *groups])
        else:
            ctx.answers = Collected(answers, groups, 0, 0, {})
            ctx.prefix, ctx.batch = "answers/", None
            ctx.items.pop("advantages", None)


def _yes_rate(asked: Sequence[q.Question], said: Sequence[str | None]) -> dict[str, float]:
    """Return how often a pointwise question is answered with yes: 1 is a judge that gave up."""
    yes = [s == q.YES for x, s in zip(asked, said, strict=True) if x.kind == "pointwise"]
    return {"answers/yes_rate": float(np.mean(yes))} if yes else {}


Known = tuple[str, tuple[str, ...], tuple[float, ...]]
"""Task, replies and what each is worth."""


def _own(found: Collected) -> list[Known]:
    """Return one ranking for every seat of every group with replies of different verdicts."""
    kept: dict[tuple[int, str], dict[str, tuple[str, float]]] = {}
    for group, one in zip(found.groups, found.episodes, strict=True):
        last = {t.agent: t for t in one.turns if t.agent != SEAT and t.verified is not None}
        for seat, turn in last.items():
            replies = kept.setdefault((group, seat), {})
            replies.setdefault(q.answer_of(turn), (q.asked_of(turn), float(turn.verified or 0.0)))
    out = []
    for replies in kept.values():
        ranked = sorted(replies.items(), key=lambda item: -item[1][1])
        ends = ranked[: q.MOST - 1] + ranked[q.MOST - 1 :][-1:]
        if len({worth for _, (_, worth) in ends}) > 1:
            texts, worth = tuple(t for t, _ in ends), tuple(w for _, (_, w) in ends)
            out.append((ends[0][1][0], texts, worth))
    return out


@lru_cache(maxsize=4)
def _read(path: str) -> list[Known]:
    out: list[Known] = []
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            data = json.loads(line)
            known = str(data["task"]), tuple(map(str, data["replies"])), tuple(data["worth"])
            if not 1 <= len(known[1]) == len(known[2]) <= q.MOST:
                raise ValueError(f"1 to {q.MOST} replies must have one worth each")
            out.append((known[0], known[1], tuple(float(w) for w in known[2])))
    except (OSError, ValueError, KeyError, TypeError) as error:
        line = f"line {len(out) + 1}: {' '.join(str(error).split())}"
        raise DataError(f"{path} holds no preferences: {line}") from None
    return out


def _worded(
    task: str, replies: tuple[str, ...], worth: tuple[float, ...], rng: np.random.Generator
) -> q.Question:
    order = [int(i) for i in rng.permutation(len(replies))]
    texts, values = [replies[i] for i in order], [worth[i] for i in order]
    if len(texts) == 1:
        return q.pointwise(task, texts[0], q.YES if values[0] > 0.5 else q.NO)
    if len(texts) == 2 and values[0] != values[1]:
        better = q.FIRST if values[0] > values[1] else q.SECOND
        return q.pairwise(task, texts[0], texts[1], better)
    return q.groupwise(task, texts, values)
