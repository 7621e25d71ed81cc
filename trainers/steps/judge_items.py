"""Items for judges: episodes with verdicts become training data of a reward head or a judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.trainers.cycle import UpdateContext
from coevo.trainers.items import Items, groups
from coevo.trainers.judges.question import (
    FIRST,
    NO,
    SECOND,
    YES,
    Question,
    answer_of,
    asked_of,
    pairwise,
    pointwise,
    reflection,
    rewrite,
)
from coevo.trainers.judges.reward_model import shown


class _ForHead:
    """What a reward head is fitted to."""

    kind: ClassVar[str]
    role: str

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return (self.role,)


@config
class Certified(_ForHead):
    """A reply that a verifier certified, and a wrong one, for every group that has both.

    Cooper (arXiv 2508.05613): the first certified reply of a group; an assistant rewrites it into a
    wrong one, which is accepted if its final answer differs. Rewritten replies have the style of
    right ones, so that they teach nothing about a wrong style with high rewards: `own_wrong` takes
    the policy's own replies that are not certified instead, and `both` one of each.
    """

    kind: ClassVar[str] = "reward_pairs"
    name: Literal["certified"] = "certified"
    role: str = "judge"
    """Role whose reward head learns from the pairs."""
    negatives: Literal["rewrite", "own_wrong", "both"] = "rewrite"
    """Where wrong replies come from."""
    assistant: str = "assistant"
    """The role that rewrites."""
    tries: Annotated[int, whole(1, 100)] = 3
    """Times that it is asked for one that differs."""

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,) if self.negatives == "own_wrong" else (self.role, self.assistant)

    def made(self, ctx: UpdateContext) -> Items | None:
        """Return the pairs, or None; log the share of the groups that gave one."""
        assert ctx.batch is not None  # the step looked
        every = [[ctx.batch.turns_B[b][-1] for b in group] for group in groups(ctx.batch)]
        certified = [(turns, best) for turns in every if (best := _certified(turns)) is not None]
        pairs = list(self._wrong_own(certified)) if self.negatives != "rewrite" else []
        if self.negatives != "own_wrong":
            pairs += self._rewritten(ctx, [best for _, best in certified])
            ctx.count_judges()
        own = {id(best) for best, _ in pairs}
        ctx.metrics["pairs/valid"] = len(own) / max(len(every), 1)
        if not pairs:
            return None
        questions = [question for best, wrong in pairs for question in (shown(best), wrong)]
        batch = ctx.judges.batch(ctx.judges.read(self.role, questions))
        at_NK = torch.arange(len(questions)).reshape(-1, 2)
        return Items(batch, at_NK, torch.tensor([[1.0, 0.0]]).expand(at_NK.shape))

    def _wrong_own(
        self, certified: Sequence[tuple[Sequence[Turn], Turn]]
    ) -> Iterator[tuple[Turn, Question]]:
        for turns, best in certified:
            for turn in turns:
                if turn.verified == 0.0 and _differ(turn, best):
                    yield best, shown(turn)
                    break

    def _rewritten(
        self, ctx: UpdateContext, certified: Sequence[Turn]
    ) -> list[tuple[Turn, Question]]:
        found: list[tuple[Turn, Question]] = []
        left = list(certified)
        for _ in range(self.tries):
            asked = [rewrite(asked_of(t), answer_of(t), t.legal or ()) for t in left]
            again = []
            turns = ctx.judges.ask(self.assistant, asked) if asked else []
            for best, turn in zip(left, turns, strict=True):
                if turn.move is None or not _differ(turn, best):
                    again.append(best)
                else:
                    read = shown(best)
                    found.append((best, replace(read, reply=turn.text)))
            left = again
        return found


@config
class Verdicts(_ForHead):
    """Every reply that was verified, and its verdict, for a regression."""

    kind: ClassVar[str] = "reward_targets"
    name: Literal["verdicts"] = "verdicts"
    role: str = "judge"
    """Role whose reward head learns from them."""

    def made(self, ctx: UpdateContext) -> Items | None:
        """Return one item for each reply, or None."""
        assert ctx.batch is not None  # the step looked
        last = [ctx.batch.turns_B[b][-1] for group in groups(ctx.batch) for b in group]
        turns = [t for t in last if t.verified is not None]
        if not turns:
            return None
        batch = ctx.judges.batch(ctx.judges.read(self.role, [shown(t) for t in turns]))
        worth_N1 = torch.tensor([[float(t.verified or 0.0)] for t in turns])
        return Items(batch, torch.arange(len(turns)).unsqueeze(1), worth_N1)


@config
class Questions:
    """Questions for a judge, made from verdicts that exist already.

    SPARK (arXiv 2509.22624), for every group: all right, whether its first answer is right; all
    wrong, whether one of them is; else with probability `pointwise` whether one is, of a class by a
    fair coin, or which of a right one and a wrong one is better, in an order that is drawn.
    `reflect` adds the task and a wrong reply (of half of the groups the whole text, of the others
    the final answer), to be answered again.
    """

    kind: ClassVar[str] = "questions"
    roles_asked: ClassVar[tuple[str, ...]] = ()
    heads_asked: ClassVar[tuple[str, ...]] = ()
    name: Literal["questions"] = "questions"
    pointwise: Annotated[float, real(0, 1)] = 0.3
    """Share of the questions about one reply where a group has right and wrong ones."""
    balance: Literal["cap", "none"] = "cap"
    """Whether questions whose answer is yes are left out beyond the number of those whose answer is
    no; without it they flood the cache once the policy is good, and the judge says yes to all."""
    reflect: bool = True
    """Whether wrong replies are to be answered again."""
    most: Annotated[int, whole(1)] = 32
    """Questions to the judge, and as many reflections, of an update."""

    def made(self, ctx: UpdateContext) -> list[Question]:
        """Return the questions, and log which share of those about one reply have yes to answer."""
        assert ctx.batch is not None  # the step looked
        rng = np.random.default_rng([ctx.seed, ctx.step, 13])
        every = [[ctx.batch.turns_B[b][-1] for b in group] for group in groups(ctx.batch)]
        known = [[t for t in turns if t.verified is not None] for turns in every]
        asked = [self._asked(turns, rng) for turns in known if turns]
        if self.balance == "cap":
            asked = balanced(asked)
        about_one = [x.target == YES for x in asked if x.kind == "pointwise"]
        if about_one:
            ctx.metrics["questions/yes"] = float(np.mean(about_one))
        again = list(_reflections(known, rng)) if self.reflect else []
        return asked[: self.most] + again[: self.most]

    def _asked(self, turns: Sequence[Turn], rng: np.random.Generator) -> Question:
        right = [t for t in turns if (t.verified or 0.0) >= 1.0]
        wrong = [t for t in turns if t not in right]
        if not wrong:
            return pointwise(asked_of(right[0]), answer_of(right[0]), YES)
        if not right or rng.random() < self.pointwise:
            of = right if right and rng.random() < 0.5 else wrong
            turn = of[int(rng.integers(len(of)))]
            return pointwise(asked_of(turn), answer_of(turn), YES if of is right else NO)
        pair = [x[int(rng.integers(len(x)))] for x in (right, wrong)]
        first = rng.random() < 0.5
        texts = [answer_of(t) for t in (pair if first else pair[::-1])]
        return pairwise(asked_of(pair[0]), texts[0], texts[1], FIRST if first else SECOND)


def balanced(questions: Sequence[Question]) -> list[Question]:
    """Return questions with no more yes than no among those about one reply, the first ones.

    >>> made = [pointwise("t", str(n), YES if n else NO) for n in range(3)]
    >>> [x.target for x in balanced(made)]
    ['no', 'yes']
    """
    left = sum(x.kind == "pointwise" and x.target == NO for x in questions)
    kept = []
    for x in questions:
        if x.kind == "pointwise" and x.target == YES:
            left -= 1
            if left < 0:
                continue
        kept.append(x)
    return kept


def _reflections(known: Sequence[Sequence[Turn]], rng: np.random.Generator) -> Iterator[Question]:
    """Return a wrong reply of every group that has a right one, to be answered again."""
    for number, turns in enumerate(known):
        best, wrong = _certified(turns), [t for t in turns if (t.verified or 0.0) < 1.0]
        if best is not None and wrong:
            turn = wrong[int(rng.integers(len(wrong)))]
            seen = turn.text if number < len(known) / 2 else answer_of(turn)
            yield reflection(asked_of(turn), seen, answer_of(best), best.legal or ())


def _certified(turns: Sequence[Turn]) -> Turn | None:
    return next((t for t in turns if t.verified is not None and t.verified >= 1.0), None)


def _differ(one: Turn, other: Turn) -> bool:
    return answer_of(one).strip().casefold() != answer_of(other).strip().casefold()
