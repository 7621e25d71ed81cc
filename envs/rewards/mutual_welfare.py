"""What two sides get out of an exchange, as one number that neither can raise alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from statistics import fmean
from typing import Literal

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import DataError
from coevo.envs.core.rewards import RewardModule, Table

WELFARE = ("welfare/user", "welfare/model")


@config
class MutualWelfare(RewardModule):
    """Pays the last reply of every seat a mean of what user and model got, by the outcome.

    The geometric mean of (1, .1) is .316 and that of (.5, .5) is .5: the lower side counts more,
    and nothing is worth having if the other side gets nothing. Source: GTAlign, arXiv 2510.08872,
    score = sqrt(user * model), and its ablation with the arithmetic mean. The environment notes
    `welfare/user` and `welfare/model`, at least 0, in its outcome, as `coevo/clarify-v0` does; what
    is missing there counts as 0.
    """

    name: Literal["mutual_welfare"] = "mutual_welfare"
    mean: Literal["geometric", "arithmetic"] = "geometric"
    """How both are joined."""

    @property
    def range(self) -> tuple[float, float]:
        """Unknown: the environment says what welfare is."""
        return (-inf, inf)

    @property
    def per_turn(self) -> bool:
        return False

    def table(self, episodes: Sequence[Episode]) -> Table:
        tables: Table = [[{} for _ in episode.turns] for episode in episodes]
        for episode, table in zip(episodes, tables, strict=True):
            if episode.stop is not StopReason.ERROR:
                last = {turn.agent: k for k, turn in enumerate(episode.turns)}
                for agent, k in last.items():
                    table[k][agent] = self.joined(episode)
        return tables

    def joined(self, episode: Episode) -> float:
        """Return the mean of both; a side without welfare, as after a forfeit, has 0."""
        both = [episode.outcome.get(key, 0.0) for key in WELFARE]
        if min(both) < 0:
            raise DataError(f"{episode.env}: welfare is at least 0, not {min(both)}")
        return fmean(both) if self.mean == "arithmetic" else float(prod(both) ** 0.5)
