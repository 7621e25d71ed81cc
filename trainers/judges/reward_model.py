"""A reward head on a model: a number for a task and a reply, fitted while the policy learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.core.rewards import Judges, RewardModule, Rewards, ScoreContext, Scores
from coevo.trainers.judges.question import Question, asked_of, reading


@config
class RewardModel(RewardModule):
    """Pays every seat, at its last turn, what the reward head of a role gives its reply.

    The head is shown the task, the right answer where the environment noted it (`reference` among
    the notes of a turn), and the reply. Comparisons leave a constant open, so that the scale moves:
    rank within a group is what it tells. Source: Cooper, arXiv 2508.05613.
    """

    name: Literal["reward_model"] = "reward_model"
    role: str = "judge"
    """Name of the role whose reward head is trained."""
    read: Literal["sigmoid", "above_half", "logit"] = "sigmoid"
    """The reward: sigmoid(f), 1 where that is above 1/2, or f itself."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.read == "logit" else (0.0, 1.0)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return (self.role,)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        """Return the rewards, with the version of the parameter set that gave them."""
        judges = asked(self.component, self.role, context)
        at = [x for i, e in enumerate(episodes) for x in last_turns(i, e)]
        turns = [episodes[i].turns[k] for i, k in at]
        worth = judges.worth(self.role, [shown(turn) for turn in turns])
        table: list[list[Rewards]] = [[{} for _ in e.turns] for e in episodes]
        invalid = {}
        for (i, k), turn, value in zip(at, turns, worth, strict=True):
            if math.isfinite(value):
                table[i][k][turn.agent] = self._paid(value)
            else:
                invalid[i, k, turn.agent] = "the reward head gives no number"
        return Scores(table, judges.version(self.role), invalid)

    def _paid(self, logit: float) -> float:
        if self.read == "logit":
            return logit
        # Large logits overflow exp; tanh does not.
        odds = 0.5 * (1.0 + math.tanh(logit / 2))
        return odds if self.read == "sigmoid" else float(odds > 0.5)


def shown(turn: Turn) -> Question:
    """Return a turn as a reward head sees it."""
    listed = turn.legal is not None and turn.move is not None
    reply = answer(turn.move) if listed and turn.move is not None else turn.text
    answers = turn.legal or () if listed else ()
    return reading(asked_of(turn), str(turn.notes.get("reference", "")), reply, answers)


def last_turns(index: int, episode: Episode) -> list[tuple[int, int]]:
    """Return the place of the last turn of every seat of an episode that came to an end."""
    if episode.stop is StopReason.ERROR:
        return []
    last = {turn.agent: k for k, turn in enumerate(episode.turns)}
    return [(index, last[seat]) for seat in episode.agents if seat in last]


def asked(component: str, role: str, context: ScoreContext) -> Judges:
    """Return the judges.

    Raises:
        ConfigError: there are none, outside of training.
    """
    if context.judges is None:
        raise ConfigError(
            f"reward {component!r} asks the role {role!r}, which only a training run has; leave "
            "the module out of the environment and give it to the algorithm"
        )
    return context.judges
