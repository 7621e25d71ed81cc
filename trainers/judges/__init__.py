"""Reward modules that ask: a role that a run binds to a parameter set, of its own or a player's.

Read `question` (what is asked), `roles` (who answers), then `judge` (a language model's word),
`reward_model` (a head on a model), `rubric` (points by a text that an outer loop rewrites) and
`guard` (verdicts on attacks in free text).
"""

from coevo.envs.core.rewards import REWARDS
from coevo.trainers.judges.guard import Guard
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.reward_model import RewardModel
from coevo.trainers.judges.rubric import Rubric

REWARDS |= {"guard": Guard, "judge": Judge, "reward_model": RewardModel, "rubric": Rubric}
