"""What happens when a reply is not a legal move: one policy object decides.

By default the seat is asked once more, with the reason; then the game ends, and it is paid no more
than the rules could still have paid it in the worst case. What it had earned before stays earned.

The presets carry the constants of the papers and libraries that use them: the released code of
MARS/MARSHAL (arXiv 2510.15414) and of SPIRAL (arXiv 2506.24119), TextArena 0.7.4, PettingZoo 1.27.
Where seats move at once, every seat of the round is judged before a forfeit ends the episode, so
that no seat is spared by the order of the seats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from coevo.envs.core.config import LARGEST, changed, config, read, real, whole
from coevo.envs.core.conventions import Reading
from coevo.envs.core.errors import ConfigError, unknown


@dataclass(frozen=True, slots=True)
class Risk:
    """What a seat may be made to lose for an illegal move."""

    worst: float
    """Brings its total down to the lowest payoff of the game."""
    at_risk: float
    """What it has already put in (chips in the pot, points held)."""
    rest: float
    """The worst that the rest of the game may pay it: see `rest_of`."""


LEAST = 0.1
"""Share of the range of payoffs that giving up costs at least."""


def rest_of(worst_left: float, payoff_range: tuple[float, float]) -> float:
    """Return what a seat is paid that gives up, where what it has earned stays earned.

    Never more than the worst legal play would still bring, and always a loss.

    Args:
        worst_left: from `Task.worst_left`.
        payoff_range: of a whole episode.

    >>> rest_of(-2.0, (-2.0, 2.0)), rest_of(0.0, (0.0, 50.0))
    (-2.0, -5.0)
    """
    low, high = payoff_range
    return min(worst_left, -LEAST * (high - low))


def _number_or(*names: str) -> Callable[[Any], float | str]:
    def check(given: Any) -> float | str:
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not (number and abs(given) <= LARGEST) and given not in names:
            raise ValueError(f"must be {' or '.join(map(repr, names))} or a finite number")
        return given

    return check


@config
class IllegalPolicy:
    """Retries first; then the game is forfeited or a random legal move is played."""

    retries: Annotated[int, whole(0)] = 1
    """Free further attempts per turn, each with a correction message in the chat."""
    then: Literal["forfeit", "random"] = "forfeit"
    """After the last attempt: end the game, or play a uniformly random legal move."""
    penalty: Annotated[float | str, PlainValidator(_number_or("rest", "worst", "at_risk"))] = "rest"
    """Reward of the seat: a number, `rest` (the worst that the rest of the game may pay, at least
    a tenth of the range of payoffs; what was earned before stays), `worst` (its total becomes the
    game's lowest payoff), or `at_risk` (minus what it has put in, minus `surcharge`)."""
    surcharge: Annotated[float, real()] = 0.0
    """Subtracted on top when `penalty` is `at_risk`."""
    others: Annotated[float | str, PlainValidator(_number_or("mirror"))] = 0.0
    """Reward of every other seat, or `mirror`: they share what the seat loses."""
    reading: Reading = "lenient"
    """Which part of a reply counts where moves are listed: see docs/replies.md."""

    def __post_init__(self) -> None:
        if self.then == "random" and isinstance(self.penalty, str):
            raise ConfigError(
                f"penalty={self.penalty!r} needs then='forfeit': with then='random' the game "
                "goes on, so give the penalty as a number"
            )

    def rewards(self, seats: tuple[str, ...], risks: Mapping[str, Risk]) -> dict[str, float]:
        """Return every seat's reward where some seats of a round have used up their retries.

        A seat loses what it would lose alone, and gains nothing by the illegal moves of others.
        Under `mirror` those who moved legally share all losses, so that rewards sum to zero as long
        as there is anybody to share them.

        >>> both = {"a": Risk(-1, 1, -1), "b": Risk(-2, 1, -2)}
        >>> IllegalPolicy(others="mirror").rewards(("a", "b", "c"), both)
        {'a': -1.0, 'b': -2.0, 'c': 3.0}
        """
        lost = {seat: self._loss(risk) for seat, risk in risks.items()}
        rest = [seat for seat in seats if seat not in lost]
        shared = -sum(lost.values()) / max(len(rest), 1)
        share = shared if self.others == "mirror" else float(self.others)
        return lost | dict.fromkeys(rest, share)

    def _loss(self, risk: Risk) -> float:
        if self.penalty == "rest":
            return float(risk.rest)
        if self.penalty == "worst":
            return float(risk.worst)
        if self.penalty == "at_risk":
            return -float(risk.at_risk) - self.surcharge
        return float(self.penalty)


PRESETS: dict[str, IllegalPolicy] = {
    "retry": IllegalPolicy(),
    "forfeit": IllegalPolicy(retries=0, penalty="worst"),
    "strict": IllegalPolicy(retries=0, penalty="worst", reading="strict"),
    "marshal": IllegalPolicy(retries=0, penalty="at_risk", surcharge=10.0, reading="marshal"),
    "spiral": IllegalPolicy(retries=0, penalty=-1.5, others=0.5, reading="spiral"),
    "textarena": IllegalPolicy(penalty=-1.0, others=1.0, reading="textarena"),
    "pettingzoo": IllegalPolicy(retries=0, penalty=-1.0),
    "penalty": IllegalPolicy(retries=0, then="random", penalty=-0.1),
    "random": IllegalPolicy(retries=0, then="random", penalty=0.0),
}
"""Named policies."""

DEFAULT = "retry"
"""The preset that is taken where nothing is said: giving up never beats playing on."""


def illegal_policy(given: str | IllegalPolicy | Mapping[str, Any]) -> IllegalPolicy:
    """Return a policy by preset name, or made from its fields.

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
    return read(IllegalPolicy, dict(given), "illegal")


def spelled(policy: IllegalPolicy) -> str | dict[str, Any]:
    """Return a policy as `illegal_policy` reads it: a preset's name, or the fields that were set.

    A policy of a class of its own has rules that no field holds: it is named, and reading the name
    is an error instead of another policy.

    >>> fields = IllegalPolicy(retries=0, penalty=-1.5, others=0.5)
    >>> spelled(fields), spelled(IllegalPolicy(retries=2))
    ({'retries': 0, 'penalty': -1.5, 'others': 0.5}, {'retries': 2})
    """
    if type(policy) is not IllegalPolicy:
        return f"{type(policy).__module__}:{type(policy).__qualname__}"
    named = next((name for name, preset in PRESETS.items() if preset == policy), None)
    return changed(policy) if named is None else named
