"""Small rewards for how a reply is written; logged apart from the payoff of the rules.

`format` and `length` are the shaping terms of MARSHAL's released configuration (arXiv
2510.15414), `overlong` is DAPO's. Evaluation uses the payoff alone.
"""

from __future__ import annotations

import sys
from math import inf
from typing import Literal, get_args

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards.arguments import check_number, check_whole, check_word
from coevo.envs.rewards.module import Payments, RewardModule

TOKENS = "token ids (Turn.token_ids), which replies of a language model have in a trainer"
"""What modules want that count tokens."""
Unit = Literal["tokens", "characters"]


class FormatReward(RewardModule):
    """Pays the speaker for every reply that is a legal move.

    Args:
        legal: reward of a legal reply.
        otherwise: reward of a reply that is illegal or cannot be parsed.
    """

    name = "format"

    def __init__(self, *, legal: float = 0.05, otherwise: float = 0.0) -> None:
        self.legal = check_number("legal", legal)
        self.otherwise = check_number("otherwise", otherwise)
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
        check_word("unit", unit, get_args(Unit))
        for name, value in (("free", free), ("span", span), ("longest", longest)):
            check_whole(name, value, 0)
        check_number("weight", weight)
        if span <= 0 or not 0 <= free <= longest:
            raise ConfigError(
                f"free={free}, longest={longest}, span={span}: 0 <= free <= longest, 0 < span"
            )
        self.unit = unit
        self.free, self.span, self.weight, self.longest = free, span, weight, longest
        self.online = unit == "characters"
        self.wants = "" if self.online else TOKENS
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


class OverlongPenalty(LengthPenalty):
    """Charges the speaker for the tokens of a reply that reach into the buffer before the limit.

    DAPO's soft punishment: min(-(n - (longest - buffer)) / buffer * factor, 0) for n tokens, so 0
    up to longest - buffer and -factor at `longest`. Replies without token ids are not paid.
    Where plays are selected by their reward (dynamic sampling), select on the payoff: with this
    charge in it hardly two rewards are equal.

    Args:
        longest: most tokens of a reply; DAPO trains with 20480.
        buffer: tokens before that limit in which the charge grows.
        factor: charge at the limit.
        cap: whether the charge stops growing at the limit, as in OpenRLHF; otherwise it does not.
    """

    name = "overlong"

    def __init__(
        self, *, longest: int = 20480, buffer: int = 4096, factor: float = 1.0, cap: bool = False
    ) -> None:
        if not 0 < buffer <= longest or not 0.0 <= factor < inf:
            raise ConfigError(
                f"buffer={buffer}, longest={longest}, factor={factor}: "
                "0 < buffer <= longest, factor finite and not negative"
            )
        super().__init__(
            free=longest - buffer,
            span=buffer,
            weight=factor,
            longest=longest if cap else sys.maxsize,
        )
        if not cap and factor:
            self.range = (-inf, 0.0)
