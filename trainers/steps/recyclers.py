"""Recyclers for judges: from episodes with verdicts to what a reward head is fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import torch

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.trainers.cycle import Page
from coevo.trainers.items.groups import groups
from coevo.trainers.items.items import Items
from coevo.trainers.judges.question import Question, answer_of, asked_of, rewrite
from coevo.trainers.judges.reward_model import shown

if TYPE_CHECKING:
    from coevo.trainers.run import Run


class _ForHead:
    """What a reward head is fitted to."""

    kind: ClassVar[str]
    role: str

    @property
    def roles_asked(self) -> tuple[str, ...]:
        """Whose head, and who helps."""
        return (self.role,)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        """Whose head."""
        return (self.role,)


@config
class Certified(_ForHead):
    """A reply that a verifier certified, and a wrong one, for every group that has both.

    Cooper (arXiv 2508.05613): the first certified reply of a group; an assistant rewrites it into a
    wrong one, which is accepted if its final answer differs. Rewritten replies have the style of
    right ones, so that they teach nothing of a style that is wrong and well paid: `own_wrong` takes
    the policy's own replies that are not certified instead, and `both` one of each.
    """

    kind: ClassVar[str] = "reward_pairs"
    name: Literal["certified"] = "certified"
    role: str = "judge"
    """Whose head learns from the pairs."""
    negatives: Literal["rewrite", "own_wrong", "both"] = "rewrite"
    """Where wrong replies come from."""
    assistant: str = "assistant"
    """The role that rewrites."""
    tries: Annotated[int, whole(1, 100)] = 3
    """Times that it is asked for one that differs."""

    @property
    def roles_asked(self) -> tuple[str, ...]:
        """Whose head, and the assistant if it is needed."""
        return (self.role,) if self.negatives == "own_wrong" else (self.role, self.assistant)

    def made(self, run: Run, page: Page) -> Items | None:
        """Return the pairs, or None; log the share of the groups that gave one."""
        assert page.batch is not None  # the step looked
        every = [[page.batch.turns_B[b][-1] for b in group] for group in groups(page.batch)]
        certified = [(turns, best) for turns in every if (best := _certified(turns)) is not None]
        pairs = list(self._wrong_own(certified)) if self.negatives != "rewrite" else []
        if self.negatives != "own_wrong":
            pairs += self._rewritten(run, [best for _, best in certified])
            run.count_judges(page.metrics)
        own = {id(best) for best, _ in pairs}
        page.metrics["pairs/valid"] = len(own) / max(len(every), 1)
        if not pairs:
            return None
        questions = [question for best, wrong in pairs for question in (shown(best), wrong)]
        sequences = run.judges.sequences(run.judges.read(self.role, questions))
        at_NK = torch.arange(len(questions)).reshape(-1, 2)
        return Items(sequences, at_NK, torch.tensor([[1.0, 0.0]]).expand(at_NK.shape))

    def _wrong_own(
        self, certified: Sequence[tuple[Sequence[Turn], Turn]]
    ) -> Iterator[tuple[Turn, Question]]:
        for turns, best in certified:
            for turn in turns:
                if turn.verified == 0.0 and _differ(turn, best):
                    yield best, shown(turn)
                    break

    def _rewritten(self, run: Run, certified: Sequence[Turn]) -> list[tuple[Turn, Question]]:
        found: list[tuple[Turn, Question]] = []
        left = list(certified)
        for _ in range(self.tries):
            asked = [rewrite(asked_of(t), answer_of(t), t.legal or ()) for t in left]
            again = []
            turns = run.judges.ask(self.assistant, asked) if asked else []
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
    """Whose head learns from them."""

    def made(self, run: Run, page: Page) -> Items | None:
        """Return one item for each reply, or None."""
        assert page.batch is not None  # the step looked
        last = [page.batch.turns_B[b][-1] for group in groups(page.batch) for b in group]
        turns = [t for t in last if t.verified is not None]
        if not turns:
            return None
        sequences = run.judges.sequences(run.judges.read(self.role, [shown(t) for t in turns]))
        worth_N1 = torch.tensor([[float(t.verified or 0.0)] for t in turns])
        return Items(sequences, torch.arange(len(turns)).unsqueeze(1), worth_N1)


def _certified(turns: Sequence[Turn]) -> Turn | None:
    return next((t for t in turns if t.verified is not None and t.verified >= 1.0), None)


def _differ(one: Turn, other: Turn) -> bool:
    return answer_of(one).strip().casefold() != answer_of(other).strip().casefold()
