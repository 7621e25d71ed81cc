"""Rewards on a verifier's word: being right, and getting better in the course of a discussion.

They read `Turn.verified`, from 0 (wrong) to 1 (right), which environments fill in where answers
can be checked. Many of them only log it: there these modules are what turns it into a reward.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RewardModule, Rewards


@config
class _OnVerdicts(RewardModule):
    """Reads the verdicts on the replies of some roles."""

    roles: tuple[str, ...] = ()
    """Whose replies are rewarded, such as `solver`; all where none is named."""

    def _counts(self, turn: Turn) -> bool:
        return not self.roles or turn.role in self.roles

    def _verdicts(self, turns: Sequence[Turn]) -> list[Turn]:
        return [t for t in turns if self._counts(t) and t.verified is not None]


@config
class Verifier(_OnVerdicts):
    """Gives the speaker what a verifier says of its answer, from 0 to 1.

    Replies that were not verified get no reward.
    """

    name: Literal["verifier"] = "verifier"
    last_only: bool = False
    """Whether only the last reply of each seat that would be rewarded is; that happens after the
    episode, since which one is the last is not known before."""
    unanswered: Annotated[float, real()] | None = None
    """What a reply without an answer that can be read earns (`Turn.answer` is None), such as -1
    as a penalty on the form; None leaves that to the verifier. It needs `roles`, since nobody
    else owes an answer."""

    def __post_init__(self) -> None:
        if self.unanswered is not None and not self.roles:
            raise ConfigError(
                f"unanswered={self.unanswered} needs roles=...: name those that owe an answer, "
                "since replies of others have none either"
            )

    @property
    def per_turn(self) -> bool:
        return not self.last_only

    @property
    def range(self) -> tuple[float, float]:
        return min(0.0, self.unanswered or 0.0), max(1.0, self.unanswered or 0.0)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        worth = self._worth(turn)
        if worth is None or (self.last_only and turn is not self._last(episode, turn.agent)):
            return {}
        return {turn.agent: worth}

    def _worth(self, turn: Turn) -> float | None:
        if not self._counts(turn):
            return None
        if turn.answer is None and self.unanswered is not None:
            return self.unanswered
        return turn.verified

    def _last(self, episode: Episode, agent: str) -> Turn:
        own = (t for t in reversed(episode.turns) if t.agent == agent)
        return next(t for t in own if self._worth(t) is not None)


@config
class _Shaped(_OnVerdicts):
    """Gives R + alpha D(R, Q), where Q is the mean verdict on earlier replies."""

    alpha: Annotated[float, real(0)] = 0.5
    """Weight of the difference D."""
    beta: Annotated[float, real(0)] = 0.0
    """Weight of the outcome."""
    history: Literal["all", "own"] = "all"
    """Whose earlier replies make Q: `all` seats' of earlier rounds and the speaker's own (the
    released code), or the speaker's `own` alone (its documentation)."""

    @property
    def per_turn(self) -> bool:
        return not self.beta

    @property
    def range(self) -> tuple[float, float]:
        return -self.alpha, 1.0 + self.alpha + self.beta

    @abstractmethod
    def difference(self, right: float, before: float) -> float:
        """Return D(R, Q)."""

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        if turn.verified is None or not self._counts(turn):
            return {}
        before = [t.verified for t in self._earlier(episode, turn) if t.verified is not None]
        reward = turn.verified
        if before:
            reward += self.alpha * self.difference(turn.verified, fmean(before))
            reward += self.beta * self._outcome(episode, turn.agent) if self.beta else 0.0
        return {turn.agent: reward}

    def _earlier(self, episode: Episode, turn: Turn) -> list[Turn]:
        """Return what the speaker can have known: its own replies, others' of earlier rounds."""
        at = next(i for i, other in enumerate(episode.turns) if other is turn)
        found = self._verdicts(episode.turns[:at])
        others = self.history == "all"
        return [t for t in found if t.agent == turn.agent or (others and t.round < turn.round)]

    def _outcome(self, episode: Episode, agent: str) -> float:
        return [t.verified or 0.0 for t in self._verdicts(episode.turns) if t.agent == agent][-1]


@config
class Margin(_Shaped):
    """Gives R + alpha (R - Q): being right, and righter than the discussion so far.

    R is the verdict on the reply, 0 to 1, and Q the mean verdict on earlier replies of `roles`;
    the first reply, which has none before it, earns R. With beta, beta times the verdict on the
    seat's last reply comes on top (not of the first), and everything is given after the episode.
    Source: the reward shaping of MARTI, after MAPoRL; alpha = 0.5 there, beta = 0.5 where it is on.
    """

    name: Literal["margin"] = "margin"

    def difference(self, right: float, before: float) -> float:
        """Return D = R - Q: by how much a reply is better than the replies before it.

        >>> [Margin().difference(r, q) for r, q in ((1, 0), (0, 1), (1, 1), (0, 0))]
        [1, -1, 0, 0]
        """
        return right - before


@config
class Quality(_Shaped):
    """Gives R + alpha (Q R - (1 - Q)(1 - R)): staying right earns, staying wrong costs.

    All else, the arguments included, as in `Margin`.
    """

    name: Literal["quality"] = "quality"

    def difference(self, right: float, before: float) -> float:
        """Return D = Q R - (1 - Q)(1 - R).

        >>> [Quality().difference(r, q) for r, q in ((1, 1), (0, 0), (1, 0), (0, 1))]
        [1, -1, 0, 0]
        """
        return before * right - (1 - before) * (1 - right)
