"""The steps that cycles are made of, a file each; `coevo.trainers.cycle` says what a step is."""

from typing import Annotated

from coevo.envs.core.config import choice
from coevo.trainers.cycle import Step
from coevo.trainers.steps.appraise import Appraise
from coevo.trainers.steps.ask import Ask
from coevo.trainers.steps.collect import Collect
from coevo.trainers.steps.conditions import Every, When
from coevo.trainers.steps.credit import Credit
from coevo.trainers.steps.draw import Draw
from coevo.trainers.steps.examine import Cached, Examine, Preferences
from coevo.trainers.steps.fit import Fit
from coevo.trainers.steps.inherit import Inherit
from coevo.trainers.steps.inner import Inner
from coevo.trainers.steps.plain import Plain
from coevo.trainers.steps.recall import Recall
from coevo.trainers.steps.recycle import Best, Pairs, Recycle, Worst
from coevo.trainers.steps.recyclers import Certified, Questions, Verdicts
from coevo.trainers.steps.refresh import Refresh
from coevo.trainers.steps.renew import Renew
from coevo.trainers.steps.revise import Revise
from coevo.trainers.steps.score import Score
from coevo.trainers.steps.sift import Sift
from coevo.trainers.steps.tell import Tell
from coevo.trainers.steps.update import Update

AnyStep = Annotated[Plain | Every | When, choice(Step)]
"""One step of a cycle: a component, its bare name, or a step of one's own as an object."""

POLICY_GRADIENT: tuple[AnyStep, ...] = (Collect(), Score(), Credit(), Update(), Recall(), Fit())
"""The cycle of policy-gradient algorithms."""
GIVERS = {
    "episodes": "collect",
    "batch": "score",
    "advantages": "credit",
    "pairs": "recycle(pairs)",
    "demonstrations": "recycle(best)",
    "failures": "recycle(worst)",
    "texts": "draw",
    "reward_pairs": "recycle(certified)",
    "questions": "recycle(questions)",
    "reward_targets": "recycle(verdicts)",
    "members": "ask",
}
"""What is given -> by which step."""

__all__ = [
    "GIVERS",
    "POLICY_GRADIENT",
    "AnyStep",
    "Appraise",
    "Ask",
    "Best",
    "Cached",
    "Certified",
    "Collect",
    "Credit",
    "Draw",
    "Every",
    "Examine",
    "Fit",
    "Inherit",
    "Inner",
    "Pairs",
    "Preferences",
    "Questions",
    "Recall",
    "Recycle",
    "Refresh",
    "Renew",
    "Revise",
    "Score",
    "Sift",
    "Step",
    "Tell",
    "Update",
    "Verdicts",
    "When",
    "Worst",
]
