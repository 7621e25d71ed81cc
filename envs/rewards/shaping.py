"""Small rewards for how a reply is written; logged apart from the payoff of the rules.

Both formulas are the shaping terms of MARSHAL's released configuration (arXiv 2510.15414).
Evaluation uses the payoff alone.
"""

from __future__ import annotations

from typing import Literal, get_args

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards.module import Payments, RewardModule

Unit = Literal["tokens", "characters"]


class FormatReward(RewardModule):
    """Pays the speaker for every reply that is a legal move.

    Args:
        legal: reward of a legal reply.
        otherwise: reward of a reply that is illegal or cannot be parsed.
    """

    name = "format"

    def __init__(self, *, legal: float = 0.05, otherwise: float = 0.0) -> None:
        self.legal = legal
        self.otherwise = otherwise
        self.range = (min(legal, otherwise), max(legal, otherwise))

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Give the speaker its reward; nobody else is paid."""
        return {turn.agent: self.legal if turn.status is Status.LEGAL else self.otherwise}


class LengthPenalty(RewardModule):
    """Charges the speaker for what a reply is longer than `free`.

    With n units the reward is 0 for n <= free, else -weight * (min(n, longest) - free) / span.
    Tokens are known only for replies of a policy, and only once the play is recorded: counted in
    tokens, the module is scored after the play, and replies without token ids are not paid.

    Args:
        unit: `tokens`, or `characters`, which needs no policy and is charged during play.
        free: units that cost nothing.
        span: units over `free` that cost `weight`.
        weight: cost of `span` units.
        longest: length from which on the charge no longer grows; MARSHAL forfeits there.
    """

    name = "length"

    def __init__(
        self,
        *,
        unit: Unit = "tokens",
        free: int = 2048,
        span: int = 2037,
        weight: float = 0.5,
        longest: int = 4096,
    ) -> None:
        if unit not in get_args(Unit):
            raise ConfigError(f"unit={unit!r} must be one of {', '.join(get_args(Unit))}")
        if span <= 0 or not 0 <= free <= longest:
            raise ConfigError(
                f"free={free}, longest={longest}, span={span}: 0 <= free <= longest, 0 < span"
            )
        self.unit = unit
        self.free, self.span, self.weight, self.longest = free, span, weight, longest
        self.online = unit == "characters"
        self.range = (min(0.0, self.charge(longest)), max(0.0, self.charge(longest)))

    def charge(self, units: int) -> float:
        """Give the reward of a reply of that many units.

        >>> LengthPenalty().charge(2048), LengthPenalty().charge(2048 + 2037)
        (0.0, -0.5)
        """
        over = max(min(units, self.longest) - self.free, 0)
        return 0.0 - self.weight * over / self.span

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Charge the speaker; a reply of unknown length is not paid."""
        if self.unit == "characters":
            return {turn.agent: self.charge(len(turn.text))}
        if turn.token_ids is None:
            return {}
        return {turn.agent: self.charge(len(turn.token_ids))}
