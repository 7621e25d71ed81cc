"""What happens when a reply is not a legal move: one policy object decides.

The presets carry the constants of the papers and libraries that use them
(specs/games.md, sections 1.3, 2, 3, 7 and 14).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from coevo.envs.core.errors import ConfigError, unknown

Fallback = Literal["forfeit", "random"]
Offender = float | Literal["worst", "stake"]
Others = float | Literal["mirror"]


@dataclass(frozen=True, kw_only=True)
class IllegalPolicy:
    """Retries first; then the game is forfeited or a random legal move is played."""

    retries: int = 0
    """Free further attempts per turn, each with a correction message in the chat."""
    then: Fallback = "forfeit"
    """After the last attempt: end the game, or play a uniformly random legal move."""
    offender: Offender = "worst"
    """Reward of the offender: a number, `worst` (the game's lowest payoff), or `stake`
    (minus what the offender has at stake, minus `surcharge`)."""
    surcharge: float = 0.0
    """Subtracted on top when `offender` is `stake`."""
    others: Others = 0.0
    """Reward of every other agent, or `mirror`: they share what the offender loses."""
    masked: bool = False
    """Ask samplers to restrict themselves to the legal strings, so that nothing illegal is said."""

    def __post_init__(self) -> None:
        """Reject a combination that cannot be carried out."""
        if self.retries < 0:
            raise ConfigError(f"retries={self.retries} must be 0 or more")
        if self.then == "random" and isinstance(self.offender, str):
            raise ConfigError(
                f"offender={self.offender!r} needs then='forfeit': with then='random' the game "
                "goes on, so give the penalty as a number"
            )

    def payments(
        self, agents: tuple[str, ...], offender: str, *, worst: float, stake: float
    ) -> dict[str, float]:
        """Give every agent's reward for an offence that used up its retries.

        Args:
            agents: all agents of the game.
            offender: who answered illegally.
            worst: the lowest payoff the game can give the offender.
            stake: what the offender has already put in (chips in the pot, points held).
        """
        loss = self._loss(worst, stake)
        rest = [a for a in agents if a != offender]
        share = -loss / max(len(rest), 1) if self.others == "mirror" else float(self.others)
        return {offender: loss} | dict.fromkeys(rest, share)

    def _loss(self, worst: float, stake: float) -> float:
        if self.offender == "worst":
            return float(worst)
        if self.offender == "stake":
            return -float(stake) - self.surcharge
        return float(self.offender)


PRESETS: dict[str, IllegalPolicy] = {
    "forfeit": IllegalPolicy(offender="worst", others=0.0),
    "marshal": IllegalPolicy(offender="stake", surcharge=10.0, others=0.0),
    "spiral": IllegalPolicy(offender=-1.5, others=0.5),
    "textarena": IllegalPolicy(retries=1, offender=-1.0, others=1.0),
    "pettingzoo": IllegalPolicy(offender=-1.0, others=0.0),
    "penalty": IllegalPolicy(then="random", offender=-0.1, others=0.0),
    "random": IllegalPolicy(then="random", offender=0.0, others=0.0),
    "mask": IllegalPolicy(then="random", offender=0.0, others=0.0, masked=True),
}
"""Named policies. `forfeit` is the default: giving up never beats losing the game."""


def illegal_policy(given: str | IllegalPolicy | Mapping[str, Any]) -> IllegalPolicy:
    """Look a policy up by preset name, or build it from its fields.

    >>> illegal_policy("spiral").others
    0.5
    """
    if isinstance(given, IllegalPolicy):
        return given
    if isinstance(given, str):
        if given not in PRESETS:
            raise unknown("illegal-move policy", given, PRESETS)
        return PRESETS[given]
    try:
        return IllegalPolicy(**given)
    except TypeError as error:
        known = ", ".join(asdict(PRESETS["forfeit"]))
        raise ConfigError(f"illegal-move policy {dict(given)!r}: {error}; fields: {known}") from None
