"""Small rewards for how a reply is written; logged apart from the payoff of the rules.

`format` and `length_penalty` are the shaping terms of MARSHAL's released configuration (arXiv
2510.15414), `overlong_penalty` is DAPO's. Evaluation uses the payoff alone.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from math import inf
from typing import Annotated, Literal

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import RewardModule, Rewards


@config
class Format(RewardModule):
    """Rewards the speaker for every reply that is a legal move."""

    name: Literal["format"] = "format"
    legal: Annotated[float, real()] = 0.05
    otherwise: Annotated[float, real()] = 0.0
    """Reward of a reply that is illegal or cannot be parsed."""

    @property
    def range(self) -> tuple[float, float]:
        return min(self.legal, self.otherwise), max(self.legal, self.otherwise)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        return {turn.agent: self.legal if turn.status is Status.LEGAL else self.otherwise}


class _Lengthy(RewardModule):
    """Charges the speaker for the tokens of a reply; a reply of unknown length costs nothing.

    Tokens are known only for replies of a policy, and only once the episode is recorded.
    """

    @abstractmethod
    def charge(self, units: int) -> float:
        """Return the reward of a reply of that many units."""

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        return {} if turn.token_ids is None else {turn.agent: self.charge(len(turn.token_ids))}


@config
class LengthPenalty(_Lengthy):
    """Charges the speaker for what a reply is longer than `free`.

    With n units the reward is 0 for n <= free, else -weight * (min(n, longest) - free) / span.
    Counted in tokens, the module is scored after the episode, and replies without token ids get
    no reward; counted in characters, it needs no policy and is applied during the episode.
    """

    name: Literal["length_penalty"] = "length_penalty"
    unit: Literal["tokens", "characters"] = "tokens"
    free: Annotated[int, whole(0)] = 2048
    """Units that cost nothing."""
    span: Annotated[int, whole(1)] = 2037
    """Units over `free` that cost `weight`."""
    weight: Annotated[float, real()] = 0.5
    longest: Annotated[int, whole(0)] = 4096
    """Length from which on the charge no longer grows; MARSHAL forfeits there."""

    def __post_init__(self) -> None:
        if self.free > self.longest:
            raise ConfigError(f"free={self.free} must be at most longest={self.longest}")

    @property
    def per_turn(self) -> bool:
        return self.unit == "characters"

    @property
    def range(self) -> tuple[float, float]:
        most = self.charge(self.longest)
        return min(0.0, most), max(0.0, most)

    def charge(self, units: int) -> float:
        """Return the reward of a reply of that many units.

        >>> LengthPenalty().charge(2048), LengthPenalty().charge(2048 + 2037)
        (0.0, -0.5)
        """
        return 0.0 - self.weight * max(min(units, self.longest) - self.free, 0) / self.span

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        if self.unit == "characters":
            return {turn.agent: self.charge(len(turn.text))}
        return super().score_turn(episode, turn)


@config
class OverlongPenalty(_Lengthy):
    """Charges the speaker for the tokens of a reply that reach into the buffer before the limit.

    DAPO's soft punishment: min(-(n - (longest - buffer)) / buffer * factor, 0) for n tokens, so 0
    up to longest - buffer and -factor at `longest`. Where episodes are selected by their reward
    (dynamic sampling), select on the payoff: with this charge in it hardly two rewards are equal.
    """

    name: Literal["overlong_penalty"] = "overlong_penalty"
    longest: Annotated[int, whole(1)] = 20480
    """Most tokens of a reply; DAPO trains with 20480."""
    buffer: Annotated[int, whole(1)] = 4096
    """Tokens before that limit in which the charge grows."""
    factor: Annotated[float, real(0)] = 1.0
    """Charge at the limit."""
    cap: bool = False
    """Whether the charge stops growing at the limit, as in OpenRLHF; otherwise it does not."""
    per_turn = False

    def __post_init__(self) -> None:
        if self.buffer > self.longest:
            raise ConfigError(f"buffer={self.buffer} must be at most longest={self.longest}")

    @property
    def range(self) -> tuple[float, float]:
        return (-inf if self.factor and not self.cap else 0.0 - self.factor, 0.0)

    def charge(self, units: int) -> float:
        counted = min(units, self.longest if self.cap else sys.maxsize)
        return 0.0 - self.factor * max(counted - (self.longest - self.buffer), 0) / self.buffer
