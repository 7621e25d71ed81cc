"""Reward modules that ask: a role that a run binds to a parameter set, of its own or a player's.

Read `question` (what is asked), `roles` (who answers), then `judge` (a language model's word),
`reward_model` (a head on a model), `rubric` (points by a text that an outer loop rewrites),
`tournament` (places among the replies to a task), `latent_preference` (users who disagree),
`policy_discriminator` (who wrote what), `message_labels` (messages of the environment) and `guard`
(verdicts on attacks in free text).
"""

from coevo.envs.core.rewards import REWARDS
from coevo.trainers.judges.guard import Guard
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.latent_preference import LatentPreference
from coevo.trainers.judges.message_labels import MessageLabels
from coevo.trainers.judges.policy_discriminator import PolicyDiscriminator
from coevo.trainers.judges.reward_model import RewardModel
from coevo.trainers.judges.rubric import Rubric
from coevo.trainers.judges.tournament import Tournament

_MODULES = (
    *(Guard, Judge, LatentPreference, MessageLabels, PolicyDiscriminator),
    *(RewardModel, Rubric, Tournament),
)
REWARDS |= {kind.name: kind for kind in _MODULES}
