"""Mechanisms that may be joined to a dilemma among strangers: choice, reputation, punishment.

After Dasgupta and Musolesi (arXiv 2301.08278), whose variants are arguments here: direct punishment
is `by: partner`, third-party punishment `by: bystander`. Their reward-shaped form is `cost: 0,
fine: 3, just: 2, unjust: -10`, which pays for punishing, so that it says little about norms that
are kept at one's own expense; their costly form is `cost: 3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError

Number = Annotated[float, real()]
Amount = Annotated[float, real(0)]


@config
class PartnerChoice:
    """In a drawn order, each player without a partner chooses one of those who are free."""

    name: Literal["partner_choice"] = "partner_choice"


@config
class Reputation:
    """A public score, raised and lowered by what one did."""

    name: Literal["reputation"] = "reputation"
    cooperation: Number = 1.0
    defection: Number = -1.0
    just: Number = 2.0
    """For punishing one who defected in this round."""
    unjust: Number = -3.0
    """For punishing one who did not."""


@config
class Punishment:
    """After the choices, each player may punish one other."""

    name: Literal["punishment"] = "punishment"
    by: Literal["partner", "bystander"] = "bystander"
    """Who judges: the partner, or a player of another pair."""
    cost: Amount = 1.0
    """Points that punishing costs."""
    fine: Amount = 3.0
    """Points that the punished one loses."""
    just: Number = 0.0
    """Points for punishing one who defected."""
    unjust: Number = 0.0
    """Points for punishing one who did not."""

    def pays(self, defected: bool) -> float:
        return (self.just if defected else self.unjust) - self.cost

    def bounds(self) -> tuple[float, float]:
        """Return the least and the most that a seat can get from it in a round."""
        acts = (0.0, self.pays(True), self.pays(False))
        return min(acts) - self.fine, max(acts)


Mechanism = Annotated[PartnerChoice | Punishment | Reputation, choice()]
"""One mechanism in a configuration."""


def check_mechanisms(mechanisms: Sequence[object], players: int) -> None:
    """Raise ConfigError where mechanisms are doubled or lack players."""
    keys = [
        f"{getattr(m, 'name')}{f' by {m.by}' if isinstance(m, Punishment) else ''}"  # noqa: B009
        for m in mechanisms
    ]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"mechanisms: {key} is given {keys.count(key)} times")
    if "punishment by bystander" in keys and players < 4:
        raise ConfigError(f"punishment by a bystander needs four players or more, not {players}")
