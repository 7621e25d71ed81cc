"""Reward modules: named, ranged, composable pieces of reward.

A module that needs only the past (`online`) is applied by the environment after every reply. The
others (judges, votes, what counts tokens) are applied to finished episodes: by trainers to a whole
batch at once, by an environment in anybody else's hands to each play when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coevo.envs.core.episode import Episode, Turn

Payments = dict[str, float]
"""Agent -> reward."""


class RewardModule:
    """Base of every reward module; subclasses give `name`, `range` and one of the two scores."""

    name: str = ""
    """Component name in the reward table; unique within one environment."""
    range: tuple[float, float] = (-1.0, 1.0)
    """Lowest and highest reward that one reply can earn from this module."""
    online: bool = True
    """Whether `score_turn` needs only the past; the environment then applies it as it goes."""
    version: int = 0
    """Goes up when a learning module changes; recorded with every score."""
    wants: str = ""
    """What it needs to find in a play to pay anybody, in words. Where whole plays lack it, which
    is how a module that does not fit its environment shows, a warning says so once."""

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Give the rewards that fall due after `turn`, the latest of `episode`."""
        raise NotImplementedError(f"{type(self).__name__} must define one score")  # abstract

    def score_earlier(self, episode: Episode, turn: Turn) -> Mapping[int, Payments]:
        """Give rewards that `turn`, the latest, decides for earlier turns: place -> payments.

        They are credited to the reply that earned them, whoever spoke in between; PettingZoo
        sees them in the step that decides them.
        """
        return {}

    def score(self, episodes: Sequence[Episode]) -> list[list[Payments]]:
        """Give the reward table of finished episodes: [episode][turn] -> agent -> reward."""
        return [self._table(episode) for episode in episodes]

    def _table(self, episode: Episode) -> list[Payments]:
        table = [dict(self.score_turn(episode, turn)) for turn in episode.turns]
        for turn in episode.turns:
            for at, paid in self.score_earlier(episode, turn).items():
                for agent, reward in paid.items():
                    table[at][agent] = table[at].get(agent, 0.0) + reward
        return table

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Learn from episodes; modules that do not learn do nothing and report nothing."""
        return {}

    def state_dict(self) -> dict[str, object]:
        """Give what a checkpoint must keep; JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take back what `state_dict` gave."""
