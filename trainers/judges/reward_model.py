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


class AskingModule(RewardModule):
    """Base of modules that look at the last turn of every seat, and ask a role about it."""

    role: str
    per_turn = False

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,)

    def judges(self, context: ScoreContext) -> Judges:
        """Return the judges; ConfigError outside of training, where there are none."""
        if context.judges is None:
            raise ConfigError(
                f"reward {self.component!r} asks the role {self.role!r}, which only a training run "
                "has; leave the module out of the environment and give it to the algorithm"
            )
        return context.judges


@config
class RewardModel(AskingModule):
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

    @property
    def range(self) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.read == "logit" else (0.0, 1.0)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return (self.role,)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        judges = self.judges(context)
        at = last_turns(episodes)
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


def last_turns(episodes: Sequence[Episode]) -> list[tuple[int, int]]:
    """Return episode and place of the last turn of every seat, of episodes that came to an end."""
    found = []
    for i, episode in enumerate(episodes):
        if episode.stop is not StopReason.ERROR:
            last = {turn.agent: k for k, turn in enumerate(episode.turns)}
            found += [(i, last[seat]) for seat in episode.agents if seat in last]
    return found
