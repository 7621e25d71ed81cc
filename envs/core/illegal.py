"""What happens when a reply is not a legal move: one policy object decides.

The presets carry the constants of the papers and libraries that use them: the released code of
MARS/MARSHAL (arXiv 2510.15414) and of SPIRAL (arXiv 2506.24119), TextArena 0.7.4, PettingZoo 1.27.
They know one offender. Where seats move at once, every seat of the round is judged before a forfeit
ends the play, so that no seat is spared by the order of the seats; see `joint_payments`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from coevo.envs.core.errors import ConfigError, check_arguments, unknown

Fallback = Literal["forfeit", "random"]
Offender = float | Literal["worst", "stake"]
Others = float | Literal["mirror"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an offender can be charged."""

    worst: float
    """Brings its total down to the lowest payoff of the game."""
    stake: float
    """What it has already put in (chips in the pot, points held)."""


@dataclass(frozen=True, kw_only=True)
class IllegalPolicy:
    """Retries first; then the game is forfeited or a random legal move is played."""

    retries: int = 0
    """Free further attempts per turn, each with a correction message in the chat."""
    then: Fallback = "forfeit"
    """After the last attempt: end the game, or play a uniformly random legal move."""
    offender: Offender = "worst"
    """Reward of the offender: a number, `worst` (its total becomes the game's lowest payoff),
    or `stake` (minus what the offender has at stake, minus `surcharge`)."""
    surcharge: float = 0.0
    """Subtracted on top when `offender` is `stake`."""
    others: Others = 0.0
    """Reward of every other agent, or `mirror`: they share what the offender loses."""
    masked: bool = False
    """Ask samplers to restrict themselves to the legal strings, so that nothing illegal is said."""

    def __post_init__(self) -> None:
        """Reject a value or a combination that cannot be carried out."""
        if not isinstance(self.retries, int) or self.retries < 0:
            raise ConfigError(f"retries={self.retries!r} must be a whole number, 0 or more")
        self._check("then", self.then, get_args(Fallback), number=False)
        self._check("offender", self.offender, ("worst", "stake"))
        self._check("others", self.others, ("mirror",))
        self._check("surcharge", self.surcharge, ())
        if self.then == "random" and isinstance(self.offender, str):
            raise ConfigError(
                f"offender={self.offender!r} needs then='forfeit': with then='random' the game "
                "goes on, so give the penalty as a number"
            )

    def _check(self, field: str, given: object, words: Sequence[str], number: bool = True) -> None:
        if number and isinstance(given, int | float) and math.isfinite(given):
            return
        if given not in words:
            choices = [repr(w) for w in words] + ["a finite number"] * number
            raise ConfigError(f"{field}={given!r} must be {' or '.join(choices)}")

    def payments(
        self, agents: tuple[str, ...], offender: str, *, worst: float, stake: float
    ) -> dict[str, float]:
        """Give every agent's reward for an offence that used up its retries.

        Args:
            agents: all agents of the game.
            offender: who answered illegally.
            worst: what brings the offender down to the lowest total payoff of the game.
            stake: what the offender has already put in (chips in the pot, points held).
        """
        loss = self._loss(worst, stake)
        rest = [a for a in agents if a != offender]
        share = -loss / max(len(rest), 1) if self.others == "mirror" else float(self.others)
        return {offender: loss} | dict.fromkeys(rest, share)

    def joint_payments(
        self, agents: tuple[str, ...], costs: Mapping[str, Cost]
    ) -> dict[str, float]:
        """Give every agent's reward where some seats of one round have used up their retries.

        An offender loses what it would lose alone, and gains nothing by the others' offences: two
        offenders end alike, under `worst` both at the lowest payoff. Who did not offend is paid
        once: the mean over the offences or, under `mirror`, their sum, which keeps the payments
        zero-sum as long as anybody is left to be paid. Where everybody offended nobody is, and
        the payments sum to less than zero.

        Args:
            agents: all agents of the game.
            costs: offender -> what it can be charged; one or more.

        >>> alike = IllegalPolicy().joint_payments(("a", "b"), {"a": Cost(-1, 1), "b": Cost(-2, 1)})
        >>> alike
        {'a': -1.0, 'b': -2.0}
        """
        tables = {}
        for offender, cost in costs.items():
            table = tuple(a for a in agents if a == offender or a not in costs)
            tables[offender] = self.payments(table, offender, worst=cost.worst, stake=cost.stake)
        share = 1.0 if self.others == "mirror" else 1 / len(tables)
        rest = (a for a in agents if a not in costs)
        losses = {offender: paid[offender] for offender, paid in tables.items()}
        return losses | {a: share * sum(paid[a] for paid in tables.values()) for a in rest}

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
"""Named policies."""

DEFAULT = "forfeit"
"""The preset that is taken where nothing is said: giving up never beats losing the game."""


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
    if not isinstance(given, Mapping):
        names = ", ".join(PRESETS)
        raise ConfigError(f"illegal={given!r} must be a preset ({names}), a policy or its fields")
    check_arguments("an illegal-move policy", given, asdict(PRESETS[DEFAULT]))
    return IllegalPolicy(**given)


def spelled(policy: IllegalPolicy) -> str | dict[str, Any]:
    """Spell a policy as `illegal_policy` reads it: a preset's name, or the fields that were set.

    A policy of a class of its own has rules that no field holds: it is named, and reading the name
    is an error instead of another policy.

    >>> spelled(IllegalPolicy(offender=-1.5, others=0.5)), spelled(IllegalPolicy(retries=2))
    ('spiral', {'retries': 2})
    """
    if type(policy) is not IllegalPolicy:
        return f"{type(policy).__module__}:{type(policy).__qualname__}"
    named = [name for name, preset in PRESETS.items() if preset == policy]
    if named:
        return named[0]
    usual = asdict(IllegalPolicy())
    return {k: v for k, v in asdict(policy).items() if v != usual[k]}
