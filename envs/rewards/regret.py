"""Regret: a designer is paid by how much better one team does in its level than another."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import fmean
from typing import Literal

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RewardModule, Rewards, Table
from coevo.envs.core.task import role_of


@config
class Regret(RewardModule):
    """Pays the designer max(best antagonist - mean protagonist, 0), or what `of` says.

    Regret is estimated by the seats of one episode, who all play the designer's level: the
    antagonist stands for what could be reached (Dennis et al. 2020, PAIRED, arXiv 2012.02096).
    `minimax` pays minus the best protagonist, and `mean` the regret against the mean antagonist.
    """

    name: Literal["regret"] = "regret"
    of: Literal["regret", "minimax", "mean"] = "regret"
    designer: str = "designer"
    """Role that is paid."""
    antagonist: str = "antagonist"
    """Role that shows what can be reached."""
    protagonist: str = "protagonist"
    """Role whose regret it is."""
    component_of: str = "payoff"
    """Component in which the two are compared."""

    @property
    def per_turn(self) -> bool:
        return False

    @property
    def range(self) -> tuple[float, float]:
        return (-inf if self.of == "minimax" else 0.0, inf)

    def table(self, episodes: Sequence[Episode]) -> Table:
        return [self._paid(episode) for episode in episodes]

    def _paid(self, episode: Episode) -> list[Rewards]:
        table: list[Rewards] = [{} for _ in episode.turns]
        designed = any(role_of(seat) == self.designer for seat in episode.agents)
        if episode.stop is StopReason.ERROR or not designed:
            return table
        best, ours = (self._scores(episode, r) for r in (self.antagonist, self.protagonist))
        last = {
            t.agent: k for k, t in enumerate(episode.turns) if role_of(t.agent) == self.designer
        }
        for seat, k in last.items():
            table[k][seat] = {
                "regret": max(max(best) - fmean(ours), 0.0),
                "mean": max(fmean(best) - fmean(ours), 0.0),
                "minimax": -max(ours),
            }[self.of]
        return table

    def _scores(self, episode: Episode, role: str) -> list[float]:
        """Return what the seats of a role earned."""
        found = [episode.total(s, self.component_of) for s in episode.agents if role_of(s) == role]
        if not found:
            raise ConfigError(
                f"the reward regret needs seats of the role {role!r}; {episode.env} has "
                f"{', '.join(episode.agents)}"
            )
        return found
