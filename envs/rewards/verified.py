"""Rewards on a verifier's word: being right, and getting better in the course of a discussion.

They read `Turn.verified`, from 0 (wrong) to 1 (right), which environments fill in where answers
can be checked. Many of them only log it: there these modules are what turns it into a reward.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from statistics import fmean
from typing import Literal, get_args

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards.arguments import Names, check_number, check_word, names_of
from coevo.envs.rewards.module import Payments, RewardModule

History = Literal["all", "own"]


class _OnVerdicts(RewardModule):
    """Reads the verdicts on the replies of some roles."""

    def __init__(self, roles: Names) -> None:
        self.roles = names_of("roles", roles)
        whose = f"a reply of {' or '.join(self.roles)}" if self.roles else "some reply"
        self.wants = f"{whose} that the environment verified (Turn.verified)"

    def _counts(self, turn: Turn) -> bool:
        return not self.roles or turn.role in self.roles

    def _verdicts(self, turns: Sequence[Turn]) -> list[Turn]:
        return [t for t in turns if self._counts(t) and t.verified is not None]


class VerifierReward(_OnVerdicts):
    """Pays the speaker what a verifier says of its answer, from 0 to 1.

    Replies that nobody verified are not paid.

    Args:
        roles: whose replies are paid, such as `solver`; all where none is named.
        last_only: whether only the last reply of each seat that would be paid is; it is paid
            after the play, since nobody knows before which one is the last.
        unanswered: what a reply without an answer that can be read earns (`Turn.answer` is
            None), such as -1 as a penalty on the form; None leaves that to the verifier.
            It needs `roles`, since nobody else owes an answer.
    """

    name = "verifier"

    def __init__(
        self, *, roles: Names = "", last_only: bool = False, unanswered: float | None = None
    ) -> None:
        super().__init__(roles)
        if unanswered is not None:
            check_number("unanswered", unanswered)
            if not self.roles:
                raise ConfigError(
                    f"unanswered={unanswered} needs roles=...: name those that owe an answer, "
                    "since replies of others have none either"
                )
        self.last_only = last_only
        self.online = not last_only
        self.unanswered = unanswered
        self.range = (min(0.0, unanswered or 0.0), max(1.0, unanswered or 0.0))

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Pay the speaker; of finished plays only, where `last_only` is set."""
        paid = self._worth(turn)
        if paid is None or (self.last_only and turn is not self._last(episode, turn.agent)):
            return {}
        return {turn.agent: paid}

    def _worth(self, turn: Turn) -> float | None:
        if not self._counts(turn):
            return None
        if turn.answer is None and self.unanswered is not None:
            return self.unanswered
        return turn.verified

    def _last(self, episode: Episode, agent: str) -> Turn:
        own = (t for t in reversed(episode.turns) if t.agent == agent)
        return next(t for t in own if self._worth(t) is not None)


def margin(right: float, before: float) -> float:
    """Compute D = R - Q: by how much a reply is better than the replies before it.

    >>> [margin(r, q) for r, q in ((1, 0), (0, 1), (1, 1), (0, 0))]
    [1, -1, 0, 0]
    """
    return right - before


def quality(right: float, before: float) -> float:
    """Compute D = Q R - (1 - Q)(1 - R): staying right earns, staying wrong costs.

    >>> [quality(r, q) for r, q in ((1, 1), (0, 0), (1, 0), (0, 1))]
    [1, -1, 0, 0]
    """
    return before * right - (1 - before) * (1 - right)


class _Shaped(_OnVerdicts):
    """Pays R + alpha D(R, Q), where Q is the mean verdict on earlier replies."""

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.0,
        history: History = "all",
        roles: Names = "",
    ) -> None:
        super().__init__(roles)
        check_word("history", history, get_args(History))
        self.alpha = check_number("alpha", alpha, 0.0)
        self.beta = check_number("beta", beta, 0.0)
        self.history = history
        self.online = not beta
        self.range = (-alpha, 1.0 + alpha + beta)

    @abstractmethod
    def difference(self, right: float, before: float) -> float:
        """Compute D(R, Q)."""

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Pay the speaker; of finished plays only, where `beta` is not 0."""
        if turn.verified is None or not self._counts(turn):
            return {}
        before = [t.verified for t in self._earlier(episode, turn) if t.verified is not None]
        paid = turn.verified
        if before:
            paid += self.alpha * self.difference(turn.verified, fmean(before))
            paid += self.beta * self._outcome(episode, turn.agent) if self.beta else 0.0
        return {turn.agent: paid}

    def _earlier(self, episode: Episode, turn: Turn) -> list[Turn]:
        """Give what the speaker can have known: its own replies, others' of earlier rounds."""
        at = next(i for i, other in enumerate(episode.turns) if other is turn)
        found = self._verdicts(episode.turns[:at])
        others = self.history == "all"
        return [t for t in found if t.agent == turn.agent or (others and t.round < turn.round)]

    def _outcome(self, episode: Episode, agent: str) -> float:
        return [t.verified or 0.0 for t in self._verdicts(episode.turns) if t.agent == agent][-1]


class MarginReward(_Shaped):
    """Pays the speaker R + alpha (R - Q): being right, and righter than the discussion so far.

    R is the verdict on the reply, 0 to 1, and Q the mean verdict on earlier replies; the first
    reply, which has none before it, earns R. With beta, beta times the verdict on the seat's last
    reply comes on top (not of the first), and everything is paid after the play. Source: the
    reward shaping of MARTI, after MAPoRL; alpha = 0.5 there, beta = 0.5 where it is on.

    Args:
        alpha: weight of the difference.
        beta: weight of the outcome.
        history: whose earlier replies make Q: `all` seats' of earlier rounds and the speaker's
            own (the released code), or the speaker's `own` alone (its documentation).
        roles: whose replies are paid and make Q; all where none is named.
    """

    name = "margin"

    def difference(self, right: float, before: float) -> float:
        """Compute D = R - Q."""
        return margin(right, before)


class QualityReward(_Shaped):
    """Pays the speaker R + alpha (Q R - (1 - Q)(1 - R)): staying right earns, staying wrong costs.

    All else, the arguments included, as in `MarginReward`.
    """

    name = "quality"

    def difference(self, right: float, before: float) -> float:
        """Compute D = Q R - (1 - Q)(1 - R)."""
        return quality(right, before)
