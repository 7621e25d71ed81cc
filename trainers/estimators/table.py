"""An advantage on its way through the modifiers, with everything that they may look at."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from coevo.trainers.estimators.baseline import State
from coevo.trainers.estimators.broadcast import expand_turns
from coevo.trainers.estimators.frame import Frame
from coevo.trainers.estimators.rewards import Level, Rewards
from coevo.trainers.estimators.trajectories import Trajectories


@dataclass(frozen=True)
class AdvantageTable:
    """An advantage, the table that it stands in, and what it was made from."""

    a: Tensor
    """Advantage so far: [B], [B, T] or [B, S], as `frame.level` says."""
    frame: Frame
    """Entries, groups and weights of the table."""
    y: Tensor
    """The raw credit, in the level that credit gave it."""
    rewards: Rewards
    """Composed rewards of the turns."""
    state: State
    """What earlier batches left behind, and what this one leaves."""
    first: Frame
    """The frame that the raw credit was normalised in."""

    @property
    def batch(self) -> Trajectories:
        """The trajectories."""
        return self.frame.batch

    @property
    def outcome_B(self) -> Tensor:
        """Sum of the composed rewards of every trajectory, without any KL."""
        return self.rewards.reward_BT.sum(1)

    def shared(self, a_B: Tensor) -> AdvantageTable:
        """Return every entry of a trajectory the same advantage.

        >>> from coevo.trainers.estimators import AdvantageConfig, ToGo, advantage_table, from_lists
        >>> turns = advantage_table(AdvantageConfig(credit=ToGo()), from_lists([[1.0, 0.5]]))
        >>> turns.shared(turns.outcome_B).a.tolist()
        [[1.5, 1.5]]
        """
        return replace(self, a=self.frame.hide(self.aligned("row", a_B)))

    def counted(self, name: str) -> tuple[AdvantageTable, int]:
        """Count the batches that a modifier has seen, in the state: a seed that moves on.

        >>> from coevo.trainers.estimators import AdvantageConfig, advantage_table, from_lists
        >>> made = advantage_table(AdvantageConfig(), from_lists([[1.0]]))
        >>> once, seed = made.counted("share_set")
        >>> seed, once.state
        (0, {'share_set/batches': 1})
        """
        key = f"{name}/batches"
        seen = int(self.state.get(key, 0))
        return replace(self, state={**self.state, key: seen + 1}), seen

    def at(self, level: Level) -> AdvantageTable:
        """Spread the advantage to a finer level: row to turn or token, turn to token.

        >>> from coevo.trainers.estimators import AdvantageConfig, NoBaseline, NoNormalisation
        >>> from coevo.trainers.estimators import advantage_table, from_lists
        >>> spec = AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation())
        >>> row = advantage_table(spec, from_lists([[1.0, 0.5]], tokens=[[2, 1]]))
        >>> row.a.tolist(), row.at("turn").a.tolist(), row.at("token").a.tolist()
        ([1.5], [[1.5, 1.5]], [[1.5, 1.5, 1.5]])
        """
        order = ("row", "turn", "token")
        if order.index(level) <= order.index(self.frame.level):
            return self
        fine = replace(self.frame, level=level)
        if level == "turn":
            return replace(self, a=fine.hide(self.a.unsqueeze(1).expand_as(fine.mask)), frame=fine)
        return replace(self, a=self.frame.to_tokens(self.a), frame=fine)

    def aligned(self, level: Level, y: Tensor) -> Tensor:
        """Spread another table of a level over the entries of this one's finer level."""
        if level == self.frame.level:
            return y
        if level == "row":
            return self.frame.hide(y.unsqueeze(1).expand_as(self.frame.mask))
        return expand_turns(y, self.batch.turn_of_BS)
